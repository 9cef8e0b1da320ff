"""Takes records from members of a share group, as if their locks had expired."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kohort.coordinator.share_partitions.record_states import ACQUIRED

if TYPE_CHECKING:
    from kohort.coordinator.share_partitions.share_partition import SharePartition

BEYOND_ALL = 2**63 - 1


def take_back(
    partition: SharePartition, first_offset: int, last_offset: int, is_meant: Callable[[str], bool], now_ms: int
) -> int:
    """Others may have what members hold between two offsets, both included; at the delivery limit it is archived.

    `is_meant`: whether a member, by its id, is to lose what it holds. What a member has already said something of is
    not held any more. Returns how many records it is.
    """
    in_flight = partition.in_flight
    taken = 0
    for index in in_flight.carve(first_offset, last_offset):
        member_id = in_flight.holders[index]
        if isinstance(member_id, str) and in_flight.states[index] == ACQUIRED and is_meant(member_id):
            in_flight.change(index, ACQUIRED, in_flight.counts[index], member_id, now_ms)
            taken += in_flight.lasts[index] - in_flight.firsts[index] + 1
    partition.release_expired(now_ms)
    return taken
