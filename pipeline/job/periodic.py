"""Polling in a thread that runs in parallel with the streams."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def looking(look: Callable[[], object], every_s: float, *, at_the_end: bool = False) -> Iterator[None]:
    """Call `look` every `every_s` seconds until the block ends; the last call has returned by then.

    With `at_the_end` it is called after the end of the block, too, for changes since the last call.
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
