"""Names in place of ids that are new in each run: those of members, topics, producers and processes.

A name contains its origin: `$ada` is a member first seen on a connection of the client ada, `$orders_id` a topic id.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

from kohort.proxy.talk.talk_values import Value

MEMBER, TOPIC, PRODUCER, PROCESS = "member", "topic", "producer", "process"

NAMED: Final = {
    "member_id": MEMBER,
    "leader": MEMBER,
    "topic_id": TOPIC,
    "producer_id": PRODUCER,
    "process_id": PROCESS,
}  # fields with an id, and the kind of id

MAX_NAMES: Final = 100_000
"""Most ids with a name at the same time; the one unused for longest gets a new name later."""

_NO_WORD: Final = re.compile(r"[^a-z0-9]+")
_LONGEST_WORD: Final = 30


def replaced(values: Value, replace: Callable[[str, Value], Value]) -> Value:
    """Return the values with `replace(kind, id)` in place of each id."""
    if isinstance(values, list):
        return [replaced(item, replace) for item in values]
    if not isinstance(values, dict):
        return values
    return {
        name: replace(NAMED[name], value)
        if name in NAMED and isinstance(value, str | int)
        else replaced(value, replace)
        for name, value in values.items()
    }


def ids_in(values: Value, kind: str) -> Iterator[Value]:
    """Yield all ids of a kind."""
    if isinstance(values, list):
        for item in values:
            yield from ids_in(item, kind)
    elif isinstance(values, dict):
        for name, value in values.items():
            if NAMED.get(name) == kind and isinstance(value, str | int):
                yield value
            else:
                yield from ids_in(value, kind)


class Naming:
    """Names in one recording."""

    def __init__(self, most: int = MAX_NAMES) -> None:
        self._most = most
        self._names: OrderedDict[tuple[str, Value], str] = OrderedDict()
        self._numbers: OrderedDict[str, int] = OrderedDict()

    def speaker(self, client_id: str | None) -> str:
        """Return a name for a new connection: `ada`, then `ada/2`."""
        word = _word(client_id or "", "client")
        number = self._number(f"{word}/")
        return word if number == 1 else f"{word}/{number}"

    def topic(self, topic_id: str, name: str) -> None:
        """Assign a name to a topic id after the topic."""
        if (TOPIC, topic_id) not in self._names:
            self._names[TOPIC, topic_id] = self._new(f"{_word(name, 'topic')}_id")

    def named(self, values: Value, speaker: str) -> Value:
        """Return the values with names in place of ids. New members are named after the speaker."""
        person = speaker.partition("/")[0]
        new = {MEMBER: person, TOPIC: "topic_id", PRODUCER: f"{person}_producer", PROCESS: f"{person}_process"}
        return replaced(values, lambda kind, value: self._named(kind, value, new[kind]))

    def _named(self, kind: str, value: Value, new: str) -> str:
        name = self._names.get((kind, value))
        if name is None:
            name = self._names[kind, value] = self._new(new)
            if len(self._names) > self._most:
                self._names.popitem(last=False)
        else:
            self._names.move_to_end((kind, value))
        return f"${name}"

    def _new(self, base: str) -> str:
        number = self._number(base)
        return base if number == 1 else f"{base}_{number}"

    def _number(self, base: str) -> int:
        number = self._numbers[base] = self._numbers.get(base, 0) + 1
        self._numbers.move_to_end(base)
        if len(self._numbers) > self._most:
            self._numbers.popitem(last=False)
        return number


def _word(text: str, default: str) -> str:
    word = _NO_WORD.sub("", text.lower())[:_LONGEST_WORD]
    return word if word[:1].isalpha() else f"{default}{word}"
