"""Modules that a plain broker must not load until it is ready, since each would delay a test's start."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from tempfile import TemporaryFile

import pytest

NOT_AT_START = {
    "click": "reads every command line but the usual ones",
    "encodings.idna": "encodes names of hosts",
    "email": "importlib.metadata brings it",
    "fastapi": "only --control needs it",
    "hypothesis.core": "kio would describe its types to it",
    "http": "only --control and tokens need it",
    "json": "commands print with it, and the event log",
    "inspect": "asyncio and dataclasses import it",
    "kio.index": "would find kio's module of a version, which follows from its name",
    "kio.serial._serialize": "writes rare answers",
    "kio.static.protocol": "names types of kio",
    "kohort.coordinator.consumer.consumer_group": "only groups of the consumer protocol need it",
    "kohort.groups": "only --control reads views of groups",
    "kohort.coordinator.transactions.ending": "only transactions need it",
    "platform": "uuid would ask it for the system's name",
    "rich": "structlog would draw tracebacks with it",
    "_ssl": "asyncio and uvloop would load it",
    "structlog": "loaded with the first log line",
    "tempfile": "not needed",
    "traceback": "asyncio and logging show mistakes with it",
    "typing_extensions": "kio names a type of it",
    "xxhash": "only groups of the consumer protocol need it",
}
"""Modules, and why one might think that they are needed."""

LISTENS_WITH_TLS = """
from kohort.base.lean_imports import load_event_loop
load_event_loop()
import asyncio, ssl, uvloop

async def listens():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=context)

uvloop.run(listens())
"""


def loaded_by_a_broker(*options: str) -> set[str]:
    """Return the modules that a broker has loaded, or tried to load, when it is ready."""
    serve = "-m", "kohort", "serve", "--listen", "127.0.0.1:0", "--profile", "test", *options
    command = [sys.executable, "-X", "importtime", *serve]
    with (
        TemporaryFile("w+") as told,  # more than a pipe holds
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline().startswith("READY")
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        told.seek(0)
        return set(re.findall(r"^import time:.*\| +([\w.]+)$", told.read(), re.MULTILINE))


def test_plain_broker_loads_little() -> None:
    loaded = loaded_by_a_broker()
    assert {"uvloop", "kohort.broker.runtime.server"} <= loaded
    assert loaded & NOT_AT_START.keys() == set()


def test_control_address_loads_no_typing_tools() -> None:
    loaded = loaded_by_a_broker("--control", "127.0.0.1:0")
    assert "kohort.control.http.listening" in loaded
    assert "hypothesis.core" not in loaded


def test_classic_member_loads_no_consumer_modules() -> None:
    code = "import sys, kohort.broker.apis.join_group, kohort.broker.apis.sync_group; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    serving = "kohort.coordinator.group_conversion", "kohort.coordinator.consumer.classic_members"
    assert "kohort.coordinator.classic.classic_requests" in loaded
    assert set(serving).isdisjoint(loaded)


def listening_with_tls(before: str) -> str:
    """Return the error of listening with TLS in one line, or an empty text."""
    code = f"import sys\n{before}\n{LISTENS_WITH_TLS}"
    ended = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, check=False)
    return "".join(ended.stderr.splitlines()[-1:])


def test_plain_loop_rejects_tls() -> None:
    assert listening_with_tls("") == "TypeError: ssl argument must be an SSLContext or None"


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("import ssl", id="a context exists already"),
        pytest.param(
            "import kohort.base.lean_imports as lean\ndel lean._NoTls.__getattr__",
            id="an uvloop that wants more than the names known here",
        ),
    ],
)
def test_tls_loop_listens_with_tls(before: str) -> None:
    assert listening_with_tls(before) == ""
