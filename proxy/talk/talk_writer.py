"""Recording of `kohort proxy --record FILE`. A thread writes the lines, so that a slow disk delays no connection.

A process that is killed loses at most the lines that were being written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kohort.base.line_writer import LineWriter
from kohort.base.logs import log
from kohort.proxy.talk.talk_recorder import Recorder
from kohort.proxy.tap import Tap

LOST: Final = "lost"
"""Start of a line in place of lines that the disk was too slow for. What follows can't be replayed."""


class RecordError(Exception):
    """File that can't be recorded to; the text is a sentence."""


class TalkWriter:
    """File that grows by lines."""

    def __init__(self, path: Path) -> None:
        """Create the file. Raise RecordError, also if it exists, because it may be the only copy of a recording."""
        self._path = path
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            raise RecordError(f"{path} already exists; record to another file, or delete it") from None
        except OSError as problem:
            raise RecordError(f"{path} can't be written: {problem.strerror}") from None
        self._broken = False
        self._lines = LineWriter(self._descriptor, notice=_lost, failed=self._failed)

    def write(self, line: str) -> None:
        """Queue a line, without its end."""
        if not self._broken:
            data = line.encode("utf-8", "backslashreplace") + b"\n"
            self._lines.write(lambda: data, len(data))

    def close(self) -> None:
        """Write queued lines, unless the disk is too slow."""
        self._lines.close()
        os.close(self._descriptor)

    def _failed(self, error: OSError) -> None:
        if not self._broken:
            self._broken = True
            log.error(f"{self._path} can't be written any more: {error.strerror}; the recording ends there")


def _lost(lines: int) -> bytes:
    return f"{LOST} {lines} lines\n".encode()


@contextmanager
def recording(tap: Tap, path: Path) -> Iterator[None]:
    """Record the messages through a proxy while entered. Raise RecordError if the file can't be created."""
    writer = TalkWriter(path)
    recorder = Recorder(writer.write, tap.now_us)
    tap.listen(recorder)
    try:
        yield
    finally:
        tap.leave(recorder)
        writer.close()
