"""How alerts come to whoever listens: silences only while records wait, and all in the order of their times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from kohort.client.security import OPEN, Security
from kohort.pipeline.job.periodic import looking
from kohort.pipeline.live.in_order import InOrder
from kohort.pipeline.live.silences import Silences
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.sources.waiting_records import WaitingRecords

FLUSH_S = 0.5
ASK_AGAIN_S = 5.0
"""For groups that commit nothing, whether they have anything to read."""


@dataclass(frozen=True, slots=True)
class Telling:
    """hear: takes any alert. hear_of_silences: takes those of the tracker, of which some are kept back."""

    hear: Callable[[Message], None]
    hear_of_silences: Callable[[Message], None]


@contextmanager
def telling(address: str, tell: Callable[[Message], None], security: Security = OPEN) -> Iterator[Telling]:
    """Tells what is heard until the block ends; what is kept then is told, too."""
    order = InOrder(tell, now_ms)
    with closing(WaitingRecords(address, security)) as waiting:
        silences = Silences(waiting.of, now_ms)

        def hear_of_silences(message: Message) -> None:
            for each in silences.hear(message):
                order.hear(each)

        def ask_again() -> None:
            for each in silences.look():
                order.hear(each)

        with looking(order.flush, FLUSH_S), looking(ask_again, ASK_AGAIN_S):
            yield Telling(order.hear, hear_of_silences)
    order.flush(everything=True)


def now_ms() -> int:
    """Wall clock."""
    return round(time.time() * 1000)
