"""How a command ends early."""

from __future__ import annotations

import signal

INTERRUPTED = 130
"""Exit code, as a shell's for SIGINT."""


def ends_with_signals() -> None:
    """SIGINT and SIGTERM raise KeyboardInterrupt, also where a shell has started us with SIGINT ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
