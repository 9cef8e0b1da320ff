"""The pytest plugin: clusters as fixtures. Installed with kohort, loaded by pytest itself.

    @pytest.mark.kafka(nodes=3, settings={"group.max.size": 2})
    async def test_orders(kafka): ...

`kafka` is a fresh cluster for each test, `kafka_session` one for the whole run. Clusters run in a thread. A test
that is a coroutine awaits what takes its time (`await group.wait_stable()`); to any other the same words just take it.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kohort.testing import Cluster

MARK = "kafka"


def pytest_configure(config: pytest.Config) -> None:
    """Tells pytest of the mark."""
    config.addinivalue_line(
        "markers",
        "kafka(nodes=1, profile='test', seed=None, settings=None, safety=Budget()): what the fixture `kafka` starts",
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--kafka-seed N`: repeat what a seed gave."""
    group = parser.getgroup("kohort")
    group.addoption(
        "--kafka-seed", type=int, default=None, metavar="N", help="seed of all clusters that are not given another"
    )


@pytest.fixture(scope="session")
def _kafka_thread() -> Iterator[Any]:
    """The thread of all clusters that fixtures make: one for each process, as with pytest-xdist."""
    from kohort.testing.remote import Thread

    thread = Thread()
    yield thread
    thread.stop()


@pytest.fixture
def kafka(request: pytest.FixtureRequest, _kafka_thread: Any) -> Iterator[Any]:
    """A fresh cluster for this test, with what its mark `kafka` asks for. See `kohort.testing.Cluster`."""
    from kohort.testing.remote import Awaits, InThread, Waits

    mark = request.node.get_closest_marker(MARK)
    cluster = _made(request.config, mark)
    asynchronous = inspect.iscoroutinefunction(getattr(request, "function", None))
    runner = InThread(cluster, _kafka_thread)
    handed_out = runner.start(Awaits if asynchronous else Waits)
    request.node.stash[RUNNER] = runner, cluster
    yield handed_out
    violations = runner.call(lambda: list(cluster.laboratory.safety.finish() if cluster.laboratory.safety else ()))
    for line in runner.stop():
        request.node.warn(pytest.PytestWarning(line))
    if violations:
        pytest.fail("this must never happen: " + "; ".join(violations), pytrace=False)


@pytest.fixture(scope="session")
def kafka_session(request: pytest.FixtureRequest, _kafka_thread: Any) -> Iterator[Any]:
    """One cluster for the whole run; tests keep apart by their groups' and topics' names. It waits, as `with` does."""
    from kohort.testing.remote import InThread, Waits

    runner = InThread(_made(request.config, None), _kafka_thread)
    yield runner.start(Waits)
    for line in runner.stop():
        warnings.warn(line, pytest.PytestWarning, stacklevel=1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tells, of a test that failed, what happened in its groups and how to have it again."""
    report = yield
    if call.when == "call" and report.failed and RUNNER in item.stash:
        runner, cluster = item.stash[RUNNER]
        report.sections.append(
            (f"kafka, seed {cluster.seed} (repeat with --kafka-seed {cluster.seed})", runner.call(cluster.timeline))
        )
    return report


def _made(config: pytest.Config, mark: pytest.Mark | None) -> Cluster:
    from kohort.testing import Cluster

    options = dict(mark.kwargs) if mark is not None else {}
    if mark is not None and mark.args:
        options["nodes"] = mark.args[0]
    if options.get("seed") is None:
        options["seed"] = config.getoption("kafka_seed")
    return Cluster(**options)


RUNNER = pytest.StashKey[Any]()
