"""A record of the deliveries to members of share groups, and of those forbidden afterwards.

It goes by requests and answers alone. An answer may come late: what it gives was acquired at some time after its
request was sent. So a member surely holds a record until the shortest lock that counted meanwhile would be over,
reckoned from when it asked; and only what two members surely hold at the same time is a violation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.support.share_consumer import At

Key = tuple[str, At]
"""A group, and a partition."""


class Asked(NamedTuple):
    """When a member asked, and of whom."""

    turn: int
    at_ms: int
    member: str
    node: int
    eras: dict[At, object]
    """What of each partition's leader must not have changed for that to be comparable: see `Ledger.hold`."""


class Hold(NamedTuple):
    """A record that a member surely holds."""

    member: str
    node: int
    until_ms: int
    era: object


@dataclass
class Ledger:
    """Deliveries by group and partition, then by offset. `turn` counts requests and responses."""

    turn: int = 0
    held: dict[Key, dict[int, Hold]] = field(default_factory=dict)
    done: dict[Key, dict[int, int]] = field(default_factory=dict)
    """What was accepted, rejected or called a gap, and the turn in which that was acknowledged."""
    perhaps_done: dict[Key, Counter[int]] = field(default_factory=dict)
    """Number of requests to process a record that were not rejected."""
    often: dict[Key, set[int]] = field(default_factory=dict)
    """What was delivered as often as the limit allows, or as it once did."""
    delivered: int = 0
    again: int = 0
    """How many deliveries were not the first."""

    def was_delivered(
        self, key: Key, offsets: range, count: int, asked: Asked, until_ms: int, era: object, now_ms: int
    ) -> None:
        """Record that a member holds records until `until_ms` or later. Raises AssertionError for a conflict."""
        self.delivered += len(offsets)
        self.again += len(offsets) * (count > 1)
        fresh = now_ms < until_ms and era == asked.eras.get(key[1])
        held, done = self.held.setdefault(key, {}), self.done.get(key, {})
        for offset in offsets:
            name = f"{key[0]}: {key[1][1]}@{offset}"
            since = done.get(offset)
            assert since is None or (since > asked.turn and not fresh), (
                f"{name} is done with, and goes to {asked.member}"
            )
            other = held.get(offset)
            if fresh:
                is_held = other is not None and other.until_ms > now_ms and other.era == era
                assert not is_held, f"{name} is {other}'s, and goes to {asked.member}"
                held[offset] = Hold(asked.member, asked.node, until_ms, era)

    def gives_up(self, key: Key, offsets: Iterable[int], member: str) -> None:
        """Record that a member is about to acknowledge records."""
        held = self.held.get(key, {})
        for offset in offsets:
            if offset in held and held[offset].member == member:
                del held[offset]

    def gives_up_all(self, member: str, node: int) -> None:
        """Record that a member's session or connection is about to end."""
        for held in self.held.values():
            for offset in [each for each, hold in held.items() if (hold.member, hold.node) == (member, node)]:
                del held[offset]

    def holds_on(self, key: Key, offsets: Iterable[int], member: str, until_ms: int, *, is_sure: bool) -> None:
        """Record a renewal of locks until `until_ms` or later, which other settings may shorten.

        Before the response `is_sure` is false.
        """
        held = self.held.get(key, {})
        for offset in offsets:
            hold = held.get(offset)
            if hold is not None and hold.member == member:
                held[offset] = hold._replace(until_ms=until_ms if is_sure else min(hold.until_ms, until_ms))

    def wants_done(self, key: Key, offsets: Iterable[int]) -> None:
        """Record a request after which records need no delivery."""
        self.perhaps_done.setdefault(key, Counter()).update(offsets)

    def is_not_done(self, key: Key, offsets: Iterable[int]) -> None:
        """Record that such a request was rejected before a write; others may still count."""
        self.perhaps_done[key].subtract(offsets)

    def is_done(self, key: Key, offsets: Iterable[int]) -> None:
        done = self.done.setdefault(key, {})
        for offset in offsets:
            done.setdefault(offset, self.turn)

    def accounts_for(self, key: Key, offset: int) -> bool:
        """Return whether a record need not be delivered again."""
        if offset in self.done.get(key, {}) or offset in self.often.get(key, ()):
            return True
        return self.perhaps_done.get(key, Counter())[offset] > 0
