"""Makes lines, and writes them to a file descriptor, in a thread of its own, so that neither holds up anybody else.

A pipe that nobody reads, a terminal after Ctrl-S and a slow disk all block a write, for as long as they like.
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

BYTES_WAITING = 1 << 20
"""How much waits to be written at most. Then lines are dropped and counted, until half of it is free."""
BYTES_AT_ONCE = 1 << 16
NOTICE_BYTES = 200
LAST_LINES_S = 1.0
"""How long the end of the process waits for a reader."""

Make = Callable[[], bytes]
"""Makes a line, with its end."""


class LineWriter:
    """Lines on their way to `descriptor`. All of its methods return at once, except `close`."""

    def __init__(
        self,
        descriptor: int,
        *,
        notice: Callable[[int], bytes] | None = None,
        failed: Callable[[OSError], None] | None = None,
    ) -> None:
        """`notice` makes the line that says how many were dropped. It and `failed` are called from the thread."""
        self.descriptor = descriptor
        self.notice = notice
        self._failed = failed
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Make, int, int]] = deque()
        """Lines, how large they are, and for how many each one stands: a notice stands for those that were dropped."""
        self._size = 0
        self._dropped = 0
        self._full = False
        self._closing = False
        self._thread: threading.Thread | None = None

    def write(self, make: Make, size: int) -> None:
        """Takes a line of about `size` bytes, to be made when it is written. Drops it where too much waits already."""
        with self._changed:
            if self._full or self._size + size > BYTES_WAITING:
                self._full = True
                self._dropped += 1
                return
            self._log_dropped()
            self._put(make, size, 1)

    def close(self) -> None:
        """Waits a moment until everything is written. What nobody reads by then is lost."""
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
            problem = self._write(b"".join(map(_made, lines)))
            with self._changed:
                self._size -= size
                if problem is not None:
                    self._dropped += stand_for
                if self._full and self._size <= BYTES_WAITING // 2:
                    self._full = False
                    if problem is None:
                        self._log_dropped()
            if problem is not None and self._failed is not None:
                self._failed(problem)

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
        """Not through `sys.stderr`: a thread that waits holds its lock, over which the end of Python would abort."""
        left = memoryview(chunk)
        while left:
            try:
                left = left[os.write(self.descriptor, left) :]
            except BlockingIOError:  # somebody who shares this end has made it so
                _wait_for_room(self.descriptor)
            except OSError as problem:
                return problem
        return None


def _made(make: Make) -> bytes:
    try:
        return make()
    except Exception as problem:  # the other lines are others
        return f"a line could not be made: {problem!r}\n".encode("utf-8", "backslashreplace")


def _wait_for_room(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()


def stand_in_for_closed() -> None:
    """Opens the null device for each of stdin, stdout and stderr that is closed, so that no other file gets its number.

    Else a socket or a log would become the process's stdout, and libuv, which never closes those three, aborts.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError as problem:
            if problem.errno != errno.EBADF:
                raise
            # The lowest free number is taken: this one, since all below are open.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r", closefd=False))
