"""Fates of a share group's records, derived from its recorded events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kohort.groups.shared_records import Fate

if TYPE_CHECKING:
    from kohort.coordinator.events.group_event import GroupEvent

ACQUIRED, ACCEPTED, REJECTED, ARCHIVED = "records_acquired", "records_accepted", "records_rejected", "records_archived"
EXPIRED = "lock_expired"
DEAD_LETTER_WRITTEN, DEAD_LETTER_FAILED = "dead_letter_written", "dead_letter_failed"
NEVER_ACCEPTED = (REJECTED, ARCHIVED)


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
                detail.get("dead_letter_topic", ""),
                int(detail.get("dead_letter_partition", -1)),
                detail.get("reason", ""),
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
