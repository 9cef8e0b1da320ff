"""Running a generator to its end without a pause."""

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")


def at_once(steps: Generator[object, None, T]) -> T:
    """Return the result of the generator. No other request is served in between."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
