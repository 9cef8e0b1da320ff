"""Redelivery: releases records that members of a share group hold, as if their locks had expired."""

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
    """Release acquired records from `first_offset` to `last_offset`, or archive them at the delivery count limit.

    Records whose acknowledgement is being stored are not affected.

    Args:
        is_meant: Returns whether a member, by its id, should lose its records.

    Returns:
        The number of records.
    """
    in_flight = partition.in_flight
    count = 0
    for index in in_flight.carve(first_offset, last_offset):
        member_id = in_flight.holders[index]
        if isinstance(member_id, str) and in_flight.states[index] == ACQUIRED and is_meant(member_id):
            in_flight.change(index, ACQUIRED, in_flight.counts[index], member_id, now_ms)
            count += in_flight.lasts[index] - in_flight.firsts[index] + 1
    partition.release_expired(now_ms)
    return count
