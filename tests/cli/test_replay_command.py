"""`kohort proxy --record` and `kohort replay` as processes: their files, output and exit codes."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kohort.proxy.talk.talk_file import read_talk
from kohort.testing import Cluster
from tests.proxy.talks import BEATS, JOINS
from tests.support.wires import Blocking

KOHORT = Path(sys.executable).parent / "kohort"

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A file with a conversation in it."""
    path = tmp_path / "x.talk"
    path.write_text(JOINS)
    return path


def replayed(*words: str | Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    done = subprocess.run([KOHORT, "replay", *words], capture_output=True, text=True, timeout=90, check=False)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_identical_replay_prints_one_line(talk: Path) -> None:
    assert replayed(talk) == (0, "9 requests of 2 connections: 9 answered as recorded", "")


def test_difference_has_exit_code_1(talk: Path) -> None:
    code, told, problem = replayed(talk, "--set", "group.min.session.timeout.ms=7000")
    assert (code, problem) == (1, "")
    assert told.startswith("x.talk:8: ada/2 JoinGroup v9 {group_id: billing, ")
    assert "\n  received INVALID_SESSION_TIMEOUT" in told


def test_truncated_talk_is_played(talk: Path) -> None:
    talk.write_text(BEATS[:-30])
    code, told, _ = replayed(talk)
    assert (code, told.splitlines()[0]) == (0, "x.talk: it was cut off in line 8; played up to there")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("127.0.0.1:1",), "127.0.0.1:1: nothing listens there; is this the broker's address, and does it run?"),
        (("--rename", "-b"), "--command-config and --rename require a BOOTSTRAP"),
        (("--set", "session"), "--set session: expected --set NAME=VALUE"),
        (
            ("127.0.0.1:1", "--set", "a=b"),
            "--set cannot be combined with a BOOTSTRAP: it configures the broker that is started without one",
        ),
    ],
)
def test_unplayable_talk_message(talk: Path, words: tuple[str, ...], sentence: str) -> None:
    assert replayed(talk, *words) == (2, "", f"kohort: {sentence}")


def test_malformed_talk_message(talk: Path) -> None:
    talk.write_text("# The leader leaves.\n")
    code, _, problem = replayed(talk)
    assert (code, problem.count("\n")) == (2, 0)
    assert problem.startswith("kohort: x.talk is not a recorded conversation")


@pytest.fixture
def _in_the_background() -> Iterator[None]:
    """Return options for a process like one that a shell without job control starts with &."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_in_the_background")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_wait_for_cluster(talk: Path, number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        words: list[str | Path] = [KOHORT, "replay", talk, f"127.0.0.1:{silent.getsockname()[1]}"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process, silent.accept()[0]:
            process.send_signal(number)
            assert process.wait(30) == 130
            assert process.stderr is not None
            assert process.stderr.read() == "kohort: interrupted before the end of x.talk\n"


def test_killed_proxy_leaves_recording(tmp_path: Path) -> None:
    path = tmp_path / "new.talk"
    with (
        Cluster() as kafka,
        subprocess.Popen(
            [KOHORT, "proxy", kafka.bootstrap, "--record", path], stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdout is not None
        wire = Blocking(int(process.stdout.readline().rpartition(":")[2]))
        wire.asks("find_coordinator", 4, coordinator_keys=("g",))
        for _ in range(50):
            wire.asks("heartbeat", 4, group_id="g", generation_id=1, member_id="m")
        until = time.monotonic() + 30
        while path.read_text().count("<- UNKNOWN_MEMBER_ID") < 50 and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
        process.wait()
        wire.close()
    assert len(list(read_talk(path).requests)) == 51
    assert replayed(path) == (0, "51 requests of 1 connection: 51 answered as recorded", "")


def test_recording_replaces_no_file(talk: Path) -> None:
    with Cluster() as kafka:
        words: list[str | Path] = [KOHORT, "proxy", kafka.bootstrap, "--record", talk]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"kohort: {talk} already exists; record to another file, or delete it\n"
    assert talk.read_text() == JOINS
