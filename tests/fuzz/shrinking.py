"""Reduces thousands of frames that led to an error of the broker to the few that cause it."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TypeVar

from kohort.protocol.wire import INT
from tests.fuzz.broker import Broker

T = TypeVar("T")
Batch = list[bytes]  # frames that one client sent at once

ANSWERED_WITHIN_S = 0.1
SETTLES_S = 0.3


def shrunk(batches: list[Batch], on_disk: bool, seconds: float) -> list[Batch] | None:
    """Return the fewest batches and frames that still lead to an error, or None if even all of them do not.

    The broker's behaviour with many clients is partly random, so an error may not repeat. Returns after about
    `seconds` with the best result until then.
    """
    end_s = monotonic() + seconds
    some = _shortest_end(batches, on_disk, end_s)
    if some is None:
        return None
    some = _without(some, lambda fewer: first_mistake(fewer, on_disk) is not None, end_s)
    for at, frames in enumerate(some):
        preceding, after = some[:at], some[at + 1 :]
        some = [*preceding, _without(frames, partial(_fails_between, preceding, after, on_disk), end_s), *after]
    return some


def _fails_between(preceding: list[Batch], following: list[Batch], on_disk: bool, frames: Batch) -> bool:
    return first_mistake([*preceding, frames, *following], on_disk) is not None


def first_mistake(batches: list[Batch], on_disk: bool) -> int | None:
    """Send the batches to a new broker, each over its own connection, until it logs an error or ends.

    Returns:
        Number of batches sent until then, or None without an error.
    """
    with tempfile.TemporaryDirectory(prefix="kohort-fuzz-") as folder:
        broker = Broker(Path(folder) / "data" if on_disk else None)
        try:
            for number, batch in enumerate(batches, 1):
                with suppress(OSError):
                    _send(broker.port, batch)
                if broker.mistakes or not broker.alive:
                    return number
            with suppress(OSError):
                _wait(broker, SETTLES_S)
            return len(batches) if broker.mistakes or not broker.alive else None
        finally:
            broker.stop()


def _shortest_end(batches: list[Batch], on_disk: bool, end_s: float) -> list[Batch] | None:
    """Return the shortest tail of the batches that leads to an error, in powers of two."""
    for count in (64, 256, len(batches)):
        sent = first_mistake(batches[-count:], on_disk) if monotonic() < end_s else None
        if sent is not None:
            some = batches[-count:][:sent]
            counts = (1 << power for power in range(sent.bit_length()))
            ends = (some[-count:] for count in counts if monotonic() < end_s)
            return next((end for end in ends if first_mistake(end, on_disk) is not None), some)
    return None


def _without(items: list[T], fails: Callable[[list[T]], bool], end_s: float) -> list[T]:
    """Remove ranges from `items` as long as it still fails."""
    step = len(items) // 2
    while step:
        at = 0
        while at < len(items) and monotonic() < end_s:
            fewer = items[:at] + items[at + step :]
            if fewer and fails(fewer):
                items = fewer
            else:
                at += step
        step //= 2
    return items


def _send(port: int, batch: Batch) -> None:
    """Send frames and wait for their responses, or until no more responses arrive."""
    received = bytearray()
    awaited = len(batch)
    with socket.create_connection(("127.0.0.1", port), ANSWERED_WITHIN_S) as wire, suppress(TimeoutError):
        wire.sendall(b"".join(batch))
        while awaited and (data := wire.recv(1 << 16)):
            received += data
            while len(received) >= 4 and len(received) >= (size := 4 + INT.unpack_from(received)[0]):
                del received[:size]
                awaited -= 1


def _wait(broker: Broker, seconds: float) -> None:
    end_s = monotonic() + seconds
    while monotonic() < end_s and not broker.mistakes and broker.alive:
        _send(broker.port, [bytes.fromhex("0000000a 0012 0000 00000001 ffff")])
