"""The pytest plugin: clusters as fixtures. Installed with kohort, loaded by pytest itself.

    @pytest.mark.kafka(nodes=3, settings={"group.max.size": 2})
    async def test_orders(kafka): ...

`kafka` is a fresh cluster for each test; `kafka_module`, `kafka_package` and `kafka_session` serve several tests.
`kafka_factory` makes as many as a test wants. What they start is said by `kafka_nodes`, `kafka_profile` and
`kafka_settings` in pytest's configuration, by the mark `kafka`, and by a parameter of the fixture, the last one first.
Clusters run in a thread. A test that is a coroutine awaits what takes its time (`await group.wait_stable()`); to any
other the same words just take it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

import pytest

from kohort.protocol.visible import visible

if TYPE_CHECKING:
    from kohort.testing import Cluster
    from kohort.testing.remote import InThread

MARK = "kafka"


def pytest_configure(config: pytest.Config) -> None:
    """Registers the mark."""
    config.stash[ENDED] = []
    config.stash[SHARED] = {}
    config.addinivalue_line(
        "markers",
        "kafka(nodes=1, profile='test', as_kafka=None, seed=None, settings=None, safety=Budget(), security=None): "
        "what the fixture `kafka` starts",
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--kafka-seed N` repeats what a seed gave; the others say what fixtures start."""
    group = parser.getgroup("kohort")
    group.addoption(
        "--kafka-seed", type=int, default=None, metavar="N", help="seed of all clusters that are not given another"
    )
    group.addoption(
        "--kafka-proxy", default=None, metavar="HOST:PORT,...", help="the cluster before which `kafka_proxy` stands"
    )
    parser.addini("kafka_proxy", "the cluster before which the fixture kafka_proxy stands, HOST:PORT", default="")
    parser.addini("kafka_proxy_config", "a file of client properties: how the proxy logs in there", default="")
    parser.addini("kafka_nodes", "nodes of each cluster that kohort's fixtures start", default="")
    parser.addini("kafka_profile", "their profile: test or faithful", default="")
    parser.addini("kafka_settings", "their settings, NAME=VALUE by Kafka's names", type="linelist", default=[])


@pytest.fixture(scope="session")
def _kafka_thread(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The thread of all clusters that fixtures make: one for each process, as with pytest-xdist."""
    from kohort.testing.remote import Thread

    with _refused_in_a_sentence():
        thread = Thread()
    yield thread
    request.config.stash[ENDED].append(thread.stop)


@pytest.fixture
def kafka(request: pytest.FixtureRequest, _kafka_thread: Any) -> Iterator[Any]:
    """A fresh cluster for this test, with what its mark `kafka` asks for. See `kohort.testing.Cluster`."""
    with _refused_in_a_sentence():
        options = _options(request.config, request.node.get_closest_marker(MARK), getattr(request, "param", None))
        handed_out, end = _own(request, _kafka_thread, options)
    yield handed_out
    end()


@pytest.fixture
def kafka_factory(request: pytest.FixtureRequest, _kafka_thread: Any) -> Iterator[Callable[..., Any]]:
    """Makes clusters for this test: `kafka_factory(nodes=3)`. It takes what the mark `kafka` takes."""
    ends: list[Callable[[], None]] = []

    def make(*arguments: Any, **options: Any) -> Any:
        mark = pytest.Mark(MARK, arguments, options, _ispytest=True)
        handed_out, end = _own(request, _kafka_thread, _options(request.config, mark, None))
        ends.append(end)
        return handed_out

    yield make
    with ExitStack() as stack:
        for end in ends:
            stack.callback(end)


@pytest.fixture
def kafka_proxy(request: pytest.FixtureRequest, _kafka_thread: Any) -> Iterator[Any]:
    """A proxy before a cluster that is there already, for this test. See `kohort.testing.Proxy`."""
    from kohort.testing.remote import AwaitsOrWaits, InThread

    with _refused_in_a_sentence():
        runner = InThread(_proxy(request.config), _kafka_thread)
        handed_out = runner.start(AwaitsOrWaits)
    awaits = _awaits(request.node)
    yield handed_out
    unawaited = runner.take_unawaited()
    for line in runner.stop():
        request.node.warn(pytest.PytestWarning(visible(line)))
    if unawaited and not awaits:
        pytest.fail(visible("; ".join(unawaited)), pytrace=False)


def _proxy(config: pytest.Config) -> Any:
    """As the command line and the configuration say. Raises ControlError where they name no cluster."""
    from kohort.control.control_errors import ControlError
    from kohort.testing import Proxy

    bootstrap = config.getoption("kafka_proxy") or config.getini("kafka_proxy")
    if not bootstrap:
        raise ControlError(
            "kafka_proxy stands before a cluster; name it with --kafka-proxy HOST:PORT, or in pytest.ini"
        )
    return Proxy(bootstrap, command_config=config.getini("kafka_proxy_config") or None)


def _own(request: pytest.FixtureRequest, thread: Any, options: dict[str, Any]) -> tuple[Any, Callable[[], None]]:
    """Starts a cluster of one test. Returns it as the test sees it, and what ends it."""
    runner, cluster, handed_out = _started(thread, options)
    used = _uses(request.node, runner, cluster)

    def end() -> None:
        violations = runner.call(lambda: list(cluster.laboratory.safety.finish() if cluster.laboratory.safety else ()))
        used.lift()
        request.config.stash[ENDED].append(runner.stop)
        _judge(request.node, used, used.left, violations)

    return handed_out, end


def _shared(scope: Any, tests: str) -> Any:
    """Makes the fixture of a cluster that several tests share."""

    def fixture(request: pytest.FixtureRequest, _kafka_thread: Any) -> Iterator[Any]:
        mark = None if scope == "session" else request.node.get_closest_marker(MARK)
        with _refused_in_a_sentence():
            options = _options(request.config, mark, getattr(request, "param", None))
            runner, cluster, handed_out = _started(_kafka_thread, options)
        request.config.stash[SHARED][id(handed_out)] = runner, cluster
        yield handed_out
        del request.config.stash[SHARED][id(handed_out)]
        request.config.stash[ENDED].append(runner.stop)

    fixture.__doc__ = f"""One cluster for {tests}; tests keep apart by their groups' and topics' names.

    Rules and gates end with each test that uses it, and the clock runs again.
    """
    return pytest.fixture(scope=scope, name=f"kafka_{scope}")(fixture)


kafka_session = _shared("session", "the whole run")
kafka_package = _shared("package", "all tests of a package")
kafka_module = _shared("module", "all tests of a module")


@pytest.fixture
def _kafka_of_this_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """The part of one test in clusters that it shares; `pytest_itemcollected` lets every test have it that uses one."""
    names = [name for name in SHARED_NAMES if name in request.fixturenames]
    _refuse_idle_mark(request, names)
    shared = [request.config.stash[SHARED][id(request.getfixturevalue(name))] for name in names]
    using = [(_uses(request.node, *each), *each) for each in shared]
    yield
    for used, runner, cluster in using:
        left, violations = runner.call(cluster.laboratory.reset)
        _judge(request.node, used, used.left + left, violations)


def _refuse_idle_mark(request: pytest.FixtureRequest, names: list[str]) -> None:
    """Fails a test whose mark nobody heeds."""
    if {"kafka", "kafka_factory"} & set(request.fixturenames):
        return
    heeds_modules = names != ["kafka_session"]
    marks = request.node.own_markers if heeds_modules else list(request.node.iter_markers(MARK))
    if any(mark.name == MARK for mark in marks):
        where = " It heeds a mark of the module: `pytestmark = pytest.mark.kafka(…)`." if heeds_modules else ""
        pytest.fail(
            f"@pytest.mark.kafka says what the fixture `kafka` starts; `{names[-1]}` is one cluster for several tests, "
            f"and takes no mark of one.{where} Use `kafka` here, or leave the mark out",
            pytrace=False,
        )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Lets what a test leaves in the cluster of the run end with it, after its own fixtures."""
    names: list[str] = getattr(item, "fixturenames", [])
    if END not in names and not SHARED_NAMES.isdisjoint(names):
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


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Stops clusters when all fixtures have ended, whatever their order: clients wait for ever for one that is gone."""
    try:
        return (yield)
    finally:
        ended = item.config.stash[ENDED]
        while ended:
            ended.pop(0)()


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

    def __init__(self, item: pytest.Item, runner: InThread, cluster: Cluster) -> None:
        self._runner = runner
        self._cluster = cluster
        self._idle: list[str] = []
        self._since_us = runner.call(lambda: cluster.laboratory.clock.now_us())
        self._ended: tuple[str, str] | None = None
        self._awaits = _awaits(item)
        self.left: list[str] = []
        """A line for each gate that the test has left held."""
        self.unawaited: list[str] = []
        """A sentence for each call of a test that is not a coroutine that did not wait."""

    @property
    def section(self) -> tuple[str, str]:
        """What is told of it when the test failed: its title, and its text."""
        if self._ended is not None:
            return self._ended
        seed = self._cluster.seed
        text = "\n".join([self._runner.call(lambda: self._cluster.timeline(self._since_us)), *self._idle])
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
        unawaited = self._runner.take_unawaited()
        self.unawaited = [] if self._awaits else unawaited  # Python itself warns a coroutine of an await that it forgot
        del self._runner, self._cluster


def _awaits(item: pytest.Item) -> bool:
    """Return whether a test is a coroutine. Plugins replace its function by a plain one when they run it."""
    return iscoroutinefunction(getattr(item, "obj", None))


def _uses(item: pytest.Item, runner: InThread, cluster: Cluster) -> Used:
    """Notes that a test uses a cluster."""
    used = Used(item, runner, cluster)
    item.stash[USED].append(used)
    return used


def _judge(item: pytest.Item, used: Used, left: list[str], violations: list[str]) -> None:
    """Warn about gates that a test left held, and fail it after a violation, or a call that did not wait."""
    used.end()
    for line in left:
        item.warn(pytest.PytestWarning(visible(line)))
    if violations:
        pytest.fail("this must never happen: " + visible("; ".join(violations)), pytrace=False)
    if used.unawaited:
        pytest.fail(visible("; ".join(used.unawaited)), pytrace=False)


@contextmanager
def _refused_in_a_sentence() -> Iterator[None]:
    """Fails a test whose mark, parameter or configuration is wrong, with the sentence and none of our frames."""
    from kohort.broker.settings.broker_settings import SettingError
    from kohort.control.control_errors import ControlError

    try:
        yield
    except (ControlError, SettingError) as problem:
        pytest.fail(visible(str(problem)), pytrace=False)


def _started(thread: Any, options: dict[str, Any]) -> tuple[InThread, Cluster, Any]:
    """A cluster that runs: its thread's end, itself, and what a test is handed out."""
    from kohort.testing import Cluster
    from kohort.testing.remote import AwaitsOrWaits, InThread

    cluster = Cluster(**options)
    runner = InThread(cluster, thread)
    return runner, cluster, runner.start(AwaitsOrWaits)


def _options(config: pytest.Config, mark: pytest.Mark | None, param: object) -> dict[str, Any]:
    """What a cluster is made of, as the configuration, a mark and a fixture's parameter say; the last one counts."""
    from kohort.control.control_errors import ControlError, unknown

    options = _configured(config)
    if mark is not None:
        options |= mark.kwargs
        if mark.args:
            options["nodes"], *more = mark.args
            if more:
                raise ControlError(f"@pytest.mark.kafka takes nodes alone without its name; give {more[0]!r} one")
    if isinstance(param, Mapping):
        options |= param
    elif param is not None:
        options["nodes"] = param
    for name in options:
        if name not in OPTIONS:
            raise unknown("option of @pytest.mark.kafka", name, OPTIONS)
    if options.get("seed") is None:
        options["seed"] = config.getoption("kafka_seed")
    return options


def _configured(config: pytest.Config) -> dict[str, Any]:
    from kohort.control.control_errors import ControlError

    options: dict[str, Any] = {}
    nodes, profile = config.getini("kafka_nodes"), config.getini("kafka_profile")
    if nodes:
        if not nodes.isdecimal():
            raise ControlError(f"kafka_nodes in pytest's configuration is a whole number, not {nodes!r}")
        options["nodes"] = int(nodes)
    if profile:
        options["profile"] = profile
    pairs = [line.partition("=") for line in config.getini("kafka_settings")]
    for name, equals, _ in pairs:
        if not equals:
            raise ControlError(f"kafka_settings in pytest's configuration are NAME=VALUE, not {name!r}")
    if pairs:
        options["settings"] = {name.strip(): value.strip() for name, _, value in pairs}
    return options


OPTIONS = ("nodes", "profile", "as_kafka", "seed", "settings", "safety", "host", "security")
SHARED_NAMES = frozenset({"kafka_session", "kafka_package", "kafka_module"})
END = "_kafka_of_this_test"
USED = pytest.StashKey[list["Used"]]()
ENDED = pytest.StashKey[list[Callable[[], object]]]()
"""What stops the clusters, and at last the thread, of fixtures that have ended."""
SHARED = pytest.StashKey[dict[int, tuple["InThread", "Cluster"]]]()
"""The clusters that several tests share, by the identity of what tests see of them."""
