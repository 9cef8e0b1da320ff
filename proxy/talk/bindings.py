"""What names stand for while a conversation is played, and how far generations and epochs are from recorded ones.

A group that was in generation 57 when its recording began starts with 1 when it is played. The first answer that tells
a generation, or a member's epoch, says how far apart the two are; so does a producer's first epoch.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from uuid import uuid4

from kohort.control.request_facts import GENERATION_FIELDS
from kohort.proxy.talk.id_names import NAMED, PRODUCER, replaced
from kohort.proxy.talk.talk_values import Value

OF_PRODUCER: Final = "producer_epoch"

_SOME_PRODUCER: Final = 1 << 40
"""An id that no broker has given yet."""


class Whose(NamedTuple):
    """Whom numbers in some fields belong to."""

    group: str = ""
    producer: str = ""
    """Its name."""

    def within(self, values: dict[str, Value]) -> Whose:
        """For fields that may name another group, or producer."""
        producer = values.get("producer_id")
        return Whose(str(values.get("group_id", self.group)), producer if isinstance(producer, str) else self.producer)


NOBODY: Final = Whose()


def made_up(kind: str) -> Value:
    """An id of this kind that stands for nothing."""
    return _SOME_PRODUCER if kind == PRODUCER else str(uuid4())


class Bindings:
    """Names and what they stand for. A copy can be tried out."""

    def __init__(self, beneath: Bindings | None = None) -> None:
        self._beneath = beneath
        self._values: dict[str, Value] = {}
        self._names: dict[Value, str] = {}
        self._apart: dict[tuple[str, str], int] = {}

    def trial(self) -> Bindings:
        """Another one, with what is known here. What it learns is its own until it is taken."""
        return Bindings(self)

    def take(self, trial: Bindings) -> None:
        """Knows what has been learnt in a trial."""
        self._values |= trial._values
        self._names |= trial._names
        self._apart |= trial._apart

    def bind(self, name: str, value: Value) -> None:
        """From now on a name stands for this."""
        self._values[name] = value
        self._names[value] = name

    def value_of(self, name: str) -> Value:
        """What a name stands for; None: nothing yet."""
        found = self._values.get(name)
        return self._beneath.value_of(name) if found is None and self._beneath is not None else found

    def name_of(self, value: Value) -> str | None:
        """The name of an id; None: it has none."""
        found = self._names.get(value)
        return self._beneath.name_of(value) if found is None and self._beneath is not None else found

    def named(self, values: Value) -> Value:
        """An answer with names in place of ids that have one."""
        return replaced(values, lambda kind, value: self.name_of(value) or value)

    def apart(self, key: tuple[str, str]) -> int | None:
        """How far heard numbers are from recorded ones; None: none has been heard."""
        found = self._apart.get(key)
        return self._beneath.apart(key) if found is None and self._beneath is not None else found

    def move(self, key: tuple[str, str], by: int) -> None:
        """From now on numbers are so much further away."""
        self._apart[key] = (self.apart(key) or 0) + by

    # Requests

    def filled(self, values: Value, whose: Whose = NOBODY) -> Value:
        """The values of a request with ids, and numbers as they are here. A name that is new stands for a new id."""
        if isinstance(values, list):
            return [self.filled(each, whose) for each in values]
        if not isinstance(values, dict):
            return values
        whose = whose.within(values)
        return {field: self._filled(field, value, whose) for field, value in values.items()}

    def _filled(self, field: str, value: Value, whose: Whose) -> Value:
        if field in NAMED and isinstance(value, str) and value.startswith("$"):
            if self.value_of(value) is None:
                self.bind(value, made_up(NAMED[field]))
            return self.value_of(value)
        if (key := numbered(field, value, whose)) is not None:
            return value + (self.apart(key) or 0)
        return self.filled(value, whose)

    # Answers

    def is_same_id(self, expected: Value, heard: Value) -> bool:
        """Whether an id is the one that a name stands for. A new name stands for it from now on."""
        if not isinstance(expected, str) or not expected.startswith("$"):
            return bool(expected == heard)
        if self.value_of(expected) is None and self.name_of(heard) is None and heard is not None:
            self.bind(expected, heard)
        return bool(self.value_of(expected) == heard)

    def is_same_number(self, key: tuple[str, str], expected: int, heard: int) -> bool:
        """Whether a generation or an epoch is as far from the recorded one as the first one was."""
        apart = self.apart(key)
        if apart is None:
            self._apart[key] = heard - expected
            return True
        return expected + apart == heard


def numbered(field: str, value: Any, whose: Whose) -> tuple[str, str] | None:
    """Which numbers a field's belongs to; None: it is no generation or epoch, or one that says something else."""
    if type(value) is not int:
        return None
    if field in GENERATION_FIELDS:
        return ("group", whose.group) if value > 0 else None
    return ("producer", whose.producer) if field == OF_PRODUCER and value >= 0 else None
