"""A request that may take long is a task: its handler is a generator that yields where others may come.

`fair_scheduler.py` says when they do.
"""

from collections.abc import Callable, Generator, Hashable, Iterable
from typing import TypeVar

ItemT = TypeVar("ItemT")
NameT = TypeVar("NameT", bound=Hashable)
ResultT = TypeVar("ResultT")

Task = Generator[None, None, ResultT]
"""Work that may be laid aside at each `yield`; it returns what came of it."""


def is_task(response: object) -> bool:
    """Whether a handler has returned a task rather than an answer."""
    return hasattr(response, "send")


def one_by_one(function: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> Task[tuple[ResultT, ...]]:
    """What `function` makes of each of the items; others may come after each."""
    results = []
    for item in items:
        results.append(function(item))
        yield
    return tuple(results)


def once_each(function: Callable[[NameT], ResultT], names: Iterable[NameT]) -> Task[tuple[ResultT, ...]]:
    """As `one_by_one`, for names: what comes of one that is there often takes its room once."""
    known: dict[NameT, ResultT] = {}
    results = []
    for name in names:
        if name not in known:
            known[name] = function(name)
        results.append(known[name])
        yield
    return tuple(results)
