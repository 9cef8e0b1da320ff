"""A stdin, stdout and stderr for every command, wherever it is started from."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

from kohort.broker.line_writer import stand_in_for_closed
from kohort.cli.output import say


@contextmanager
def standard_streams() -> Iterator[None]:
    """Within, all three are there. A full disk behind stdout ends the process with a sentence."""
    stand_in_for_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal of ASCII shows our arrows as escapes
    try:
        yield
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - what is left in the old one can't be written either
        say(f"kohort: cannot write: {problem.strerror}", err=True)
        sys.exit(1)
