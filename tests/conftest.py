"""What all tests share: the new seeds of a run, which are named at its end, what the broker logs, a certificate."""

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

LONGEST_ID = 100
"""Characters, or bytes, of a parameter that stands in a test's name."""


def pytest_configure() -> None:
    choose_new_seeds()
    take_away()
    # kafka-python's threads log tracebacks, for which Python 3.11 parses lines of code: beside a test that parses code,
    # too, one of them fails with a SystemError (python/cpython#106905).
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
    """What is collected is no garbage, and is never looked at again: that took a seventh of a run's time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """What is long is named by its length: processes send each other the names of all tests, and one was 26 MB long."""
    if isinstance(val, str | bytes) and len(val) > LONGEST_ID:
        return f"{argname} of {len(val)}"
    return None


@pytest.hookimpl(tryfirst=True)  # pytest-xdist looks for groups after this
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Programs of others may be too slow once on a busy machine: such a test is asked twice, and the summary says so.

    What runs on a clock of our own is asked once. `-p no:rerunfailures` asks everything once.
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
        terminalreporter.section(f"asked twice, because: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)


@pytest.fixture
def lines() -> Iterator[StringIO]:
    """What the broker logs."""
    stream = StringIO()
    log.configure(level="info", stream=stream)
    yield stream
    log.configure()


@pytest.fixture(autouse=True)
def _nobody_is_left_behind() -> Iterator[None]:
    """Fails the test that leaves a client of kafka-python open: its thread would trouble the tests that follow."""
    before = set(threading.enumerate())
    yield
    left = [thread.name for thread in set(threading.enumerate()) - before if thread.name.startswith("kafka-io-")]
    assert not left, f"these clients of kafka-python were not closed: {', '.join(left)}"


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """43 groups in trouble on a real three-broker Kafka 4.3."""
    return unpacked_recording(tmp_path_factory.mktemp("recording"))


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key."""
    if shutil.which("openssl") is None:
        lacks("openssl")
    file = tmp_path_factory.mktemp("tls") / "broker.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=broker", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", str(file.with_suffix(".key")), "-out", str(file)],
        check=True, capture_output=True,
    )  # fmt: skip
    return file
