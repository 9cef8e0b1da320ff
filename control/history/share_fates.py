"""Fates of a share group's records, derived from its recorded events."""

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
    """An event about a range of offsets."""

    kind: str
    cause: str
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    delivery_count: int
    member_id: str

    def includes(self, topic: str, partition: int, offset: int) -> bool:
        return (self.topic, self.partition) == (topic, partition) and self.first_offset <= offset <= self.last_offset

    def is_about(self, topic: str | None, partition: int | None) -> bool:
        """Return whether the event is about a partition; None matches any topic or partition."""
        return topic in (None, self.topic) and partition in (None, self.partition)

    @property
    def what(self) -> str:
        return self.kind.removeprefix("records_")

    @property
    def count(self) -> int:
        return self.last_offset - self.first_offset + 1


def fates(events: Iterable[GroupEvent], kinds: Iterable[str]) -> Iterator[Fate]:
    selected = frozenset(kinds)
    for event in events:
        detail = event.detail
        if event.kind in selected and detail is not None:
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
    return next(
        (fate for fate in fates(reversed(list(events)), kinds) if fate.includes(topic, partition, offset)), None
    )


class Acceptance:
    """Counts accepted records, and collects those that can no longer be accepted. Updated with each event."""

    def __init__(self, events: Iterable[GroupEvent], topic: str | None, partition: int | None) -> None:
        """Count the events of a topic and partition; None means all."""
        self._of = topic, partition
        self.accepted = 0
        self.lost: list[Fate] = []
        for event in events:
            self.take(event)

    def take(self, event: GroupEvent) -> None:
        for fate in fates((event,), (ACCEPTED, *NEVER_ACCEPTED)):
            if fate.is_about(*self._of):
                if fate.kind == ACCEPTED:
                    self.accepted += fate.count
                else:
                    self.lost.append(fate)
