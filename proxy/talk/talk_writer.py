"""`kohort proxy --record FILE`: lines go to the disk as they are made, from a thread, so that a slow disk is in no
one's way. A process that is killed leaves all but what it was just writing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kohort.broker.line_writer import LineWriter
from kohort.broker.logs import log
from kohort.proxy.talk.talk_recorder import Recorder
from kohort.proxy.tap import Tap

LOST: Final = "lost"
"""How a line begins that stands for some that the disk was too slow for. What follows it can't be played."""


class RecordError(Exception):
    """A file that can't be recorded to; the text is a sentence."""


class TalkWriter:
    """A file that grows by lines."""

    def __init__(self, path: Path) -> None:
        """Raises RecordError, also where there is such a file already: it may be the only record of something."""
        self._path = path
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            raise RecordError(f"{path} is there already; record to another file, or delete it") from None
        except OSError as problem:
            raise RecordError(f"{path} can't be written: {problem.strerror}") from None
        self._broken = False
        self._lines = LineWriter(self._descriptor, notice=_lost, failed=self._failed)

    def write(self, line: str) -> None:
        """Takes a line, without its end. It returns at once."""
        if not self._broken:
            data = line.encode("utf-8", "backslashreplace") + b"\n"
            self._lines.write(lambda: data, len(data))

    def close(self) -> None:
        """Writes what waits, unless the disk takes longer than a moment."""
        self._lines.close()
        os.close(self._descriptor)

    def _failed(self, problem: OSError) -> None:
        if not self._broken:
            self._broken = True
            log.error(f"{self._path} can't be written any more: {problem.strerror}; the recording ends there")


def _lost(lines: int) -> bytes:
    return f"{LOST} {lines} lines\n".encode()


@contextmanager
def recording(tap: Tap, path: Path) -> Iterator[None]:
    """Records what goes through a proxy, as long as it is entered. Raises RecordError."""
    writer = TalkWriter(path)
    recorder = Recorder(writer.write, tap.now_us)
    tap.listen(recorder)
    try:
        yield
    finally:
        tap.leave(recorder)
        writer.close()
