"""How a command ends early."""

from __future__ import annotations

import signal

INTERRUPTED = 130
"""Exit code, as a shell's for SIGINT."""


def ends_with_signals() -> None:
    """SIGINT and SIGTERM raise KeyboardInterrupt, also where a shell has started us with SIGINT ignored.

    SIGTERM comes on as SIGINT: for that `asyncio.run` cancels what runs, and raises it behind the loop, not within.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
