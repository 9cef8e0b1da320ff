"""The pytest plugin: clusters as fixtures. Installed with kohort, loaded by pytest itself.

    @pytest.mark.kafka(nodes=3, settings={"group.max.size": 2})
    async def test_orders(kafka): ...

`kafka` is a fresh cluster for each test, `kafka_session` one for the whole run. Clusters run in a thread. A test
that is a coroutine awaits what takes its time (`await group.wait_stable()`); to any other the same words just take it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kohort.protocol.visible import visible

if TYPE_CHECKING:
    from kohort.testing import Cluster
    from kohort.testing.remote import InThread

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
    from kohort.testing.remote import AwaitsOrWaits, InThread

    mark = request.node.get_closest_marker(MARK)
    cluster = _made(request.config, mark)
    runner = InThread(cluster, _kafka_thread)
    handed_out = runner.start(AwaitsOrWaits)
    request.node.stash[RUNNER] = runner, cluster
    yield handed_out
    violations = runner.call(lambda: list(cluster.laboratory.safety.finish() if cluster.laboratory.safety else ()))
    request.node.stash[SECTION] = _section(runner, cluster) if violations else None
    left = runner.stop()
    del request.node.stash[RUNNER]
    _judge(request.node, left, violations)


@pytest.fixture(scope="session")
def _kafka_of_the_run(request: pytest.FixtureRequest, _kafka_thread: Any) -> Iterator[Any]:
    """The cluster of `kafka_session`, as tests see it and as it is."""
    from kohort.testing.remote import AwaitsOrWaits, InThread

    cluster = _made(request.config, None)
    runner = InThread(cluster, _kafka_thread)
    yield runner.start(AwaitsOrWaits), runner, cluster
    runner.stop()


@pytest.fixture(scope="session")
def kafka_session(_kafka_of_the_run: Any) -> Any:
    """One cluster for the whole run; tests keep apart by their groups' and topics' names.

    Rules and gates end with each test that uses it, and the clock runs again.
    """
    return _kafka_of_the_run[0]


@pytest.fixture
def _kafka_of_this_test(request: pytest.FixtureRequest, _kafka_of_the_run: Any) -> Iterator[None]:
    """The part of one test in the cluster of the run; `pytest_itemcollected` lets every test have it that uses that."""
    _, runner, cluster = _kafka_of_the_run
    request.node.stash[RUNNER] = runner, cluster
    yield
    left, violations = runner.call(cluster.laboratory.reset)
    request.node.stash[SECTION] = _section(runner, cluster) if violations else None
    del request.node.stash[RUNNER]
    _judge(request.node, left, violations)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Lets what a test leaves in the cluster of the run end with it, after its own fixtures."""
    names: list[str] = getattr(item, "fixturenames", [])
    if "kafka_session" in names and END not in names:
        names.insert(0, END)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tells, of a test that failed, what happened in its groups and how to have it again."""
    report = yield
    if report.failed:
        section = _section(*item.stash[RUNNER]) if RUNNER in item.stash else item.stash.get(SECTION, None)
        report.sections += [section] if section is not None else []
    return report


def _section(runner: InThread, cluster: Cluster) -> tuple[str, str]:
    """What a test that failed is told of its cluster."""
    return f"kafka, seed {cluster.seed} (repeat with --kafka-seed {cluster.seed})", runner.call(cluster.timeline)


def _judge(item: pytest.Item, left: list[str], violations: list[str]) -> None:
    """Reports what a test has left held, and fails it if something happened that must never happen."""
    for line in left:
        item.warn(pytest.PytestWarning(visible(line)))
    if violations:
        pytest.fail("this must never happen: " + visible("; ".join(violations)), pytrace=False)


def _made(config: pytest.Config, mark: pytest.Mark | None) -> Cluster:
    from kohort.control.control_errors import ControlError, unknown
    from kohort.testing import Cluster

    options = dict(mark.kwargs) if mark is not None else {}
    for name in options:
        if name not in OPTIONS:
            raise unknown("option of @pytest.mark.kafka", name, OPTIONS)
    if mark is not None and mark.args:
        options["nodes"], *more = mark.args
        if more:
            raise ControlError(f"@pytest.mark.kafka takes nodes alone without its name; give {more[0]!r} one")
    if options.get("seed") is None:
        options["seed"] = config.getoption("kafka_seed")
    return Cluster(**options)


OPTIONS = ("nodes", "profile", "seed", "settings", "safety", "host")
END = "_kafka_of_this_test"
RUNNER = pytest.StashKey[tuple["InThread", "Cluster"]]()
SECTION = pytest.StashKey[tuple[str, str] | None]()
