"""Replacements for the assignments of a group leader, as a broken or hostile assignor would compute them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kohort.control.control_errors import ControlError
from kohort.protocol.consumer_protocol import Assignment, read_assignment, write_assignment

Assignments = Mapping[str, bytes]  # serialized assignments by member id


@dataclass(frozen=True)
class Change:
    """Function that replaces the assignments of a SyncGroup request, with its description."""

    words: str  # completes the sentence "assign …"
    change: Callable[[Assignments], Assignments]


NOTHING = Change("nothing to any member", lambda shares: dict.fromkeys(shares, b""))


def everything_to_everybody() -> Change:
    """Assign all partitions of the group to every member, so that each partition has several owners."""

    def change(shares: Assignments) -> Assignments:
        together: dict[str, set[int]] = {}
        for encoded in shares.values():
            for topic, partitions in _partitions(encoded).items():
                together.setdefault(topic, set()).update(partitions)
        everything = assignment({topic: sorted(partitions) for topic, partitions in together.items()})
        return dict.fromkeys(shares, everything)

    return Change("everything to every member", change)


def without(*member_ids: str) -> Change:
    """Assign nothing to these members, so that their partitions have no owner."""
    return Change(
        f"nothing to {', '.join(member_ids)}",
        lambda shares: {member: encoded for member, encoded in shares.items() if member not in member_ids},
    )


def garbage(data: bytes = b"\xff\xff\xff\xff\x7f") -> Change:
    """Assign bytes that can't be parsed to every member."""
    return Change("unreadable bytes", lambda shares: dict.fromkeys(shares, data))


def exactly(shares: Mapping[str, Mapping[str, Iterable[int]]]) -> Change:
    """Assign these partitions, by member id and topic. Other members get none."""
    try:
        shares_by_member = {member: assignment(partitions) for member, partitions in shares.items()}
    except (TypeError, ValueError, AttributeError, struct.error):
        example = "{ada-1: {orders: [0, 1]}}"
        raise ControlError(f"expected partitions by member id and topic, as in {example}; got {shares!r}") from None
    return Change("given partitions", lambda _: shares_by_member)


def assignment(partitions: Mapping[str, Iterable[int]]) -> bytes:
    return write_assignment(Assignment(partitions={topic: tuple(numbers) for topic, numbers in partitions.items()}))


def _partitions(encoded: bytes) -> Mapping[str, tuple[int, ...]]:
    read = read_assignment(encoded) if encoded else None
    return read.partitions if read is not None else {}
