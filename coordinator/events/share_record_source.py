"""Creates events of records of share groups (offsets-topic §9.6) while there is a listener.

The leader of a partition reports them, on whichever node the group is coordinated: they have no partition of
`__consumer_offsets`. One event covers a range of offsets with the same outcome, whatever the number of records.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kohort.coordinator.events.group_event import NO_PARTITION
from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.requesting_client import NOBODY_KNOWN
from kohort.coordinator.share_partitions.dead_letters import REJECTED_MESSAGE, DeadLetters
from kohort.coordinator.share_partitions.record_observer import DELIVERY_LIMIT, EXPIRED, Fate, RecordObserver, joined
from kohort.coordinator.share_partitions.record_states import ACCEPTED, REJECTED, RELEASED, RENEWED
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey

if TYPE_CHECKING:
    from kohort.coordinator.events.event_tracer import EventObserver

KINDS: Final = {
    ACCEPTED: "records_accepted",
    RELEASED: "records_released",
    REJECTED: "records_rejected",
    RENEWED: "records_renewed",
    EXPIRED: "lock_expired",
}  # by the outcome of records


class ShareRecordObserver(RecordObserver):
    """Creates events of the records of the share partitions of one node."""

    def __init__(self, emitter: "EventObserver") -> None:
        self._emitter = emitter

    def loaded(self, key: SharePartitionKey, start: int) -> None:
        self._emit("share_partition_loaded", key, None, None, {"start": start})

    def acquired(self, key: SharePartitionKey, member_id: str, entries: Sequence[tuple[int, int, int]]) -> None:
        held = (Fate(*entry, member_id, None) for entry in entries)
        for fate in joined(held):
            self._of_records("records_acquired", key, fate, None)

    def settled(self, key: SharePartitionKey, fates: Iterable[Fate], cause: str | None = None) -> None:
        """Report the outcomes of records first, and then the records that were archived."""
        ranges = list(joined(fates))
        for fate in ranges:
            if fate.fate is not None:
                self._of_records(KINDS[fate.fate], key, fate, cause if fate.fate == RELEASED else None)
        for fate in ranges:
            if fate.archived is not None:
                self._of_records("records_archived", key, fate, fate.archived)

    def dead_letter_written(self, key: SharePartitionKey, letter: DeadLetters, topic: str, partition: int) -> None:
        detail = _described(letter) | {"dead_letter_topic": topic, "dead_letter_partition": partition}
        self._emit("dead_letter_written", key, None, _cause_of(letter), detail)

    def dead_letter_failed(
        self, key: SharePartitionKey, letter: DeadLetters, topic: str, cause: str, reason: str
    ) -> None:
        detail = _described(letter) | {"dead_letter_topic": topic, "reason": reason}
        self._emit("dead_letter_failed", key, None, cause, detail)

    def start_moved(self, key: SharePartitionKey, old_start: int, start: int) -> None:
        self._emit("share_start_moved", key, None, None, {"from": old_start, "to": start})

    def _of_records(self, kind: str, key: SharePartitionKey, fate: Fate, cause: str | None) -> None:
        self._emit(kind, key, fate.member_id, cause, _described(fate))

    def _emit(
        self, kind: str, key: SharePartitionKey, member_id: str | None, cause: str | None, values: dict[str, int | str]
    ) -> None:
        emitter, group_id = self._emitter, key.group_id
        detail = {"topic": self._name(key.topic_id), "partition": str(key.partition)}
        event = emitter.event(
            kind,
            NO_PARTITION,
            NOBODY_KNOWN if member_id is None else emitter.client_of_member(group_id, member_id),
            emitter.now_us(),
            group_id=group_id,
            group_type=SHARE,
            protocol_type=SHARE,
            member_id=member_id,
            cause=cause,
            detail=detail | {name: str(value) for name, value in values.items()},
        )
        emitter.coordinator.effects.append(event)

    def _name(self, topic_id: UUID) -> str:
        topic = self._emitter.coordinator.topics.by_id(topic_id)
        return str(topic_id) if topic is None else topic.name


def _described(records: Fate | DeadLetters) -> dict[str, int | str]:
    return {
        "first_offset": records.first_offset,
        "last_offset": records.last_offset,
        "delivery_count": records.delivery_count,
    }


def _cause_of(letter: DeadLetters) -> str:
    return REJECTED if letter.message == REJECTED_MESSAGE else DELIVERY_LIMIT
