"""Expectations of a conversation of tests.

`_` is anything; `$name` is bound to the first value it meets; `10..20` is a range; `~pattern` a regular expression,
in which UUID matches a UUID; a list that ends in `...` may be longer. Fields that are not mentioned are not compared.
"""

from __future__ import annotations

import re

from kohort.proxy.talk.answer_comparing import Expectations
from tests.talk.shares import Shares
from tests.talk.values import BUILT, NAME, Value, fill, show, to_bytes

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")

Names = dict[str, Value]


class WrittenExpectations(Expectations):
    """Patterns and names in the expected values."""

    is_partial = True

    def __init__(self, names: Names) -> None:
        self.names = names

    def trial(self) -> WrittenExpectations:
        return WrittenExpectations(dict(self.names))

    def take(self, trial: WrittenExpectations) -> None:
        self.names.update(trial.names)

    def prepared(self, expected: Value, received: Value) -> tuple[Value, Value]:
        """Return the assignment with the values of its names, or as it was in the response."""
        if not isinstance(received, Shares) or not isinstance(expected, dict):
            return expected, received
        if "topic_partitions" in expected:
            return expected["topic_partitions"], received.travelled
        return {fill(topic, self.names): partitions for topic, partitions in expected.items()}, received

    def is_complete(self, received: dict[str, Value]) -> bool:
        return isinstance(received, Shares)

    def is_unspecific(self, expected: Value) -> bool:
        if not isinstance(expected, str):
            return False
        name = NAME.fullmatch(expected)
        if name:
            return name[1] not in self.names
        return expected == "_" or expected.startswith("~") or RANGE.fullmatch(expected) is not None

    def is_same(self, field: str, expected: Value, received: Value) -> bool:
        if expected == "_":
            return True
        if isinstance(expected, str):
            name = NAME.fullmatch(expected)
            if name:
                expected = self.names.setdefault(name[1], received)
            elif isinstance(received, int) and (span := RANGE.fullmatch(expected)):
                return int(span[1]) <= received <= int(span[2])
            elif expected.startswith("~"):
                pattern = fill(expected[1:], self.names).replace("UUID", UUID)
                return isinstance(received, str) and re.fullmatch(pattern, received, re.DOTALL) is not None
            else:
                expected = fill(expected, self.names)
                if isinstance(received, str) and BUILT.fullmatch(expected):
                    return to_bytes(expected) == to_bytes(received)
        return type(expected) is type(received) and bool(expected == received)

    def show_expected(self, field: str, expected: Value) -> str:
        return show(fill(expected, self.names))
