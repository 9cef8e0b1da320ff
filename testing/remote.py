"""A cluster that runs in a thread of its own, and its words for tests on this side.

`with Cluster()` hands out `Waits`: every call is waited for. With the plugin's fixtures a coroutine awaits what
`Cluster` would let it await (`AwaitsOrWaits`). Whatever is asked is asked in the cluster's thread: a test never reads
what is just being changed.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol, TypeVar
from warnings import warn

from kohort.broker.clock import machines
from kohort.control.control_errors import ControlError

T = TypeVar("T")

OURS = ("kohort.testing", "kohort.control", "kohort.proxy")
"""Objects of these rooms live in the thread and are handed out as remotes; everything else is a value."""


_warnings: ContextVar[list[str] | None] = ContextVar("_warnings", default=None)
"""What a call that takes its time has to warn of; None: who asked runs in the same loop."""


def warn_caller(text: str) -> None:
    """Warns whoever has called what takes its time: with the line of the call, not with one of this thread."""
    warnings = _warnings.get()
    if warnings is None:
        warn(text, stacklevel=3)
    else:
        warnings.append(text)


class _Loop(asyncio.SelectorEventLoop):
    """Goes by the machine's clock, though a test may have frozen the time for everybody else."""

    def __init__(self) -> None:
        self._machine_ns = machines("monotonic_ns")
        super().__init__()

    def time(self) -> float:
        return self._machine_ns() / 1e9


class Thread:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = _Loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kohort", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs it there, and returns what it returns or raises what it raises.

        A sentence for whoever calls (a wait that was too long, a word that there is none of) comes without our frames.
        """
        __tracebackhide__ = True
        warnings: list[str] = []
        try:
            result = self._begin(work, warnings).result()
            for text in warnings:
                warn(text, stacklevel=4)
            return result
        except (ControlError, TimeoutError) as problem:
            raise problem.with_traceback(None) from problem.__cause__

    def call(self, function: Callable[[], T]) -> T:
        """Calls a plain function there. In the thread itself, where conditions run, it is called directly."""
        __tracebackhide__ = True
        if threading.current_thread() is self._thread:
            return function()

        async def work() -> T:
            return function()

        return self.run(work())

    def start(self, work: Coroutine[Any, Any, T], warnings: list[str]) -> Awaitable[T]:
        """Runs it there, to be awaited in the loop of whoever calls. `warnings` gets what that one is to be told."""
        return asyncio.wrap_future(self._begin(work, warnings))

    def _begin(self, work: Coroutine[Any, Any, T], warnings: list[str]) -> Future[T]:
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("the cluster has ended with its `with` block; ask it within")
        return asyncio.run_coroutine_threadsafe(_warned(work, warnings), self._loop)

    def stop(self) -> None:
        """Ends the loop and the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _in_a_loop() -> bool:
    """Whether whoever calls can await."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _warned(work: Coroutine[Any, Any, T], warnings: list[str]) -> T:
    _warnings.set(warnings)
    return await work


async def _result(begun: Awaitable[T], warnings: list[str]) -> T:
    """What was begun, as a coroutine, of which Python says where it was never awaited."""
    result = await begun
    for text in warnings:
        warn(text, stacklevel=2)
    return result


class Remote:
    """Something of the thread's."""

    _thread: Thread
    _inner: Any

    def __init__(self, thread: Thread, inner: Any) -> None:
        object.__setattr__(self, "_thread", thread)
        object.__setattr__(self, "_inner", inner)

    def _take_part(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What becomes of a call that takes its time."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        __tracebackhide__ = True
        inner = self._inner
        value = self._thread.call(lambda: getattr(inner, name))
        if not inspect.ismethod(value) and not inspect.isfunction(value):
            return self._handed_out(value)

        def call(*arguments: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            if inspect.iscoroutinefunction(value):
                return self._take_part(value(*arguments, **options))
            return self._handed_out(self._thread.call(lambda: value(*arguments, **options)))

        return call

    def _handed_out(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._handed_out(each) for each in value]
        kind = type(value)
        if kind.__module__.startswith(OURS) and not hasattr(kind, "__dataclass_fields__"):
            return type(self)(self._thread, value)
        return value

    def __dir__(self) -> list[str]:
        """For completion at a prompt."""
        return self._thread.call(lambda: dir(self._inner))

    def __enter__(self) -> Any:
        return self._handed_out(self._thread.call(self._inner.__enter__))

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.call(lambda: self._inner.__exit__(kind, problem, trace))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._handed_out(self._thread.call(lambda: list(self._inner))))

    def __len__(self) -> int:
        return int(self._thread.call(lambda: len(self._inner)))

    def __contains__(self, item: object) -> bool:
        inner = item._inner if isinstance(item, Remote) else item
        return bool(self._thread.call(lambda: inner in self._inner))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and self._thread.call(lambda: bool(self._inner == other._inner))

    def __hash__(self) -> int:
        return self._thread.call(lambda: hash(self._inner))

    def __str__(self) -> str:
        return str(self._thread.call(lambda: str(self._inner)))

    def __repr__(self) -> str:
        return str(self._thread.call(lambda: repr(self._inner)))


class Waits(Remote):
    """For tests that are not coroutines."""

    def _take_part(self, work: Coroutine[Any, Any, Any]) -> Any:
        __tracebackhide__ = True
        return self._handed_out(self._thread.run(work))


class AwaitsOrWaits(Remote):
    """For both: what is asked in a running event loop is awaited there, so that a test's own clients go on meanwhile.

    Elsewhere, as in a fixture that is no coroutine of a test that is one, it waits.
    """

    def _take_part(self, work: Coroutine[Any, Any, Any]) -> Any:
        __tracebackhide__ = True
        if not _in_a_loop():
            return self._handed_out(self._thread.run(work))
        warnings: list[str] = []
        awaited: Any = _result(self._thread.start(work, warnings), warnings)
        awaited.__qualname__ = getattr(work, "__qualname__", "")  # Python tells it when this is never awaited
        return awaited


class Started(Protocol):
    """What may run in a thread: a `Cluster`, a `Proxy`."""

    async def start(self) -> None:
        """Starts it."""
        ...

    async def stop(self) -> list[str]:
        """Ends it; a line for each gate that was still held."""
        ...


class InThread:
    """A cluster in a thread, from `start` to `stop`. The thread may serve one cluster after the other."""

    def __init__(self, cluster: Started, thread: Thread | None = None) -> None:
        self._cluster = cluster
        self._own = thread is None
        self._thread = Thread() if thread is None else thread

    def start(self, remote: type[Remote] = Waits) -> Any:
        """Starts the cluster; returns it, as `remote`."""
        try:
            self._thread.run(self._cluster.start())
        except BaseException:
            self._stop_thread()
            raise
        return remote(self._thread, self._cluster)

    def call(self, function: Callable[[], T]) -> T:
        """Calls something in the cluster's thread."""
        return self._thread.call(function)

    def stop(self) -> list[str]:
        """Stops it; returns what `Cluster.stop` returns."""
        try:
            return self._thread.run(self._cluster.stop())
        finally:
            self._stop_thread()

    def _stop_thread(self) -> None:
        if self._own:
            self._thread.stop()
