"""How a command ends early."""

from __future__ import annotations

import signal


def ends_with_signals() -> None:
    """SIGINT and SIGTERM raise KeyboardInterrupt, also where a shell has started us with SIGINT ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
