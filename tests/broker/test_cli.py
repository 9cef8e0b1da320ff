"""The command line as a user sees it."""

import os
import signal
import socket
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from kohort.cli.commands import main

KOHORT = [sys.executable, "-m", "kohort.cli"]


LOADED_LATER = ("kohort.security.sasl", "kohort.security.stores", "kohort.security.scram", "cryptography", "jwt")
"""What only listeners that ask for logins or speak TLS need."""


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*KOHORT, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | environment,
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--set", "group.max.sise=5"), "did you mean group.max.size"),
        (("--set", "kohort.as.kafka=4.5"), "kohort.as.kafka=4.5 is not allowed: it must be one of 1.1, 2.4, 2.8"),
        (("--listen", "localhost"), "localhost is not an address; expected HOST:PORT or PORT"),
        (("--topic", "orders:six"), "--topic orders:six: expected NAME:PARTITIONS"),
        (("--topic", "orders:6", "--topic", "orders:3"), "--topic orders is given with 6 and with 3 partitions"),
        (("--topic", "a/b:1"), "--topic a/b: "),
        (("--topic", "audit:1:cleanup.policy=compat"), "--topic audit: Invalid value compat"),
        (("--listen", "127.0.0.1:65535", "--nodes", "2"), "need ports above 65535"),
        (("--advertise", "a,b"), "--advertise names 2 addresses, and there is 1 node"),
        (("--set", "listeners=SSL://127.0.0.1:0"), "ssl.keystore.location is not set"),
        (
            ("--listen", ":0", "--set", "listeners=PLAINTEXT://:0"),
            "--listen and listeners both define where clients connect",
        ),
        (("--add-scram", "alice"), "--add-scram requires listeners to be set, or no user can log in"),
        (("--control", "here"), "here is not an address; expected HOST:PORT or PORT"),
        (("--control", "0.0.0.0:0"), "could control this broker; set a token with KOHORT_CONTROL_TOKEN"),
        (("--control", ":0", "--control-token", "s3cret\n"), "the control token begins or ends with a blank"),
    ],
)
def test_usage_errors_exit_with_2(arguments: tuple[str, ...], sentence: str) -> None:
    ended = run("serve", *arguments)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert sentence in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("release", ["4.5", "4.4.0", "", "newest"])
def test_unknown_kafka_release(release: str) -> None:
    ended = run("serve", "--as-kafka", release)
    assert ended.returncode == 2
    assert f"'{release}' is not one of '1.1', '2.4', '2.8', '3.4', '3.9', '4.3', '4.4'" in ended.stderr


def test_misspelled_command_suggestion() -> None:
    ended = run("serv")
    assert ended.returncode == 2
    assert "Did you mean 'serve'?" in ended.stderr


def test_port_in_use_message() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run("serve", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert ended.returncode == 2
    assert "is in use; stop the process that listens there, or use another port" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serving_until_a_signal(number: signal.Signals) -> None:
    command = [*KOHORT, "serve", "--listen", "127.0.0.1:0", "--nodes", "2", "--set", "log.dirs=/tmp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready.startswith("READY bootstrap=127.0.0.1:")
        addresses = ready.removeprefix("READY bootstrap=").strip().split(",")
        assert len(addresses) == 2
        assert run("health", addresses[1]).returncode == 0
        process.send_signal(number)
        rest, logged = process.communicate(timeout=120)
        assert process.returncode == 0
        assert rest == "", "one line on stdout, no more"
        assert "log.dirs has no effect in kohort" in logged
    assert run("health", addresses[0]).returncode == 1


def test_missing_control_extra_message(tmp_path: Path) -> None:
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError('no fastapi', name='fastapi')")
    ended = run("serve", "--control", ":0", PYTHONPATH=str(tmp_path))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "kohort: --control needs fastapi, which is not installed; run pip install 'kohort[control]'\n"
    )


def test_broker_without_control_loads_none() -> None:
    code = "import sys, kohort.broker.runtime.run, kohort.cli.serve; sys.exit('fastapi' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_plain_broker_loads_no_security() -> None:
    code = (
        "import sys, kohort.cli.serve\n"
        "from tests.support.broker import Broker\n"
        "client = Broker().client()\n"
        "client.asks('metadata', 9, topics=()), client.asks('api_versions', 0)\n"
        "print(*sorted(each for each in sys.modules if each.startswith(('kohort.security.', 'cryptography', 'jwt'))))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parents[2]
    ).stdout
    loaded = output.split()
    assert "kohort.security.principal" in loaded
    assert [each for each in loaded if each.startswith(LOADED_LATER)] == []


@pytest.mark.long
def test_administers_running_cluster() -> None:
    command = [*KOHORT, "serve", "--listen", "127.0.0.1:0", "--nodes", "2", "--profile", "test", "--control", ":0"]
    command += ["--log-level", "debug"]  # not even then the token
    environment = os.environ | {"KOHORT_CONTROL_TOKEN": "s3cret"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        bootstrap, _, control = process.stdout.readline().strip().partition(" control=")
        second = bootstrap.split(",")[1]

        def admin(*words: str, token: str = "s3cret") -> tuple[int, str]:
            ended = run("admin", *words, "--control", control, KOHORT_CONTROL_TOKEN=token)
            return ended.returncode, (ended.stdout or ended.stderr).strip()

        port = second.rpartition(":")[2]
        moved = (0, "__consumer_offsets-7 is led by node 1, leader epoch 1")
        assert admin("move-leader", "__consumer_offsets", "7", "1") == moved
        assert admin("stop-node", "2") == (0, f"node 2 is stopped (port {port})")
        assert run("health", second).returncode == 1
        assert admin("stop-node", "2") == (1, "kohort: node 2 is stopped already")
        assert "stopped" in admin("nodes")[1]
        with socket.create_server(("127.0.0.1", int(port))):
            code, told = admin("start-node", "2")
            assert code == 1
            assert told.startswith(f"kohort: node 2 cannot start: 127.0.0.1:{port} is in use")
        assert admin("start-node", "2") == (0, f"node 2 is running (port {port})")
        assert run("health", second).returncode == 0
        assert admin("nodes", token="wrong")[0] == 1
        assert admin("move-leader", "__consumer_offsets", "first", "1")[0] == 2
        process.terminate()
        _, logged = process.communicate(timeout=120)
        assert process.returncode == 0
        assert "s3cret" not in logged
        assert "[error" not in logged
    code, told = admin("nodes")
    assert code == 1
    assert told.startswith(f"kohort: cannot reach a control address at {control}")
    assert "kohort serve --control" in told


def test_help_and_version_and_settings() -> None:
    assert "serve" in run("--help").stdout
    assert run("--version").stdout.startswith("kohort ")
    assert "group.min.session.timeout.ms=10\n" in run("settings", "--profile", "test").stdout
    assert run("health", "nonsense").returncode == 2


@pytest.mark.long
@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_streams_do_not_matter(closed: tuple[int, ...], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    closing = " ".join(f"{number}{'>' if number else '<'}&-" for number in closed)
    events = tmp_path / "events"
    command = f"exec {' '.join(KOHORT)} serve --listen {address} --control :0 --event-log {events} {closing}"
    with subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for _ in range(100):
            if run("health", address).returncode == 0:
                break
        process.terminate()
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, "libuv aborts where it is handed one of the three numbers"
    assert out.startswith(b"READY") == (1 not in closed)
    assert err.endswith(b"stopped\n") == (2 not in closed)


@pytest.mark.parametrize("command", [("health", "127.0.0.1:1"), ("ctl", "groups", "list"), ("watch", "127.0.0.1:1")])
def test_other_commands_need_no_streams_either(command: tuple[str, ...]) -> None:
    request = f"exec {' '.join(KOHORT)} {' '.join(command)} <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", request], timeout=120, check=False).returncode == 1


def test_full_disk_on_stdout_message() -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run([*KOHORT, "settings"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "kohort: cannot write: No space left on device\n")


@pytest.mark.long
def test_unread_pipe_does_not_block() -> None:
    # prints more than the 64 KiB that a pipe holds
    command = [*KOHORT, "serve", "--listen", "127.0.0.1:0", "--log-level", "debug"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        ready = process.stdout.readline().decode()
        address = ready.removeprefix("READY bootstrap=").strip()
        host, port = address.split(":")
        for _ in range(1_500):
            with socket.create_connection((host, int(port)), 10) as stranger:
                stranger.sendall(b"\xff" * 16)
                assert stranger.recv(1) == b"", "hung up on, and a line in the log"
        assert run("health", address).returncode == 0
        process.terminate()
        assert process.wait(timeout=120) == 0
        assert process.stderr is not None
        assert len(process.stderr.read()) > 60_000, "what the pipe held was written"


def test_ascii_terminal_shows_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    # rich would fail with UnicodeEncodeError on its arrows and dashes
    shown = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(shown, "ascii"))
    main(["settings"], standalone_mode=False)
    print("a → b", flush=True)
    assert shown.getvalue().endswith(b"a \\u2192 b\n")


def test_secured_broker_option(tmp_path: Path) -> None:
    command = [*KOHORT, "serve", "--listen", "127.0.0.1:0", "--profile", "test", "--secure", str(tmp_path / "made")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        address = broker.stdout.readline().split()[1].removeprefix("bootstrap=")
        login = ["--command-config", str(tmp_path / "made" / "alice.properties")]
        watched = run("watch", address, "--once", *login)
        plain = run("health", address)
        broker.terminate()
        broker.wait(120)
    assert (watched.returncode, "1 broker, 0 groups" in watched.stdout) == (0, True)
    assert plain.returncode == 1
    assert (tmp_path / "made" / "alice.pem").stat().st_mode & 0o077 == 0


def test_conflicting_listener_options_are_rejected(tmp_path: Path) -> None:
    ended = run("serve", "--secure", str(tmp_path), "--set", "listeners=SSL://127.0.0.1:0")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "kohort: --secure and listeners both define where clients connect; use one of them\n"
