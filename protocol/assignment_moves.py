"""What moves between two assignments of one group, and how little could have (analysis §2): one answer for brokers,
laboratory and analysis."""

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
    fewest: int | None
    """How many an even distribution has to move: orphans, and what others have above an even share.

    None: members subscribe to different topics, so that nobody knows what is even; or there are none.
    """

    @property
    def excess(self) -> int | None:
        """How many moved that had not to."""
        return None if self.fewest is None else max(0, self.moved - self.fewest)

    @property
    def stickiness(self) -> float | None:
        """The part of what had an owner that has kept it."""
        return None if not self.common else 1 - self.moved / self.common

    def as_detail(self) -> dict[str, str]:
        """What a group event says of it."""
        fewest = {} if self.fewest is None else {"fewest_moves": str(self.fewest)}
        return {"moved": str(self.moved)} | fewest


def moves_in(detail: Mapping[str, str]) -> tuple[int | None, int | None]:
    """How many partitions moved by what a group event says, and how few had to; None: it does not say so."""
    moved, fewest = detail.get("moved"), detail.get("fewest_moves")
    return None if moved is None else int(moved), None if fewest is None else int(fewest)


def moves(
    before: Mapping[TopicPartition, str],
    after: Mapping[TopicPartition, str],
    successors: Mapping[str, str],
    members: int,
    partitions: int,
    *,
    alike: bool = True,
) -> Moves:
    """Compares owners by partition.

    `successors`: member ids of before, and who stands for each now, mostly itself; one that is not there is gone.
    `members` and `partitions`: how many there are to distribute now. `alike`: members subscribe to the same topics.
    """
    common = before.keys() & after.keys()
    owners = {each: successors.get(before[each]) for each in common}
    held = Counter(owner for owner in owners.values() if owner is not None)
    share, over = divmod(partitions, max(members, 1))
    surplus = sum(max(0, count - share - (rank < over)) for rank, (_, count) in enumerate(held.most_common()))
    orphans = len(common) - held.total()
    moved = sum(owner != after[each] for each, owner in owners.items())
    return Moves(len(common), moved, orphans, orphans + surplus if members and alike else None)
