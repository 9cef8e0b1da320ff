"""Other shares than the ones a leader has handed out: what a broken or hostile assignor might do."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kohort.control.control_errors import ControlError
from kohort.protocol.consumer_protocol import Assignment, read_assignment, write_assignment

Shares = Mapping[str, bytes]
"""Member id to its assignment, as it travels."""


@dataclass(frozen=True)
class Change:
    """From what the leader sent to what the broker sees instead."""

    words: str
    """Completes the sentence "assign …"."""
    change: Callable[[Shares], Shares]


NOTHING = Change("nothing to anybody", lambda shares: dict.fromkeys(shares, b""))
"""Everybody's assignment is empty."""


def everything_to_everybody() -> Change:
    """Each member is given what all of them together were given: every partition has several owners."""

    def change(shares: Shares) -> Shares:
        together: dict[str, set[int]] = {}
        for share in shares.values():
            for topic, partitions in _partitions(share).items():
                together.setdefault(topic, set()).update(partitions)
        everything = assignment({topic: sorted(partitions) for topic, partitions in together.items()})
        return dict.fromkeys(shares, everything)

    return Change("everything to everybody", change)


def without(*member_ids: str) -> Change:
    """The leader forgets these members: they are given nothing, and what was theirs is nobody's."""
    return Change(
        f"nothing to {', '.join(member_ids)}",
        lambda shares: {member: share for member, share in shares.items() if member not in member_ids},
    )


def garbage(data: bytes = b"\xff\xff\xff\xff\x7f") -> Change:
    """Each member is given bytes that are no assignment."""
    return Change("bytes that are no assignment", lambda shares: dict.fromkeys(shares, data))


def exactly(shares: Mapping[str, Mapping[str, Iterable[int]]]) -> Change:
    """Members are given these partitions, by member id and topic; who is not named gets nothing."""
    try:
        shares_by_member = {member: assignment(partitions) for member, partitions in shares.items()}
    except (TypeError, ValueError, AttributeError, struct.error):
        example = "{ada-1: {orders: [0, 1]}}"
        raise ControlError(f"shares are partitions by member id and topic, as in {example}, not {shares!r}") from None
    return Change("given partitions", lambda _: shares_by_member)


def assignment(partitions: Mapping[str, Iterable[int]]) -> bytes:
    """A share as it travels."""
    return write_assignment(Assignment(partitions={topic: tuple(each) for topic, each in partitions.items()}))


def _partitions(share: bytes) -> Mapping[str, tuple[int, ...]]:
    read = read_assignment(share) if share else None
    return read.partitions if read is not None else {}
