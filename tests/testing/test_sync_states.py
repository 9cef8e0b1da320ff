"""States in which a call of the synchronous API cannot wait: it fails at once."""

from __future__ import annotations

import _thread
import asyncio
import copy
import pickle
import select
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from kohort.control.control_errors import ControlError
from kohort.testing import Cluster, replay
from tests.testing.user_file import run

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.timeout(60)


def patch(monkeypatch: pytest.MonkeyPatch, library: str, module: Any, name: str) -> None:
    """Replace an attribute as a library for greenlets does. The replacement still works here."""
    original = getattr(module, name)

    def patched(*arguments: Any, **options: Any) -> Any:
        return original(*arguments, **options)

    patched.__module__ = f"{library}.green"
    monkeypatch.setattr(module, name, patched)


@pytest.mark.parametrize("library", ["gevent", "eventlet"])
@pytest.mark.parametrize(
    ("module", "name"),
    [(_thread, "start_new_thread"), (socket, "socket"), (select, "select")],
    ids=str,
)
def test_patched_process_is_refused(monkeypatch: pytest.MonkeyPatch, library: str, module: Any, name: str) -> None:
    with Cluster() as kafka:
        with monkeypatch.context() as later:
            patch(later, library, module, name)
            with pytest.raises(ControlError, match=f"{library} has patched"):
                Cluster().__enter__()
            with pytest.raises(ControlError, match=f"{library} has patched"):
                replay("orders.talk")
            with pytest.raises(ControlError, match=f"{library} has patched"):
                kafka.group("billing").wait_stable()
        assert kafka.group("billing").state == "Dead"


def test_other_patches_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    patch(monkeypatch, "pytest_socket", select, "select")
    with Cluster() as kafka:
        assert kafka.groups == []


def test_condition_must_not_wait() -> None:
    with Cluster() as kafka:
        group = kafka.group("billing")
        waits, jumps = cast("Any", group).wait_stable, partial(cast("Any", kafka).clock.advance, 1)
        with pytest.raises(RuntimeError, match="a condition may only look"):
            group.wait_for(lambda: bool(waits()))
        with pytest.raises(RuntimeError, match="a condition may only look"):
            group.wait_for(lambda: bool(jumps()))
        group.wait_for(lambda: group.state == "Dead")


def test_condition_must_not_be_a_coroutine() -> None:
    async def condition() -> bool:
        return False

    with Cluster() as kafka, pytest.raises(ControlError, match="coroutine function, which is always true"):
        kafka.group("billing").wait_for(condition)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, pytest.fail.Exception])
def test_condition_may_end_with_any_error(error: type[BaseException]) -> None:
    def condition() -> bool:
        raise error("enough")

    with Cluster() as kafka:
        with pytest.raises(error, match="enough"):
            kafka.group("billing").wait_for(condition)
        assert kafka.groups == []


def test_cluster_cannot_be_started_twice() -> None:
    cluster = Cluster()
    with cluster as kafka:
        with pytest.raises(RuntimeError, match="is running already"):
            cluster.__enter__()
        assert kafka.groups == []
    with cluster as kafka:
        assert kafka.groups == []


def test_ended_cluster_cannot_be_called() -> None:
    with Cluster() as kafka:
        group = kafka.group("billing")
    with pytest.raises(RuntimeError, match="has ended"):
        group.wait_for(lambda: True)
    with pytest.raises(RuntimeError, match="has ended"):
        cast("Any", kafka).__exit__(None, None, None)
    assert repr(kafka) == "<a cluster that does not run here any more>"


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_cluster_cannot_be_copied(copied: Callable[[object], object]) -> None:
    with Cluster() as kafka:
        for remote in (kafka, kafka.group("billing")):
            with pytest.raises(TypeError, match="send its `bootstrap` instead"):
                copied(remote)


async def test_wait_after_async_cluster_ended() -> None:
    async with Cluster() as kafka:
        group, clock = kafka.group("billing"), kafka.clock
        waiting = asyncio.create_task(group.wait_stable(members=1))
        await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="has ended"):
        await waiting
    with pytest.raises(RuntimeError, match="has ended"):
        await group.wait_stable(members=1)
    with pytest.raises(RuntimeError, match="has ended"):
        await clock.advance(1)


async def test_waits_block_a_running_loop() -> None:
    with Cluster() as kafka:
        with pytest.raises(TimeoutError, match="is not stable"):
            kafka.group("billing").wait_stable(members=1, timeout=0.01)
        assert kafka.clock.advance(1) is None  # type: ignore[func-returns-value]


@pytest.mark.clients
def test_sync_test_in_a_running_loop(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import asyncio

        def check(kafka):
            kafka.group("billing").wait_stable(members=1, timeout=9)

        def test_forgotten(kafka):
            async def within():
                check(kafka)
            asyncio.run(within())

        def test_awaited(kafka):
            async def within():
                await kafka.clock.advance(1)
            asyncio.run(within())

        def test_of_shared_cluster(kafka_session):
            async def within():
                check(kafka_session)
            asyncio.run(within())
        """,
        "-W", "ignore::RuntimeWarning",
    )  # fmt: skip
    result.assert_outcomes(passed=3, errors=2)
    result.stdout.fnmatch_lines(["*wait_stable() at *.py:4 was called while an event loop ran*not awaited*"])


@pytest.mark.clients
def test_fixture_of_ended_test(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import pytest
        kept = []

        def test_first(kafka):
            kept.append(kafka.group("billing"))

        def test_second():
            with pytest.raises(RuntimeError, match="has ended"):
                kept[0].wait_stable()
        """,
    )
    result.assert_outcomes(passed=2)


@pytest.mark.clients
@pytest.mark.parametrize("library", ["gevent", "eventlet"])
def test_fixture_in_patched_process(pytester: pytest.Pytester, library: str) -> None:
    result = run(
        pytester,
        f"""
        import select

        def patched(*arguments): ...
        patched.__module__ = "{library}.select"
        select.select = patched

        def test_one(kafka): ...
        def test_two(kafka_session): ...
        """,
    )
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines([f"*a cluster cannot run in a process in which {library} has patched select; start*"])
