"""A request that may take long is worked on in slices: its handler is a generator that yields where others may come.

`broker/runtime/turns.py` says when they do.
"""

from collections.abc import Callable, Generator, Hashable, Iterable
from typing import Any, TypeVar

ItemT = TypeVar("ItemT")
NameT = TypeVar("NameT", bound=Hashable)
ResultT = TypeVar("ResultT")

Slices = Generator[None, None, ResultT]
"""Work that may be laid aside at each `yield`; it returns what came of it."""

Work = Slices[Any]


def is_work(response: object) -> bool:
    """Whether a handler has returned work rather than an answer. A compiled generator has a type of its own."""
    return hasattr(response, "send")


def at_once(steps: Slices[ResultT]) -> ResultT:
    """What comes of short work; nobody comes in between."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: ResultT = end.value
            return result


def one_by_one(function: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> Slices[tuple[ResultT, ...]]:
    """What `function` makes of each of the items; others may come after each."""
    results = []
    for item in items:
        results.append(function(item))
        yield
    return tuple(results)


def once_each(function: Callable[[NameT], ResultT], names: Iterable[NameT]) -> Slices[tuple[ResultT, ...]]:
    """As `one_by_one`, for names: what comes of one that is there often takes its room once."""
    known: dict[NameT, ResultT] = {}
    results = []
    for name in names:
        if name not in known:
            known[name] = function(name)
        results.append(known[name])
        yield
    return tuple(results)
