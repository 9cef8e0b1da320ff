"""What became of a share group's records, as its recorded events tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kohort.coordinator.events.group_event import GroupEvent

ACQUIRED, ACCEPTED, REJECTED, ARCHIVED = "records_acquired", "records_accepted", "records_rejected", "records_archived"
EXPIRED = "lock_expired"
NEVER_ACCEPTED = (REJECTED, ARCHIVED)


@dataclass(frozen=True)
class Fate:
    """An event of neighbouring offsets."""

    kind: str
    cause: str
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    delivery_count: int
    member_id: str

    def has(self, topic: str, partition: int, offset: int) -> bool:
        """Whether it is about an offset."""
        return (self.topic, self.partition) == (topic, partition) and self.first_offset <= offset <= self.last_offset

    def is_about(self, topic: str | None, partition: int | None) -> bool:
        """Whether it is about a partition; None: any."""
        return topic in (None, self.topic) and partition in (None, self.partition)

    @property
    def what(self) -> str:
        """In a word: `rejected`."""
        return self.kind.removeprefix("records_")

    @property
    def count(self) -> int:
        """How many offsets."""
        return self.last_offset - self.first_offset + 1


def fates(events: Iterable[GroupEvent], kinds: Iterable[str]) -> Iterator[Fate]:
    """The events of some kinds about records, in order."""
    wanted = frozenset(kinds)
    for event in events:
        detail = event.detail
        if event.kind in wanted and detail is not None:
            yield Fate(
                event.kind,
                event.cause or "",
                detail["topic"],
                int(detail["partition"]),
                int(detail["first_offset"]),
                int(detail["last_offset"]),
                int(detail.get("delivery_count", 0)),
                event.member_id or "",
            )


def last_fate(
    events: Iterable[GroupEvent], kinds: Iterable[str], topic: str, partition: int, offset: int
) -> Fate | None:
    """The newest event of some kinds about an offset; None: there is none."""
    return next((each for each in fates(reversed(list(events)), kinds) if each.has(topic, partition, offset)), None)


class Acceptance:
    """How many records were accepted, and which were not and never will be; goes on with each event."""

    def __init__(self, events: Iterable[GroupEvent], topic: str | None, partition: int | None) -> None:
        """`topic`, `partition`: None: all."""
        self._of = topic, partition
        self.accepted = 0
        self.lost: list[Fate] = []
        for event in events:
            self.take(event)

    def take(self, event: GroupEvent) -> None:
        """One event of the group."""
        for fate in fates((event,), (ACCEPTED, *NEVER_ACCEPTED)):
            if fate.is_about(*self._of):
                if fate.kind == ACCEPTED:
                    self.accepted += fate.count
                else:
                    self.lost.append(fate)
