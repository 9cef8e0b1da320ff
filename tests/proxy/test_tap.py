"""A listener receives whole requests and responses, in whatever pieces they arrive, and changes nothing."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from random import Random

import pytest

from kohort.protocol.headers import read_header
from kohort.protocol.wire import INT
from kohort.proxy.addressed_apis import entity
from kohort.proxy.relay import INSPECTED_BYTES, Relay
from kohort.proxy.tap import MAX_COPIED_BYTES, Line, ObservedCall, Tap
from tests.proxy import samples
from tests.proxy.conversing import Elsewhere, answer, asks, hears, through, unknown
from tests.support.frames import frame, heartbeat

HEARTBEAT, PRODUCE, FIND_COORDINATOR = 12, 0, 10


class Notes:
    """Listener that stores its calls."""

    def __init__(self, *keys: int) -> None:
        self.keys = frozenset(keys)
        self.asked_for: list[ObservedCall] = []
        self.heard: list[ObservedCall] = []
        self.ended: list[int] = []

    def on_request(self, observed: ObservedCall) -> None:
        """See `Listener`."""
        self.asked_for.append(observed)

    def on_response(self, observed: ObservedCall) -> None:
        """See `Listener`."""
        self.heard.append(observed)

    def on_close(self, line: Line) -> None:
        """See `Listener`."""
        self.ended.append(line.number)


class Failing(Notes):
    """Can't write."""

    def on_request(self, observed: ObservedCall) -> None:
        """See `Listener`."""
        raise OSError("no pen")


class Client:
    """At node 7."""

    host = "10.0.0.1"
    node_id = 7


class World:
    """A tap, the time, and one connection."""

    def __init__(self, *keys: int) -> None:
        self.now_us = 0
        self.tap = Tap(lambda: self.now_us)
        self.notes = Notes(*keys)
        self.tap.listen(self.notes)
        self.line = self.tap.line(Client())
        self.relay = Relay(Elsewhere(), line=self.line)


def test_request_includes_response_and_times() -> None:
    world = World(HEARTBEAT)
    world.now_us = 5
    asks(world.relay, heartbeat(1) + unknown(999, 0, 2))
    (asked,) = world.notes.asked_for
    assert (asked.request, asked.requested_us, asked.answer) == (heartbeat(1), 5, None)
    assert asked.header == read_header(heartbeat(1), INT.size)
    world.now_us = 9
    hears(world.relay, answer(1, b"beat") + answer(2, b"else"))
    assert world.notes.heard == [asked]
    assert (asked.answer, asked.answered_us) == (answer(1, b"beat"), 9)
    assert (asked.line.number, asked.line.host, asked.line.node_id) == (1, "10.0.0.1", 7)


@pytest.mark.parametrize("seed", range(20))
def test_fragmentation_changes_nothing(seed: int) -> None:
    chance, world = Random(seed), World(12)
    sizes = [chance.choice((0, 3, 100, 5_000)) for _ in range(30)]
    requests = [unknown(chance.choice((12, 999)), 0, number, bytes(size)) for number, size in enumerate(sizes)]
    answers = [answer(number, bytes(size)) for number, size in enumerate(sizes)]
    assert through(chance, b"".join(requests), lambda data: asks(world.relay, data)) == b"".join(requests)
    assert through(chance, b"".join(answers), lambda data: hears(world.relay, data)) == b"".join(answers)
    wanted = [number for number, each in enumerate(requests) if each[4:6] == b"\x00\x0c"]
    assert [response.request for response in world.notes.heard] == [requests[number] for number in wanted]
    assert [response.answer for response in world.notes.heard] == [answers[number] for number in wanted]


def test_response_is_observed_before_rewriting() -> None:
    world = World(FIND_COORDINATOR)
    asks(world.relay, frame("find_coordinator", 0, 2, coordinator_keys=("g",)))
    told = samples.frame(replace(samples.sample(entity("find_coordinator", 0)), host="kafka-1.example.org"), 2)
    passed = hears(world.relay, told[:9]) + hears(world.relay, told[9:])
    assert b"kafka-1" not in passed
    assert [response.answer for response in world.notes.heard] == [told]


def test_request_without_response_is_reported() -> None:
    world = World(PRODUCE)
    asks(world.relay, frame("produce", 9, 1, acks=0, timeout_ms=1, topic_data=()))
    assert (len(world.notes.asked_for), world.relay.waiting) == (1, 0)


def test_oversized_message_passes_unobserved() -> None:
    world = World(12)
    large = unknown(12, 99, 1, bytes(INSPECTED_BYTES + 1))
    assert asks(world.relay, large[:1_000]) + asks(world.relay, large[1_000:]) == large
    assert world.notes.asked_for == []
    hears(world.relay, answer(1))
    asks(world.relay, heartbeat(2))
    told = answer(2, bytes(MAX_COPIED_BYTES))
    assert hears(world.relay, told[:100]) + hears(world.relay, told[100:]) == told
    assert [response.answer for response in world.notes.heard] == [None]


def test_failing_listener_is_harmless(lines: StringIO) -> None:
    world = World(HEARTBEAT)
    world.tap.leave(world.notes)
    world.tap.listen(Failing(HEARTBEAT))
    world.tap.listen(world.notes)
    assert asks(world.relay, heartbeat(1)) == heartbeat(1)
    assert len(world.notes.asked_for) == 1
    assert "a listener of the proxy failed" in lines.getvalue()


def test_removed_listener_receives_nothing() -> None:
    world = World(HEARTBEAT)
    world.line.on_close()
    assert world.notes.ended == [1]
    world.tap.leave(world.notes)
    assert not world.tap.keys
    asks(world.relay, heartbeat(1))
    assert world.notes.asked_for == []
