"""Dead letters of share groups (KIP-1191), decoded from the records of a dead-letter topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.broker.cluster.dead_letter_topics import HEADERS
from kohort.groups.shared_records import delivered

if TYPE_CHECKING:
    from kohort.control.lab_topics import StoredRecord


@dataclass(frozen=True)
class DeadLetter:
    """A dead letter of a share group: the record that it is for, and the record in the dead-letter topic."""

    topic: str  # of the record that was rejected or has reached the delivery limit, as are `partition` and `offset`
    partition: int
    offset: int
    delivery_count: int
    message: str  # why there is a dead letter, in Kafka's words
    # Key and value of that record; None unless the group has `errors.deadletterqueue.copy.record.enable=true`.
    key: bytes | None
    value: bytes | None
    record: StoredRecord  # in the dead-letter topic, with its headers, partition, offset and timestamp

    def __str__(self) -> str:
        reason, record = self.message.rstrip("."), self.record
        return (
            f"{self.topic}-{self.partition} {self.offset}: {reason}, {delivered(self.delivery_count)}; "
            f"in {record.topic}-{record.partition} {record.offset}"
        )


def read_dead_letter(record: StoredRecord, group_id: str) -> DeadLetter | None:
    """Return the dead letter in a record, or None if it is not one of this group.

    Clients can write to the topic, too, so headers can be missing or have other values.
    """
    headers = dict(record.headers)
    try:
        topic, partition, offset, own_group_id, delivery_count, message = (
            (headers[name] or b"").decode() for name in HEADERS
        )
        if own_group_id != group_id:
            return None
        numbers = int(partition), int(offset), int(delivery_count)
    except (KeyError, ValueError):
        return None
    return DeadLetter(topic, *numbers, message, record.key, record.value, record)
