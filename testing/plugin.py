"""The pytest plugin: clusters as fixtures. Installed with kohort, loaded by pytest itself.

    @pytest.mark.kafka(nodes=3, settings={"group.max.size": 2})
    async def test_orders(kafka): ...

`kafka` is a fresh cluster for each test, `kafka_session` one for the whole run. Clusters run in a thread. A test
that is a coroutine awaits what takes its time (`await group.wait_stable()`); to any other the same words just take it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kohort.protocol.visible import visible

if TYPE_CHECKING:
    from kohort.testing import Cluster
    from kohort.testing.remote import InThread

MARK = "kafka"


def pytest_configure(config: pytest.Config) -> None:
    """Registers the mark."""
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
    used = _uses(request.node, runner, cluster)
    yield handed_out
    violations = runner.call(lambda: list(cluster.laboratory.safety.finish() if cluster.laboratory.safety else ()))
    _judge(request.node, used, runner.stop, violations)


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
    if "kafka" not in request.fixturenames and request.node.get_closest_marker(MARK) is not None:
        pytest.fail(
            "@pytest.mark.kafka says what the fixture `kafka` starts; `kafka_session` is one cluster for all, and "
            "takes no mark. Use `kafka` here, or leave the mark out",
            pytrace=False,
        )
    used = _uses(request.node, runner, cluster)
    yield
    left, violations = runner.call(cluster.laboratory.reset)
    _judge(request.node, used, lambda: left, violations)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Lets what a test leaves in the cluster of the run end with it, after its own fixtures."""
    names: list[str] = getattr(item, "fixturenames", [])
    if "kafka_session" in names and END not in names:
        names.insert(0, END)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forgets what an earlier run of the test has used."""
    item.stash[USED] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Ends rules and opens gates when the test function is over: fixtures, such as consumers that leave, come after."""
    try:
        return (yield)
    finally:
        for each in item.stash.get(USED, ()):
            each.lift()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Prints, for a test that failed, what happened in its groups and how to have it again."""
    report = yield
    if report.failed:
        report.sections += [each.section for each in item.stash.get(USED, ())]
    return report


class Used:
    """A cluster that a test uses, and what is told of it at its end."""

    def __init__(self, runner: InThread, cluster: Cluster) -> None:
        self._runner = runner
        self._cluster = cluster
        self._idle: list[str] = []
        self._ended: tuple[str, str] | None = None
        self.left: list[str] = []
        """A line for each gate that the test has left held."""

    @property
    def section(self) -> tuple[str, str]:
        """What is told of it when the test failed: its title, and its text."""
        if self._ended is not None:
            return self._ended
        seed = self._cluster.seed
        text = "\n".join([self._runner.call(self._cluster.timeline), *self._idle])
        return f"kafka, seed {seed} (repeat with --kafka-seed {seed})", text

    def lift(self) -> None:
        """Ends what the test has done to the brokers."""

        def work() -> None:
            laboratory = self._cluster.laboratory
            self.left += laboratory.lift()
            self._idle += laboratory.faults.take_idle()

        self._runner.call(work)

    def end(self) -> None:
        """Keeps what is told of it, and nothing else: pytest holds on to this until its run ends."""
        self._ended = self.section
        del self._runner, self._cluster


def _uses(item: pytest.Item, runner: InThread, cluster: Cluster) -> Used:
    """Notes that a test uses a cluster."""
    used = Used(runner, cluster)
    item.stash[USED].append(used)
    return used


def _judge(item: pytest.Item, used: Used, stop: Callable[[], list[str]], violations: list[str]) -> None:
    """Reports what a test has left held, and fails it if something happened that must never happen."""
    used.end()
    for line in used.left + stop():
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
USED = pytest.StashKey[list["Used"]]()
