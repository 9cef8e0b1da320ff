"""Values of names during a replay, and the distance of generations and epochs from the recorded ones.

A group in generation 57 at the start of the recording begins with 1 in the replay. The first response with a
generation, or a member's epoch, determines the distance; so does a producer's first epoch.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from uuid import uuid4

from kohort.control.request_facts import GENERATION_FIELDS
from kohort.proxy.talk.answer_comparing import Expectations
from kohort.proxy.talk.id_names import NAMED, PRODUCER, replaced
from kohort.proxy.talk.talk_values import Value, show

OF_PRODUCER: Final = "producer_epoch"

_SOME_PRODUCER: Final = 1 << 40  # an id that no broker assigns


class Owner(NamedTuple):
    """Group and producer that the numbers in some fields belong to."""

    group: str = ""
    producer: str = ""  # its name

    def within(self, values: dict[str, Value]) -> Owner:
        """Return the owner for fields that may name another group or producer."""
        producer = values.get("producer_id")
        return Owner(str(values.get("group_id", self.group)), producer if isinstance(producer, str) else self.producer)


NO_OWNER: Final = Owner()


def made_up(kind: str) -> Value:
    """Return an id of this kind that nothing has."""
    return _SOME_PRODUCER if kind == PRODUCER else str(uuid4())


class Bindings:
    """Names and their values, which can be copied for a trial."""

    def __init__(self, beneath: Bindings | None = None) -> None:
        self._beneath = beneath
        self._values: dict[str, Value] = {}
        self._names: dict[Value, str] = {}
        self._apart: dict[tuple[str, str], int] = {}

    def trial(self) -> Bindings:
        """Return a copy whose additions do not affect this one before `take`."""
        return Bindings(self)

    def take(self, trial: Bindings) -> None:
        """Take over the additions of a trial."""
        self._values |= trial._values
        self._names |= trial._names
        self._apart |= trial._apart

    def bind(self, name: str, value: Value) -> None:
        self._values[name] = value
        self._names[value] = name

    def value_of(self, name: str) -> Value:
        """Return the value of a name, or None."""
        value = self._values.get(name)
        return self._beneath.value_of(name) if value is None and self._beneath is not None else value

    def name_of(self, value: Value) -> str | None:
        """Return the name of an id, or None."""
        name = self._names.get(value)
        return self._beneath.name_of(value) if name is None and self._beneath is not None else name

    def named(self, values: Value) -> Value:
        """Return a response with names in place of known ids."""
        return replaced(values, lambda kind, value: self.name_of(value) or value)

    def apart(self, key: tuple[str, str]) -> int | None:
        """Return the distance of received numbers from recorded ones, or None if no number has been received."""
        distance = self._apart.get(key)
        return self._beneath.apart(key) if distance is None and self._beneath is not None else distance

    def move(self, key: tuple[str, str], by: int) -> None:
        """Add to the distance."""
        self._apart[key] = (self.apart(key) or 0) + by

    # Requests

    def filled(self, values: Value, owner: Owner = NO_OWNER) -> Value:
        """Return the values of a request with ids for names and adjusted numbers. A new name gets a new id."""
        if isinstance(values, list):
            return [self.filled(item, owner) for item in values]
        if not isinstance(values, dict):
            return values
        owner = owner.within(values)
        return {field: self._filled(field, value, owner) for field, value in values.items()}

    def _filled(self, field: str, value: Value, owner: Owner) -> Value:
        if field in NAMED and isinstance(value, str) and value.startswith("$"):
            if self.value_of(value) is None:
                self.bind(value, made_up(NAMED[field]))
            return self.value_of(value)
        if (key := numbered(field, value, owner)) is not None:
            return value + (self.apart(key) or 0)
        return self.filled(value, owner)

    # Answers

    def is_same_id(self, expected: Value, received: Value) -> bool:
        """Return whether an id is the value of a name; a new name gets the id as its value."""
        if not isinstance(expected, str) or not expected.startswith("$"):
            return bool(expected == received)
        if self.value_of(expected) is None and self.name_of(received) is None and received is not None:
            self.bind(expected, received)
        return bool(self.value_of(expected) == received)

    def is_same_number(self, key: tuple[str, str], expected: int, received: int) -> bool:
        """Return whether a generation or an epoch has the same distance from the recorded one as the first one."""
        apart = self.apart(key)
        if apart is None:
            self._apart[key] = received - expected
            return True
        return expected + apart == received

    def learn(self, expected: Value, received: Value, owner: Owner) -> None:
        """Bind the ids of a response that differs elsewhere, because later requests contain them."""
        if isinstance(expected, dict) and isinstance(received, dict):
            owner = owner.within(expected)
            for field, value in expected.items():
                key = numbered(field, value, owner)
                if field in NAMED:
                    self.is_same_id(value, received.get(field))
                elif key and numbered(field, received.get(field), owner):
                    self.is_same_number(key, value, received[field])
                else:
                    self.learn(value, received.get(field), owner)


class RecordedExpectations(Expectations):
    """A recorded response: ids have names, and generations and epochs the distance of their owner."""

    def __init__(self, bindings: Bindings, owner: Owner) -> None:
        self._bindings = bindings
        self._owner = owner

    def trial(self) -> RecordedExpectations:
        return RecordedExpectations(self._bindings.trial(), self._owner)

    def take(self, trial: RecordedExpectations) -> None:
        self._bindings.take(trial._bindings)

    def within(self, expected: dict[str, Value]) -> RecordedExpectations:
        return RecordedExpectations(self._bindings, self._owner.within(expected))

    def is_same(self, field: str, expected: Value, received: Value) -> bool:
        if field in NAMED:
            return self._bindings.is_same_id(expected, received)
        key = numbered(field, expected, self._owner)
        if key is not None and numbered(field, received, self._owner) is not None:
            return self._bindings.is_same_number(key, expected, received)
        return type(expected) is type(received) and bool(expected == received)

    def is_unspecific(self, expected: Value) -> bool:
        return isinstance(expected, str) and expected.startswith("$") and self._bindings.value_of(expected) is None

    def known_id(self, field: str, expected: Value) -> Value:
        return self._bindings.value_of(expected) if field in NAMED and isinstance(expected, str) else None

    def show_expected(self, field: str, expected: Value) -> str:
        key = numbered(field, expected, self._owner)
        return show(expected if key is None else expected + (self._bindings.apart(key) or 0))

    def show_received(self, field: str, received: Value) -> str:
        return show((self._bindings.name_of(received) or received) if field in NAMED else received)


def numbered(field: str, value: Any, owner: Owner) -> tuple[str, str] | None:
    """Return the owner of a field's number as a key, or None if it is not a generation or epoch, or a special value."""
    if type(value) is not int:
        return None
    if field in GENERATION_FIELDS:
        return ("group", owner.group) if value > 0 else None
    return ("producer", owner.producer) if field == OF_PRODUCER and value >= 0 else None
