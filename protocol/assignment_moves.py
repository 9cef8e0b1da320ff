"""Partition moves between two assignments of a group, and the minimum number of moves (analysis §2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from kohort.protocol.topic_partition import TopicPartition


class Moves(NamedTuple):
    """Partitions that have an owner in both assignments."""

    common: int
    moved: int  # those of `common` with another owner
    orphans: int  # those of `common` whose owner has left
    # Minimum number of moves to an even distribution: orphans, and partitions above an even share. None if members
    # subscribe to different topics, so that an even distribution is undefined, or if the group is empty.
    fewest: int | None

    @property
    def excess(self) -> int | None:
        """Number of unnecessary moves."""
        return None if self.fewest is None else max(0, self.moved - self.fewest)

    @property
    def stickiness(self) -> float | None:
        """Fraction of owned partitions that kept their owner."""
        return None if not self.common else 1 - self.moved / self.common

    def as_detail(self) -> dict[str, str]:
        """Return the detail of a group event."""
        fewest = {} if self.fewest is None else {"fewest_moves": str(self.fewest)}
        return {"moved": str(self.moved)} | fewest


def moves_in(detail: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Return the moved partitions and the minimum from a group event's detail, or None for unknown values."""
    moved, fewest = detail.get("moved"), detail.get("fewest_moves")
    return None if moved is None else int(moved), None if fewest is None else int(fewest)


def moves(
    previous_owners: Mapping[TopicPartition, str],
    owners_now: Mapping[TopicPartition, str],
    successors: Mapping[str, str],
    members: int,
    partitions: int,
    *,
    alike: bool = True,
) -> Moves:
    """Compare owners by partition.

    Args:
        successors: Earlier member ids and their current ids, mostly unchanged; missing ids have left.
        members: Current number of members, as `partitions` is of partitions.
        alike: Whether all members subscribe to the same topics.
    """
    common = previous_owners.keys() & owners_now.keys()
    owners = {partition: successors.get(previous_owners[partition]) for partition in common}
    held = Counter(owner for owner in owners.values() if owner is not None)
    share, over = divmod(partitions, max(members, 1))
    surplus = sum(max(0, count - share - (rank < over)) for rank, (_, count) in enumerate(held.most_common()))
    orphans = len(common) - held.total()
    moved = sum(owner != owners_now[partition] for partition, owner in owners.items())
    return Moves(len(common), moved, orphans, orphans + surplus if members and alike else None)
