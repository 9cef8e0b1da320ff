"""Runs the console blocks of a page in order, as a reader would, and compares their output."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tests.docs.blocks import Block

MAX_COMMAND_S = 120.0
_PORTS = ("9092", "19092", "9099")  # ports of the pages, which a test replaces
_SERVERS = ("kohort serve", "kohort proxy", "kohort consume")  # they run until Ctrl-C
_READERS = ("kohort analyze", "kohort replay")  # before them a reader presses Ctrl-C in the other terminals


class Session:
    """The terminals of one reader, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: list[subprocess.Popen[str]] = []
        self._ports = {port: str(_free_port()) for port in _PORTS}
        self._environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"} | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "KOHORT_CONTROL": f"127.0.0.1:{self._ports['9099']}",
            "KOHORT_BOOTSTRAP": f"127.0.0.1:{self._ports['9092']}",
            "PYTHONDONTWRITEBYTECODE": "1",  # a cached module could be older than a file that was just replaced
        }

    def play(self, block: Block) -> None:
        """Write the file that a block contains, or run its commands and compare their output."""
        if block.title:
            (self._folder / block.title).write_text(block.text)
            return
        for command, expected in commands_of(block.text):
            if command.startswith(_READERS):
                self.stop()
            output = self._serve(command) if command.startswith(_SERVERS) else self._run(command)
            expected = self._with_ports(expected)
            assert matches(expected, output), f"{block}: $ {command}\nexpected:\n{expected}\nreceived:\n{output}"

    def _run(self, command: str) -> str:
        words = shlex.split(self._with_ports(command))
        run = subprocess.run(
            words, cwd=self._folder, env=self._environment, capture_output=True, text=True, timeout=MAX_COMMAND_S
        )
        assert run.returncode == 0 or command.startswith("pytest"), run.stdout + run.stderr
        return run.stdout or run.stderr

    def _serve(self, command: str) -> str:
        """Start a command, and return its first line if it prints one when it is ready."""
        listen = " --listen 127.0.0.1:9092" if command.startswith("kohort serve") else ""
        words = shlex.split(self._with_ports(command + listen))
        process = subprocess.Popen(
            words, cwd=self._folder, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._running.append(process)
        assert process.stdout is not None
        return "" if command.startswith("kohort consume") else process.stdout.readline()

    def stop(self) -> None:
        """Send SIGINT to each process, as Ctrl-C does, the last one first."""
        while self._running:
            process = self._running.pop()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=MAX_COMMAND_S)

    def _with_ports(self, text: str) -> str:
        return re.sub(rf"\b({'|'.join(_PORTS)})\b", lambda match: self._ports[match[0]], text)


def commands_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with its output."""
    command = ""
    for is_command, lines in groupby(text.splitlines(keepends=True), lambda line: line.startswith("$ ")):
        if not is_command:
            yield command, "".join(lines)
            command = ""
            continue
        for line in lines:
            if command:
                yield command, ""
            command = line.removeprefix("$ ").strip()
    if command:
        yield command, ""


def matches(expected: str, output: str) -> bool:
    """Return whether an output is as on the page. `…` matches any text, and so does a page without output."""
    pattern = ".*".join(re.escape(part) for part in expected.strip().split("…"))
    return not expected or re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
