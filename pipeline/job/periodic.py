"""A thread that looks for something again and again, beside the streams."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def looking(look: Callable[[], object], every_s: float, *, at_the_end: bool = False) -> Iterator[None]:
    """Looks every so many seconds until the block ends. The last look is over then.

    at_the_end: look once more when the block has ended, as something may have come since the last time.
    """
    over = threading.Event()

    def keep_looking() -> None:
        while not over.wait(every_s):
            look()

    thread = threading.Thread(target=keep_looking, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        if at_the_end:
            look()
