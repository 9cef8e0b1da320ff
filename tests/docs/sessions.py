"""Runs the console blocks of a page in order, as a reader would, and compares their output."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path

from tests.docs.blocks import Block
from tests.pipeline.incidents.recorded import unpacked

MAX_COMMAND_S = 120.0
_PLACES = (
    ("9092", "9093", "9094"),
    ("19092",),
    ("9099",),
    ("broker-1:9092", "broker-2:9092"),
    ("broker-1:9093",),
    ("staging-1:9092",),
)  # ports of the pages and addresses of a reader's clusters, which a test replaces; those of one line by ports in a row
_READY = ("kohort serve", "kohort proxy", "kohort watch")  # print a line when they are ready, also for Ctrl-C
_LISTEN = re.compile(r"--listen \S+")  # a command stops those that listen at the same address, and their clients
_SERVER = re.compile(r"kohort (serve|proxy|watch(?!.* --once)|consume(?!.* -(e|c|o e@)\b))\b")  # runs until Ctrl-C
_READER = re.compile(r"kohort (analyze events|replay \S+(?= --|$))")  # a reader stops the other terminals before it
_FAILS = "pytest"  # its exit code is 1 if a test shows a bug


class Session:
    """The terminals of one reader, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: list[tuple[str, subprocess.Popen[str]]] = []
        self._places = _replacements()
        self._environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"} | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "KOHORT_CONTROL": f"127.0.0.1:{self._places['9099']}",
            "KOHORT_BOOTSTRAP": f"127.0.0.1:{self._places['9092']}",
            "PYTHONDONTWRITEBYTECODE": "1",  # a cached module could be older than a file that was just replaced
        }

    def play(self, block: Block) -> None:
        """Write the file that a block contains, or run its commands and compare their output."""
        for command in block.preparation:
            self._prepare(command)
        if block.title:
            (self._folder / block.title).write_text(block.text)
            return
        for command, expected in commands_of(block.text):
            if command.startswith("pip install"):
                continue  # the environment of the tests has it
            if _READER.match(command):
                self.stop()
            output = self._perform(command)
            expected = self._replaced(expected)
            assert matches(expected, output), f"{block}: $ {command}\nexpected:\n{expected}\nreceived:\n{output}"

    def _prepare(self, command: str) -> None:
        if command.startswith("recording "):
            unpacked(command.split()[1], self._folder)
        else:
            self._perform(command)

    def _perform(self, command: str) -> str:
        """Return the output of a command, or the ready line of one that runs until Ctrl-C, or nothing."""
        return self._start(command) if _SERVER.match(command) else self._run(command)

    def _run(self, command: str) -> str:
        run = subprocess.run(
            self._replaced(command),
            shell=True,
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=MAX_COMMAND_S,
        )
        assert run.returncode == 0 or command.startswith(_FAILS), f"$ {command}\n{run.stdout}{run.stderr}"
        return run.stdout or run.stderr

    def _start(self, command: str) -> str:
        """Start a command, and return its first line if it prints one when it is ready."""
        command, _, _ = command.partition("  #")
        if command.startswith("kohort serve") and "--listen" not in command:
            command += " --listen 127.0.0.1:9092"
        listens = _LISTEN.search(command)
        if listens and any(listens[0] in running for running, _ in self._running):
            self.stop()
        process = subprocess.Popen(
            f"exec {self._replaced(command)}",  # the shell's process becomes the command's, which receives the signal
            shell=True,
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._running.append((command, process))
        assert process.stdout is not None
        return process.stdout.readline() if command.startswith(_READY) else ""

    def stop(self) -> None:
        """Send SIGINT to each process, as Ctrl-C does, the last one first."""
        while self._running:
            _, process = self._running.pop()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=MAX_COMMAND_S)

    def _replaced(self, text: str) -> str:
        names = "|".join(sorted(map(re.escape, self._places), key=len, reverse=True))
        return re.sub(rf"\b({names})\b", lambda match: self._places[match[0]], text)


def commands_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with its output."""
    command = ""
    text = text.replace("\\\n", "")
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


def _replacements() -> dict[str, str]:
    """Return a free port for each port of the pages, and an address for each of the reader's brokers."""
    return {
        name: str(port) if name.isdecimal() else f"127.0.0.1:{port}"
        for names in _PLACES
        for name, port in zip(names, _free_ports(len(names)), strict=True)
    }


def _free_ports(count: int) -> range:
    """Return consecutive free ports."""
    while True:
        with ExitStack() as sockets:
            first = sockets.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            try:
                for port in range(first + 1, first + count):
                    sockets.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return range(first, first + count)
