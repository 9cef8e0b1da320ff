"""A log that never blocks: effects of a full pipe, a closed pipe and a full disk, and their reports."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator

import pytest

from kohort.base import line_writer as module
from kohort.base.line_writer import LineWriter
from kohort.base.logs import Log

PIPE = 1 << 16


class Pipe:
    """A pipe that is full, so that nothing is written before the test reads."""

    def __init__(self) -> None:
        self.reads, self.writes = os.pipe()
        os.set_blocking(self.writes, False)
        try:
            while os.write(self.writes, b"." * 4096):
                pass
        except BlockingIOError:
            pass
        os.set_blocking(self.writes, True)

    def read_until(self, end: bytes) -> bytes:
        """Return everything up to `end`, without the bytes that filled the pipe."""
        read = b""
        while end not in read:
            read += os.read(self.reads, PIPE)
        return read.lstrip(b".")


def put(writer: LineWriter, line: bytes) -> None:
    writer.write(lambda: line, len(line))


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    os.close(made.reads)
    os.close(made.writes)


def test_unread_log_counts_lost_lines(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BYTES_WAITING", 10_000)
    log = Log()
    log.configure(writer=LineWriter(pipe.writes))
    for number in range(1_000):
        log.info(f"line {number:04}")
    read = pipe.read_until(b"or the disk is full\n").decode().splitlines()
    kept = len(read) - 1
    assert [line.partition("[info] ")[2] for line in read[:-1]] == [f"line {number:04}" for number in range(kept)]
    assert 0 < kept < 1_000
    assert f"[warning] log lines dropped here: {1_000 - kept};" in read[-1]
    log.info("and on")
    log.close()
    assert pipe.read_until(b"\n").endswith(b"[info] and on\n")


def test_json_says_it_as_a_value(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BYTES_WAITING", 400)
    log = Log()
    log.configure(writer=LineWriter(pipe.writes), json=True)
    for number in range(10):
        log.info(f"line {number}")
    lines = pipe.read_until(b'"dropped"').splitlines()
    assert json.loads(lines[-1])["dropped"] == 10 - len(lines[:-1])


def test_exit_does_not_wait_for_reader(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAST_LINES_S", 0.0)
    writer = LineWriter(pipe.writes)
    put(writer, b"last words\n")
    writer.close()
    assert pipe.read_until(b"\n") == b"last words\n"


def test_foreign_nonblocking_pipe_is_awaited(pipe: Pipe) -> None:
    os.set_blocking(pipe.writes, False)
    writer = LineWriter(pipe.writes)
    put(writer, b"a line\n")
    assert pipe.read_until(b"\n") == b"a line\n"
    writer.close()


def test_closed_reader_is_ignored() -> None:
    reads, writes = os.pipe()
    os.close(reads)
    met: list[OSError] = []
    failed = threading.Event()

    def hear(problem: OSError) -> None:
        met.append(problem)
        failed.set()

    writer = LineWriter(writes, failed=hear)
    put(writer, b"a line\n")
    assert failed.wait(60)
    assert isinstance(met[0], BrokenPipeError)
    writer.close()
    os.close(writes)


def test_full_disk_drops_lines() -> None:
    reads, writes = os.pipe()
    with open("/dev/full", "wb", buffering=0) as full:
        failed = threading.Event()
        log = Log()
        writer = LineWriter(full.fileno(), failed=lambda _: failed.set())
        log.configure(writer=writer)
        log.info("lost")
        assert failed.wait(60)
        writer.descriptor = writes  # there is room again
        log.info("kept")
        log.close()
    os.close(writes)
    with open(reads) as file:
        lines = file.read().splitlines()
    assert ["log lines dropped here: 1;" in line for line in lines] == [True, False]
    assert lines[1].endswith("kept")


def test_threads_lose_no_lines() -> None:
    reads, writes = os.pipe()
    writer = LineWriter(writes)

    def write(letter: bytes) -> None:
        for _ in range(500):
            put(writer, letter * 9 + b"\n")

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    os.close(writes)
    with open(reads) as file:
        lines = file.read().splitlines()
    assert sorted(lines) == sorted(["a" * 9, "b" * 9, "c" * 9] * 500)


def test_failing_line_is_reported(pipe: Pipe) -> None:
    writer = LineWriter(pipe.writes)

    def fails() -> bytes:
        raise ValueError("\ud800")

    writer.write(fails, 10)
    put(writer, b"a line\n")
    assert pipe.read_until(b"a line\n") == b"cannot format a log line: ValueError('\\ud800')\na line\n"
    writer.close()
