"""The command, as somebody at a terminal meets it."""

import signal
import socket
import subprocess
import sys

import pytest

KOHORT = [sys.executable, "-m", "kohort.broker"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*KOHORT, *arguments], capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--set", "group.max.sise=5"), "did you mean group.max.size"),
        (("--listen", "9092"), "9092 is no address; write HOST:PORT"),
        (("--listen", "127.0.0.1:65535", "--nodes", "2"), "need ports beyond 65535"),
    ],
)
def test_mistakes_end_with_one_sentence_and_exit_code_2(arguments: tuple[str, ...], sentence: str) -> None:
    ended = run("serve", *arguments)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert sentence in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_port_in_use_is_told_with_a_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run("serve", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert ended.returncode == 2
    assert "is in use; stop what listens there, or choose another port" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serving_until_told_to_stop(number: signal.Signals) -> None:
    command = [*KOHORT, "serve", "--listen", "127.0.0.1:0", "--nodes", "2", "--set", "log.dirs=/tmp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready.startswith("READY bootstrap=127.0.0.1:")
        addresses = ready.removeprefix("READY bootstrap=").strip().split(",")
        assert len(addresses) == 2
        assert run("health", addresses[1]).returncode == 0
        process.send_signal(number)
        rest, logged = process.communicate(timeout=30)
        assert process.returncode == 0
        assert rest == "", "one line on stdout, no more"
        assert "log.dirs has no meaning here" in logged
    assert run("health", addresses[0]).returncode == 1


def test_help_and_version_and_settings() -> None:
    assert "serve" in run("--help").stdout
    assert run("--version").stdout.startswith("kohort ")
    assert "group.min.session.timeout.ms=10\n" in run("settings", "--profile", "test").stdout
    assert run("health", "nonsense").returncode == 2
