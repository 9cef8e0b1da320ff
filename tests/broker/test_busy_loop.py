"""The loop is busy at random while requests of all sizes come in pieces: each gets its response, in order.

Whatever pauses a socket has an event that reads it on: no clock moves here, so nothing is helped by a second look.
"""

from __future__ import annotations

from random import Random

import pytest

from kohort.broker.scheduling.fair_scheduler import TURN_US
from tests.support.batches import batch
from tests.support.broker import Broker, Client
from tests.support.data_requests import given_topic, production
from tests.support.frames import frame, heartbeat
from tests.support.seeds import SEEDS

REQUESTS = 12
LARGEST = 1_500_000
PIECES = (1, 3, 4, 1_000, 65_536, 262_144)
"""How many bytes the system hands over at a time."""


class BusyStopwatch:
    """Clock that advances with every reading, sometimes by a lot."""

    def __init__(self, broker: Broker, random: Random) -> None:
        self._random, self._now_us = random, 0
        broker.server.scheduler.now_ns = self._look

    def _look(self) -> int:
        self._now_us += self._random.choice((1, 10, 10, 300, 2 * TURN_US))
        return self._now_us * 1_000


class Sender:
    """A client whose requests arrive a piece at a time, as long as its socket is read."""

    def __init__(self, broker: Broker, random: Random, *, finishes: bool) -> None:
        self.client: Client = broker.client()
        self.answered: list[int] = []
        self._random = random
        self._left = b"".join(map(self._request, range(REQUESTS)))
        if not finishes:
            self._left = self._left[: random.randrange(len(self._left) // 2)]

    def _request(self, number: int) -> bytes:
        if self._random.random() < 0.4:
            return heartbeat(number)
        value = bytes(self._random.choice((10, 60_000, 70_000, 900_000, LARGEST)))
        return frame("produce", 9, number, **production(batch(value)))

    def brings(self) -> bool:
        """Read its socket, and return whether there was anything to read."""
        if not self._left or not self.client.wire.reading:
            return False
        size = self._random.choice(PIECES)
        piece, self._left = self._left[:size], self._left[size:]
        self.client.sends(piece)
        return True

    def hears(self) -> None:
        self.answered += self.client.ids()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_request_is_answered_in_order(seed: int) -> None:
    random = Random(seed)
    broker = Broker(message_max_bytes=2 * LARGEST)
    given_topic(broker.client())
    BusyStopwatch(broker, random)
    patient = [Sender(broker, random, finishes=True) for _ in range(4)]
    senders = patient + [Sender(broker, random, finishes=False) for _ in range(8)]
    moved = True
    while moved:
        moved = any(each.brings() for each in random.sample(senders, len(senders)) if random.random() < 0.7)
        if random.random() < 0.5 or not moved:
            moved |= broker.loop.run_soon()
        if not moved:
            moved = any(sender.brings() for sender in senders)
        for each in senders:
            each.hears()
    for each in patient:
        assert each.answered == list(range(REQUESTS)), f"KOHORT_SEED={seed}"
