"""Exit code and signals of commands that are interrupted."""

from __future__ import annotations

import signal

INTERRUPTED = 130  # exit code, as a shell's for SIGINT


def ends_with_signals() -> None:
    """Make SIGTERM raise KeyboardInterrupt, as SIGINT does in every command from `kohort.cli.main` on.

    SIGTERM is raised again as SIGINT: `asyncio.run` cancels the running task for it, and raises the exception after the
    event loop has ended rather than within it.
    """
    signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
