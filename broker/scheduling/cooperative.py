"""Long requests as tasks: generators that yield where other requests may be handled.

`fair_scheduler.py` decides when that happens.
"""

from collections.abc import Callable, Generator, Hashable, Iterable
from typing import TypeVar

ItemT = TypeVar("ItemT")
NameT = TypeVar("NameT", bound=Hashable)
ResultT = TypeVar("ResultT")

Task = Generator[None, None, ResultT]  # Work that may pause at each `yield`; it returns its result.


def is_task(response: object) -> bool:
    return hasattr(response, "send")


def finished(task: Task[ResultT]) -> ResultT:
    """Run a task to its end, and return its result."""
    while True:
        try:
            next(task)
        except StopIteration as end:
            result: ResultT = end.value
            return result


def one_by_one(function: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> Task[tuple[ResultT, ...]]:
    """Return the function's result for each item. Yields after each, and once without any item.

    So a caller with many empty arrays pauses, too.
    """
    results = []
    for item in items:
        results.append(function(item))
        yield
    if not results:
        yield
    return tuple(results)


def once_each(function: Callable[[NameT], ResultT], names: Iterable[NameT]) -> Task[tuple[ResultT, ...]]:
    """Return the function's result for each name, like `one_by_one`, but call it once for repeated names."""
    result_of: dict[NameT, ResultT] = {}
    results = []
    for name in names:
        if name not in result_of:
            result_of[name] = function(name)
        results.append(result_of[name])
        yield
    return tuple(results)


def begin(steps: Task[ResultT]) -> ResultT | Task[ResultT]:
    """Run a task to its first `yield`. Return its result if it ends before, otherwise the rest of the task."""
    try:
        next(steps)
    except StopIteration as end:
        result: ResultT = end.value
        return result
    return steps
