"""Standard streams for every command, however it is started."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

from kohort.base.line_writer import stand_in_for_closed
from kohort.cli.output import say


@contextmanager
def standard_streams() -> Iterator[None]:
    """Provide stdin, stdout and stderr within the block; a full disk behind stdout ends the process with a message."""
    stand_in_for_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an ASCII terminal shows arrows as escapes
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the rest of the old stream can't be written either
        say(f"kohort: cannot write: {error.strerror}", err=True)
        sys.exit(1)
