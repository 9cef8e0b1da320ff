"""Fixtures and hooks for all tests: new seeds, which the summary lists, the broker's log, a certificate."""

from __future__ import annotations

import gc
import logging
import shutil
import subprocess
import threading
from collections.abc import Generator, Iterator
from io import StringIO
from pathlib import Path

import pytest

from kohort.base.logs import log
from tests.support.absent import take_away
from tests.support.compiled import is_compiled, listed
from tests.support.first_imports import import_in_turn
from tests.support.kafka_recording import unpacked_recording
from tests.support.lacking import lacks, look_for_needs
from tests.support.progress import Progress
from tests.support.scheduling import arrange, check_groups, marks_of
from tests.support.seeds import choose_new_seeds, new_seeds_line

MAX_ID_LENGTH = 100  # characters, or bytes, of a parameter in a test's name


def pytest_configure() -> None:
    choose_new_seeds()
    take_away()
    # kafka-python's threads log tracebacks, for which Python 3.11 parses lines of code. If a test parses code at the
    # same time, one of them fails with a SystemError (python/cpython#106905).
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


def pytest_sessionstart(session: pytest.Session) -> None:
    option = session.config.option
    if getattr(option, "dist", "no") == "loadgroup":
        terminal = session.config.pluginmanager.getplugin("terminalreporter")
        session.config.pluginmanager.register(Progress(terminal.write, quiet=option.verbose > 0))


def pytest_collectstart(collector: pytest.Collector) -> None:
    if isinstance(collector, pytest.Session):
        import_in_turn(collector)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude the collected tests from garbage collection, which took a seventh of a run's time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Replace long values by their length: workers exchange the names of all tests, and one had 26 MB."""
    if isinstance(val, str | bytes) and len(val) > MAX_ID_LENGTH:
        return f"{argname} of {len(val)}"
    return None


@pytest.hookimpl(tryfirst=True)  # pytest-xdist looks for groups after this
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Rerun a failed test once if it uses other programs, which may be slow on a busy machine; the summary lists it.

    Tests with a clock of their own are never rerun. `-p no:rerunfailures` reruns none.
    """
    if config.pluginmanager.hasplugin("rerunfailures"):
        for item in items:
            if not marks_of(item).isdisjoint(("clients", "spark", "libraries")):
                item.add_marker(pytest.mark.flaky(reruns=1))
    arrange(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    check_groups(session.config, session.items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    look_for_needs(item)
    if (plain := item.get_closest_marker("plain")) and any(map(is_compiled, listed())):
        lacks("plain", plain.args[0])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if line := new_seeds_line():
        terminalreporter.write_line(line)
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"rerun after a failure: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)


@pytest.fixture
def lines() -> Iterator[StringIO]:
    """The broker's log."""
    stream = StringIO()
    log.configure(level="info", stream=stream)
    yield stream
    log.configure()


@pytest.fixture(autouse=True)
def _clients_are_closed() -> Iterator[None]:
    """Fail a test that does not close a client of kafka-python: its thread would disturb the tests that follow."""
    old_threads = set(threading.enumerate())
    yield
    running = [thread.name for thread in set(threading.enumerate()) - old_threads]
    unclosed = [name for name in running if name.startswith("kafka-io-")]
    assert not unclosed, f"these clients of kafka-python were not closed: {', '.join(unclosed)}"


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of 43 groups with problems on a real Kafka 4.3 with three brokers."""
    return unpacked_recording(tmp_path_factory.mktemp("recording"))


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key."""
    if shutil.which("openssl") is None:
        lacks("openssl")
    file = tmp_path_factory.mktemp("tls") / "broker.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=broker", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", str(file.with_suffix(".key")), "-out", str(file)],
        check=True, capture_output=True,
    )  # fmt: skip
    return file
