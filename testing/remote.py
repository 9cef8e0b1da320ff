"""Cluster in a thread of its own, and its remote objects for tests.

`with Cluster()` returns `Waits`, whose calls block. With the plugin's fixtures a coroutine test awaits the same calls
as with `Cluster` (`AwaitsOrWaits`). Every access runs in the cluster's thread, so that a test never reads a state in
the middle of a change.
"""

from __future__ import annotations

import _thread
import asyncio
import inspect
import select
import selectors
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from types import TracebackType
from typing import Any, NoReturn, Protocol, TypeVar
from warnings import warn

from kohort.base.clock import machines
from kohort.base.forking import FORKED, release, unwatch_forks, watch_forks
from kohort.control.control_errors import ControlError

T = TypeVar("T")

ENDED = "the cluster has ended; call it before its `with` block or its test ends"

OURS = ("kohort.testing", "kohort.control", "kohort.proxy")
"""Objects of these packages live in the thread and are returned as remotes; everything else is a value."""


_warnings: ContextVar[list[str] | None] = ContextVar("_warnings", default=None)
"""Warnings of a call that takes time; None if the caller is in the same loop."""


def warn_caller(text: str) -> None:
    """Warn the caller of a method that takes time, with the line of that call, not one of this thread."""
    warnings = _warnings.get()
    if warnings is None:
        warn(text, stacklevel=3)
    else:
        warnings.append(text)


LIBRARIES_THAT_PATCH = ("gevent", "eventlet")


def refuse_patched() -> None:
    """Raise ControlError if gevent or eventlet has patched what an event loop in a thread depends on.

    Then the thread would be a greenlet of the caller's thread, or its sockets would belong to the caller's hub.
    """
    originals = {"thread": _thread.start_new_thread, "socket": socket.socket, "select": select.select}
    for library in LIBRARIES_THAT_PATCH:
        patched = [name for name, value in originals.items() if str(value.__module__).partition(".")[0] == library]
        if patched:
            raise ControlError(
                f"a cluster cannot run in a process in which {library} has patched {', '.join(patched)}; start "
                "`kohort serve` in another process, and let the clients connect to it"
            )


class _Loop(asyncio.SelectorEventLoop):
    """Event loop that follows the machine's clock, even if a test has frozen the time of everything else."""

    def __init__(self) -> None:
        self._machine_ns = machines("monotonic_ns")
        self.polling = selectors.DefaultSelector()
        super().__init__(self.polling)

    def time(self) -> float:
        return self._machine_ns() / 1e9

    def run_until_stopped(self) -> None:
        """Run, even if a test's condition ends with SystemExit or KeyboardInterrupt, which its caller receives."""
        while True:
            try:
                return self.run_forever()
            except (SystemExit, KeyboardInterrupt):
                pass


class Thread:
    """Event loop in a thread."""

    def __init__(self) -> None:
        refuse_patched()
        self._loop = _Loop()
        self._is_forked = False
        self._thread = threading.Thread(target=self._loop.run_until_stopped, name="kohort", daemon=True)
        self._thread.start()
        watch_forks(self)

    @property
    def is_here(self) -> bool:
        """Whether the caller is in this thread, as the condition of a wait is."""
        return threading.current_thread() is self._thread

    def check(self) -> None:
        """Raise an error if a call would never return."""
        if self._is_forked:
            raise RuntimeError(FORKED)
        refuse_patched()

    def on_forked(self) -> tuple[()]:
        """Close the descriptors of the loop in a forked child; the server closes those of clients."""
        self._is_forked = True
        release([self._loop.polling.fileno(), *(key.fd for key in self._loop.polling.get_map().values())])
        return ()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the thread, and return its result or raise its error.

        An error whose text is for the caller (a timeout, an unknown name) is raised without frames of kohort.
        """
        __tracebackhide__ = True
        warnings: list[str] = []
        try:
            result = self._begin(work, warnings).result()
            for text in warnings:
                warn(text, stacklevel=5)
            return result
        except (ControlError, TimeoutError) as problem:
            raise problem.with_traceback(None) from problem.__cause__

    def call(self, function: Callable[[], T]) -> T:
        """Call a plain function in the thread, directly if the caller is there."""
        __tracebackhide__ = True
        self.check()
        if self.is_here:
            return function()

        async def work() -> T:
            return function()

        return self.run(work())

    def start(self, work: Coroutine[Any, Any, T], warnings: list[str]) -> Awaitable[T]:
        """Start a coroutine in the thread, and return what the caller awaits in its own loop.

        Args:
            warnings: Receives the texts of warnings for the caller.
        """
        return asyncio.wrap_future(self._begin(work, warnings))

    def _begin(self, work: Coroutine[Any, Any, T], warnings: list[str]) -> Future[T]:
        try:
            self.check()
            if self.is_here:
                raise RuntimeError(
                    "this call waits, and was made in the thread of the cluster, as in a condition, where it would "
                    "wait for itself; a condition may only look"
                )
            if self._loop.is_closed():
                raise RuntimeError(ENDED)
        except BaseException:
            work.close()
            raise
        return asyncio.run_coroutine_threadsafe(_warned(work, warnings), self._loop)

    def stop(self) -> None:
        self.check()
        unwatch_forks(self)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _in_a_loop() -> bool:
    """Return whether the caller can await."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _warned(work: Coroutine[Any, Any, T], warnings: list[str]) -> T:
    _warnings.set(warnings)
    return await work


class Unawaited:
    """Call whose coroutine was returned and has not been awaited."""

    def __init__(self, name: str) -> None:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
            frame = frame.f_back
        self._call = f"{name}() at {frame.f_code.co_filename}:{frame.f_lineno}"

    def __str__(self) -> str:
        return (
            f"{self._call} was called while an event loop ran in its thread, and was not awaited, so that the test did "
            "not wait for it; await it, or call it where no event loop runs"
        )


async def _result(begun: Awaitable[T], warnings: list[str], on_awaited: Callable[[], None]) -> T:
    """Return the result of a call that has begun. It is a coroutine, as Python reports one that is never awaited."""
    on_awaited()
    result = await begun
    for text in warnings:
        warn(text, stacklevel=2)
    return result


class Remote:
    """Object in the thread of a cluster."""

    _runner: InThread
    _inner: Any

    def __init__(self, runner: InThread, inner: Any) -> None:
        object.__setattr__(self, "_runner", runner)
        object.__setattr__(self, "_inner", inner)

    def _take_part(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of a call that waits, or what the caller awaits."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        __tracebackhide__ = True
        inner = self._inner
        value = self._runner.call(lambda: getattr(inner, name))
        if not inspect.ismethod(value) and not inspect.isfunction(value):
            return self._handed_out(value)

        def call(*arguments: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            if inspect.iscoroutinefunction(value):
                return self._take_part(value(*arguments, **options))
            result = self._runner.call(lambda: value(*arguments, **options))
            return self._take_part(result) if asyncio.iscoroutine(result) else self._handed_out(result)

        return call

    def _handed_out(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._handed_out(item) for item in value]
        kind = type(value)
        if kind.__module__.startswith(OURS) and not hasattr(kind, "__dataclass_fields__"):
            return type(self)(self._runner, value)
        return value

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a cluster cannot be copied or sent to another process; send its `bootstrap` instead")

    def __dir__(self) -> list[str]:
        """Return the names of the object, for completion at a prompt."""
        return self._runner.call(lambda: dir(self._inner))

    def __enter__(self) -> Any:
        return self._handed_out(self._runner.call(self._inner.__enter__))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.call(lambda: self._inner.__exit__(kind, error, trace))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._handed_out(self._runner.call(lambda: list(self._inner))))

    def __len__(self) -> int:
        return int(self._runner.call(lambda: len(self._inner)))

    def __contains__(self, item: object) -> bool:
        inner = item._inner if isinstance(item, Remote) else item
        return bool(self._runner.call(lambda: inner in self._inner))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and self._runner.call(lambda: bool(self._inner == other._inner))

    def __hash__(self) -> int:
        return self._runner.call(lambda: hash(self._inner))

    def __str__(self) -> str:
        return str(self._runner.call(lambda: str(self._inner)))

    def __repr__(self) -> str:
        try:
            return str(self._runner.call(lambda: repr(self._inner)))
        except RuntimeError:  # has ended: a report of a failed test shows it then
            return "<a cluster that does not run here any more>"


class Waits(Remote):
    """Remote object for tests that are not coroutines."""

    def _take_part(self, work: Coroutine[Any, Any, Any]) -> Any:
        __tracebackhide__ = True
        return self._handed_out(self._runner.run(work))


class AwaitsOrWaits(Remote):
    """Remote object for tests that may be coroutines.

    In a running event loop a call returns a coroutine, so that the test's own clients run meanwhile. Elsewhere, as in
    a fixture of such a test that is not a coroutine, the call blocks.
    """

    def _take_part(self, work: Coroutine[Any, Any, Any]) -> Any:
        __tracebackhide__ = True
        if not _in_a_loop() or self._runner.is_here:
            return self._handed_out(self._runner.run(work))
        warnings: list[str] = []
        name = getattr(work, "__qualname__", "")
        awaited: Any = _result(self._runner.begin(work, warnings), warnings, self._runner.note_unawaited(name))
        awaited.__qualname__ = name  # for Python's warning about a coroutine that was never awaited
        return awaited


class Started(Protocol):
    """Object that can run in a thread: a `Cluster`, a `Proxy`."""

    async def start(self) -> None: ...

    async def stop(self) -> list[str]:
        """Stop it, and return a line for each gate that was still held."""
        ...


class InThread:
    """Cluster in a thread, from `start` to `stop`. The thread may be used for several clusters one after the other."""

    def __init__(self, cluster: Started, thread: Thread | None = None) -> None:
        self._cluster = cluster
        self._own = thread is None
        self._thread = Thread() if thread is None else thread
        self._has_ended = False
        self._unawaited: set[Unawaited] = set()

    @property
    def is_here(self) -> bool:
        """Whether the caller is in the cluster's thread."""
        return self._thread.is_here

    def start(self, remote: type[Remote] = Waits) -> Any:
        """Start the cluster, and return it as `remote`."""
        try:
            self._thread.run(self._cluster.start())
        except BaseException:
            self._stop_thread()
            raise
        return remote(self, self._cluster)

    def call(self, function: Callable[[], T]) -> T:
        __tracebackhide__ = True
        self._check_running()
        return self._thread.call(function)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        __tracebackhide__ = True
        self._check_running(work)
        return self._thread.run(work)

    def begin(self, work: Coroutine[Any, Any, T], warnings: list[str]) -> Awaitable[T]:
        """Start a coroutine in the cluster's thread; see `Thread.start`."""
        __tracebackhide__ = True
        self._check_running(work)
        return self._thread.start(work, warnings)

    def _check_running(self, work: Coroutine[Any, Any, Any] | None = None) -> None:
        __tracebackhide__ = True
        if self._has_ended:
            if work is not None:
                work.close()
            raise RuntimeError(ENDED)

    def note_unawaited(self, name: str) -> Callable[[], None]:
        """Remember a call until the returned function is called."""
        call = Unawaited(name)
        self._unawaited.add(call)
        return lambda: self._unawaited.discard(call)

    def take_unawaited(self) -> list[str]:
        """Return a sentence for each call that was not awaited, and forget it."""
        calls = [str(call) for call in self._unawaited]
        self._unawaited.clear()
        return calls

    def stop(self) -> list[str]:
        """Stop the cluster, and return what `Cluster.stop` returns."""
        self._check_running()
        try:
            return self._thread.run(self._cluster.stop())
        finally:
            self._has_ended = True
            self._stop_thread()

    def _stop_thread(self) -> None:
        if self._own:
            self._thread.stop()
