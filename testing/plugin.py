"""Pytest plugin with clusters as fixtures. It is installed with kohort and loaded by pytest itself.

    @pytest.mark.kafka(nodes=3, settings={"group.max.size": 2})
    async def test_orders(kafka): ...

`kafka` is a fresh cluster for each test; `kafka_module`, `kafka_package` and `kafka_session` are shared by several
tests. `kafka_factory` creates any number of clusters. Their options come from `kafka_nodes`, `kafka_profile` and
`kafka_settings` in pytest's configuration, the mark `kafka`, and the parameter of the fixture; the last one wins.
Clusters run in a thread. A coroutine test awaits calls that take time (`await group.wait_stable()`); in any other test
the same calls block.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

import pytest

from kohort.base.visible import visible

if TYPE_CHECKING:
    from kohort.testing import Cluster
    from kohort.testing.remote import InThread

MARK = "kafka"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[ENDED] = []
    config.stash[SHARED] = {}
    config.addinivalue_line(
        "markers",
        "kafka(nodes=1, profile='test', as_kafka=None, seed=None, settings=None, safety=Budget(), security=None): "
        "options of the cluster of the fixture `kafka`",
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and settings of the fixtures."""
    group = parser.getgroup("kohort")
    group.addoption(
        "--kafka-seed", type=int, default=None, metavar="N", help="seed of all clusters without one of their own"
    )
    group.addoption("--kafka-proxy", default=None, metavar="HOST:PORT,...", help="the cluster behind `kafka_proxy`")
    parser.addini("kafka_proxy", "the cluster behind the fixture kafka_proxy, HOST:PORT", default="")
    parser.addini("kafka_proxy_config", "a file of client properties for the proxy's login", default="")
    parser.addini("kafka_nodes", "nodes of each cluster that kohort's fixtures start", default="")
    parser.addini("kafka_profile", "their profile: test or faithful", default="")
    parser.addini("kafka_settings", "their settings, NAME=VALUE by Kafka's names", type="linelist", default=[])


@pytest.fixture(scope="session")
def _kafka_thread(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The thread of all clusters of fixtures: one for each process, as with pytest-xdist."""
    from kohort.testing.remote import Thread

    with _refused_in_a_sentence():
        thread = Thread()
    yield thread
    request.config.stash[ENDED].append(thread.stop)


@pytest.fixture
def kafka(request: pytest.FixtureRequest, _kafka_thread: Any) -> Iterator[Any]:
    """A fresh cluster for this test, with the options of its mark `kafka`. See `kohort.testing.Cluster`."""
    with _refused_in_a_sentence():
        options = _options(request.config, request.node.get_closest_marker(MARK), getattr(request, "param", None))
        handed_out, end = _own(request, _kafka_thread, options)
    yield handed_out
    end()


@pytest.fixture
def kafka_factory(request: pytest.FixtureRequest, _kafka_thread: Any) -> Iterator[Callable[..., Any]]:
    """Factory of clusters for this test: `kafka_factory(nodes=3)`, with the options of the mark `kafka`."""
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
    """A proxy in front of an existing cluster, for this test. See `kohort.testing.Proxy`."""
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
    """Return the configured proxy. Raise ControlError if no cluster is configured."""
    from kohort.control.control_errors import ControlError
    from kohort.testing import Proxy

    bootstrap = config.getoption("kafka_proxy") or config.getini("kafka_proxy")
    if not bootstrap:
        raise ControlError("kafka_proxy requires a cluster; set --kafka-proxy HOST:PORT, or kafka_proxy in pytest.ini")
    return Proxy(bootstrap, command_config=config.getini("kafka_proxy_config") or None)


def _own(request: pytest.FixtureRequest, thread: Any, options: dict[str, Any]) -> tuple[Any, Callable[[], None]]:
    """Start a cluster for one test. Return its object for the test, and the function that ends it."""
    runner, cluster, handed_out = _started(thread, options)
    used = _uses(request.node, runner, cluster)

    def end() -> None:
        violations = runner.call(lambda: list(cluster.laboratory.safety.finish() if cluster.laboratory.safety else ()))
        used.lift()
        request.config.stash[ENDED].append(runner.stop)
        _judge(request.node, used, used.held_gates, violations)

    return handed_out, end


def _shared(scope: Any, tests: str) -> Any:
    """Return the fixture of a cluster that several tests share."""

    def fixture(request: pytest.FixtureRequest, _kafka_thread: Any) -> Iterator[Any]:
        mark = None if scope == "session" else request.node.get_closest_marker(MARK)
        with _refused_in_a_sentence():
            options = _options(request.config, mark, getattr(request, "param", None))
            runner, cluster, handed_out = _started(_kafka_thread, options)
        request.config.stash[SHARED][id(handed_out)] = runner, cluster
        yield handed_out
        del request.config.stash[SHARED][id(handed_out)]
        request.config.stash[ENDED].append(runner.stop)

    fixture.__doc__ = f"""One cluster for {tests}; tests must use different names of groups and topics.

    After each test that uses it, rules and gates are removed, and the clock runs.
    """
    return pytest.fixture(scope=scope, name=f"kafka_{scope}")(fixture)


kafka_session = _shared("session", "the whole run")
kafka_package = _shared("package", "all tests of a package")
kafka_module = _shared("module", "all tests of a module")


@pytest.fixture
def _kafka_of_this_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """One test's part in shared clusters; `pytest_itemcollected` adds it to tests that use one."""
    names = [name for name in SHARED_NAMES if name in request.fixturenames]
    _refuse_idle_mark(request, names)
    shared = [request.config.stash[SHARED][id(request.getfixturevalue(name))] for name in names]
    using = [(_uses(request.node, *pair), *pair) for pair in shared]
    yield
    for used, runner, cluster in using:
        held_gates, violations = runner.call(cluster.laboratory.reset)
        _judge(request.node, used, used.held_gates + held_gates, violations)


def _refuse_idle_mark(request: pytest.FixtureRequest, names: list[str]) -> None:
    """Fail a test whose mark has no effect."""
    if {"kafka", "kafka_factory"} & set(request.fixturenames):
        return
    heeds_modules = names != ["kafka_session"]
    marks = request.node.own_markers if heeds_modules else list(request.node.iter_markers(MARK))
    if any(mark.name == MARK for mark in marks):
        hint = " A mark of the module can: `pytestmark = pytest.mark.kafka(…)`." if heeds_modules else ""
        pytest.fail(
            f"@pytest.mark.kafka configures the fixture `kafka`; `{names[-1]}` is one cluster for several tests, "
            f"which the mark of one test cannot configure.{hint} Use `kafka` here, or remove the mark",
            pytrace=False,
        )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Remove a test's rules and gates of a shared cluster after its own fixtures."""
    names: list[str] = getattr(item, "fixturenames", [])
    if END not in names and not SHARED_NAMES.isdisjoint(names):
        names.insert(0, END)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forget the clusters of an earlier run of the test."""
    item.stash[USED] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """End rules and open gates after the test function, before fixtures such as consumers that leave."""
    try:
        return (yield)
    finally:
        for used in item.stash.get(USED, ()):
            used.lift()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Stop clusters after all other fixtures, because clients would wait forever for a stopped cluster."""
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
    """Print, for a failed test, the events in its groups and how to repeat them."""
    report = yield
    if report.failed:
        report.sections += [used.section for used in item.stash.get(USED, ())]
    return report


class Used:
    """Cluster that a test uses, with its report."""

    def __init__(self, item: pytest.Item, runner: InThread, cluster: Cluster) -> None:
        self._runner = runner
        self._cluster = cluster
        self._idle: list[str] = []
        self._since_us = runner.call(lambda: cluster.laboratory.clock.now_us())
        self._ended: tuple[str, str] | None = None
        self._awaits = _awaits(item)
        self.held_gates: list[str] = []  # a line for each gate that the test has left held
        self.unawaited: list[str] = []  # a sentence for each call of a synchronous test that did not wait

    @property
    def section(self) -> tuple[str, str]:
        """Title and text for the report of a failed test."""
        if self._ended is not None:
            return self._ended
        seed = self._cluster.seed
        text = "\n".join([self._runner.call(lambda: self._cluster.timeline(self._since_us)), *self._idle])
        return f"kafka, seed {seed} (repeat with --kafka-seed {seed})", text

    def lift(self) -> None:
        """Remove the test's rules and gates."""

        def work() -> None:
            laboratory = self._cluster.laboratory
            self.held_gates += laboratory.lift()
            self._idle += laboratory.faults.take_idle()

        self._runner.call(work)

    def end(self) -> None:
        """Keep only the report, because pytest keeps this object until its run ends."""
        self._ended = self.section
        unawaited = self._runner.take_unawaited()
        self.unawaited = [] if self._awaits else unawaited  # Python itself warns a coroutine of an await that it forgot
        del self._runner, self._cluster


def _awaits(item: pytest.Item) -> bool:
    """Return whether a test is a coroutine. Plugins replace its function by a plain one when they run it."""
    return iscoroutinefunction(getattr(item, "obj", None))


def _uses(item: pytest.Item, runner: InThread, cluster: Cluster) -> Used:
    """Note that a test uses a cluster."""
    used = Used(item, runner, cluster)
    item.stash[USED].append(used)
    return used


def _judge(item: pytest.Item, used: Used, held_gates: list[str], violations: list[str]) -> None:
    """Warn about gates that a test left held, and fail it after a violation, or a call that did not wait."""
    used.end()
    for line in held_gates:
        item.warn(pytest.PytestWarning(visible(line)))
    if violations:
        pytest.fail("safety violation: " + visible("; ".join(violations)), pytrace=False)
    if used.unawaited:
        pytest.fail(visible("; ".join(used.unawaited)), pytrace=False)


@contextmanager
def _refused_in_a_sentence() -> Iterator[None]:
    """Fail a test with an invalid mark, parameter or configuration, without a traceback of kohort."""
    from kohort.broker.settings.broker_settings import SettingError
    from kohort.control.control_errors import ControlError

    try:
        yield
    except (ControlError, SettingError) as problem:
        pytest.fail(visible(str(problem)), pytrace=False)


def _started(thread: Any, options: dict[str, Any]) -> tuple[InThread, Cluster, Any]:
    """Start a cluster. Return the handle of its thread, the cluster, and the object for the test."""
    from kohort.testing import Cluster
    from kohort.testing.remote import AwaitsOrWaits, InThread

    cluster = Cluster(**options)
    runner = InThread(cluster, thread)
    return runner, cluster, runner.start(AwaitsOrWaits)


def _options(config: pytest.Config, mark: pytest.Mark | None, param: object) -> dict[str, Any]:
    """Merge the options from the configuration, a mark and a fixture's parameter; the last one wins."""
    from kohort.control.control_errors import ControlError, unknown

    options = _configured(config)
    if mark is not None:
        options |= mark.kwargs
        if mark.args:
            options["nodes"], *more = mark.args
            if more:
                raise ControlError(
                    f"@pytest.mark.kafka accepts only nodes as a positional argument; pass {more[0]!r} by name"
                )
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
            raise ControlError(f"kafka_nodes in pytest's configuration must be an integer, got {nodes!r}")
        options["nodes"] = int(nodes)
    if profile:
        options["profile"] = profile
    pairs = [line.partition("=") for line in config.getini("kafka_settings")]
    for name, equals, _ in pairs:
        if not equals:
            raise ControlError(f"kafka_settings in pytest's configuration must be NAME=VALUE, got {name!r}")
    if pairs:
        options["settings"] = {name.strip(): value.strip() for name, _, value in pairs}
    return options


OPTIONS = ("nodes", "profile", "as_kafka", "seed", "settings", "safety", "host", "security")
SHARED_NAMES = frozenset({"kafka_session", "kafka_package", "kafka_module"})
END = "_kafka_of_this_test"
USED = pytest.StashKey[list["Used"]]()
ENDED = pytest.StashKey[list[Callable[[], object]]]()
"""Functions that stop the clusters, and finally the thread, of fixtures that have ended."""
SHARED = pytest.StashKey[dict[int, tuple["InThread", "Cluster"]]]()
"""Shared clusters by the identity of their objects for tests."""
