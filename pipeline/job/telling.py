"""Delivery of alerts in order of time; alerts about silent groups only while records wait for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime

from kohort.client.security import OPEN, Security
from kohort.pipeline.job.periodic import looking
from kohort.pipeline.live.in_order import InOrder
from kohort.pipeline.live.silences import Silences
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.sources.waiting_records import WaitingRecords

FLUSH_S = 0.5
ASK_AGAIN_S = 5.0  # polling interval of the lag of silent groups


@dataclass(frozen=True, slots=True)
class Telling:
    """Callbacks for alerts.

    The first accepts any alert, the second the tracker's, some of which are held back.
    """

    hear: Callable[[Message], None]
    hear_of_silences: Callable[[Message], None]


@contextmanager
def telling(address: str, tell: Callable[[Message], None], security: Security = OPEN) -> Iterator[Telling]:
    """Deliver alerts in order until the block ends, then the alerts still held."""
    order = InOrder(tell, now_ms)
    with closing(WaitingRecords(address, security)) as waiting:
        silences = Silences(waiting.of, now_ms)

        def hear_of_silences(message: Message) -> None:
            for alert in silences.hear(message):
                order.hear(alert)

        def ask_again() -> None:
            for alert in silences.look():
                order.hear(alert)

        with looking(order.flush, FLUSH_S), looking(ask_again, ASK_AGAIN_S):
            yield Telling(order.hear, hear_of_silences)
    order.flush(everything=True)


def now_ms() -> int:
    return round(time.time() * 1000)


def alert_line(message: Message) -> str:
    """Return the line for the terminal."""
    at = datetime.fromtimestamp(message.at_ms / 1000).astimezone().strftime("%H:%M:%S")
    return f"{at} {_MARKS.get(message.severity, '  ')} {message.group}: {message.text}"


_MARKS = {"warning": " !", "critical": "!!"}
