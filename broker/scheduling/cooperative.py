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


def finished(task: Task[ResultT]) -> ResultT:
    """Return what comes of a task, worked on at once."""
    while True:
        try:
            next(task)
        except StopIteration as end:
            result: ResultT = end.value
            return result


def one_by_one(function: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> Task[tuple[ResultT, ...]]:
    """Return what `function` makes of each of the items. Yields after each, and once if there are none.

    So does a caller that has many arrays without an element.
    """
    results = []
    for item in items:
        results.append(function(item))
        yield
    if not results:
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


def begin(steps: Task[ResultT]) -> ResultT | Task[ResultT]:
    """Run a task to its first `yield`. Return its result if it ends before, otherwise the task with what is left."""
    try:
        next(steps)
    except StopIteration as end:
        result: ResultT = end.value
        return result
    return steps
