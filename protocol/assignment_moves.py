"""What moves between two assignments of one group, and how little could have (analysis §2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from kohort.protocol.topic_partition import TopicPartition


class Moves(NamedTuple):
    """Partitions that had an owner and have one again."""

    common: int
    moved: int
    """Those of `common` that another member has."""
    orphans: int
    """Those of `common` whose owner is gone."""
    fewest: int
    """How many an even distribution has to move: orphans, and what others have above an even share."""


def moves(
    before: Mapping[TopicPartition, str],
    after: Mapping[TopicPartition, str],
    successors: Mapping[str, str],
    members: int,
    partitions: int,
) -> Moves:
    """Compares owners by partition.

    `successors`: member ids of before, and who stands for each now, mostly itself; one that is not there is gone.
    `members` and `partitions`: how many there are to distribute now.
    """
    common = before.keys() & after.keys()
    owners = {each: successors.get(before[each]) for each in common}
    held = Counter(owner for owner in owners.values() if owner is not None)
    share, over = divmod(partitions, max(members, 1))
    surplus = sum(max(0, count - share - (rank < over)) for rank, (_, count) in enumerate(held.most_common()))
    orphans = len(common) - held.total()
    moved = sum(owner != after[each] for each, owner in owners.items())
    return Moves(len(common), moved, orphans, orphans + surplus)
