"""Creation of lines and writing to a file descriptor, in a thread of its own, so that neither blocks the event loop.

A pipe without a reader, a terminal after Ctrl-S and a slow disk all block a write, for any time.
"""

from __future__ import annotations

import errno
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable
from functools import partial

BYTES_WAITING = 1 << 20  # maximum size of the queue; above this lines are dropped and counted, until half of it is free
BYTES_AT_ONCE = 1 << 16
NOTICE_BYTES = 200
LAST_LINES_S = 1.0  # how long the end of the process waits for a reader

Make = Callable[[], bytes]  # returns a line, with its line end


class LineWriter:
    """A queue of lines to be written to `descriptor`. No method blocks, except `close`."""

    def __init__(
        self,
        descriptor: int,
        *,
        notice: Callable[[int], bytes] | None = None,
        failed: Callable[[OSError], None] | None = None,
    ) -> None:
        """Create a writer; its thread starts with the first line.

        Args:
            notice: Returns the line that reports how many lines were dropped. It and `failed` are called in the thread.
        """
        self.descriptor = descriptor
        self.notice = notice
        self._failed = failed
        self._changed = threading.Condition()
        # Lines, their sizes, and how many lines each one counts for: a notice counts for the dropped ones.
        self._waiting: deque[tuple[Make, int, int]] = deque()
        self._size = 0
        self._dropped = 0
        self._full = False
        self._closing = False
        self._thread: threading.Thread | None = None

    def write(self, make: Make, size: int) -> None:
        """Enqueue a line of about `size` bytes, to be created when it is written. Drop it if the queue is full."""
        with self._changed:
            if self._full or self._size + size > BYTES_WAITING:
                self._full = True
                self._dropped += 1
                return
            self._log_dropped()
            self._put(make, size, 1)

    def close(self) -> None:
        """Wait for LAST_LINES_S until everything is written. The rest is lost."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(LAST_LINES_S)

    def _put(self, make: Make, size: int, stands_for: int) -> None:
        self._waiting.append((make, size, stands_for))
        self._size += size
        if self._thread is None:
            # A daemon: a write that never returns must not keep the process from ending.
            self._thread = threading.Thread(target=self._run, name=f"writer-{self.descriptor}", daemon=True)
            self._thread.start()
        self._changed.notify()

    def _log_dropped(self) -> None:
        if self._dropped and self.notice is not None:
            self._put(partial(self.notice, self._dropped), NOTICE_BYTES, self._dropped)
        self._dropped = 0

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    if self._closing:
                        return
                    self._changed.wait()
                lines, size, stand_for = self._next()
            error = self._write(b"".join(map(_make_line, lines)))
            with self._changed:
                self._size -= size
                if error is not None:
                    self._dropped += stand_for
                if self._full and self._size <= BYTES_WAITING // 2:
                    self._full = False
                    if error is None:
                        self._log_dropped()
            if error is not None and self._failed is not None:
                self._failed(error)

    def _next(self) -> tuple[list[Make], int, int]:
        lines: list[Make] = []
        size = stand_for = 0
        while self._waiting and (not lines or size + self._waiting[0][1] <= BYTES_AT_ONCE):
            line, line_size, count = self._waiting.popleft()
            lines.append(line)
            size += line_size
            stand_for += count
        return lines, size, stand_for

    def _write(self, chunk: bytes) -> OSError | None:
        """Write all bytes, and return the error, if any.

        Not through `sys.stderr`: a blocked thread holds its lock, which would make the end of Python abort.
        """
        remaining = memoryview(chunk)
        while remaining:
            try:
                remaining = remaining[os.write(self.descriptor, remaining) :]
            except BlockingIOError:  # another process that shares this end made it non-blocking
                _wait_for_room(self.descriptor)
            except OSError as error:
                return error
        return None


def _make_line(make: Make) -> bytes:
    try:
        return make()
    except Exception as error:  # the other lines can still be written
        return f"cannot format a log line: {error!r}\n".encode("utf-8", "backslashreplace")


def _wait_for_room(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()


def stand_in_for_closed() -> None:
    """Open the null device for each of stdin, stdout and stderr that is closed, so that no other file gets its number.

    Otherwise a socket or a log would become the process's stdout, and libuv, which never closes those three, aborts.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            # The system assigns the lowest free number: this one, since all below are open.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r", closefd=False))
