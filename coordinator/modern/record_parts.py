"""Parts of the records of all newer protocols, in the format of Kafka 4.3 (consumer-groups §18)."""

import struct
from collections.abc import Iterable
from uuid import UUID

from kohort.coordinator.modern.modern_values import Target, TargetEpoch
from kohort.coordinator.offsets.offsets_topic_records import RecordReader
from kohort.protocol.wire import INT, SHORT, compact_length, compact_string, string, tag

VERSION_0 = b"\x00\x00"
NO_TAGS = b"\x00"
LONG = struct.Struct(">q")


def key_of(group_id: str, kind: int, name: str | None) -> bytes:
    """Encode the key of a record. `name` is a member ID or a pattern, or None for records of the group itself."""
    return SHORT.pack(kind) + string(group_id) + (b"" if name is None else string(name))


def strings(texts: tuple[str, ...]) -> bytes:
    return compact_length(len(texts)) + b"".join(map(compact_string, texts))


def integers(numbers: Iterable[int]) -> bytes:
    """Encode a compact array of 32-bit integers in ascending order."""
    ordered = sorted(numbers)
    return compact_length(len(ordered)) + struct.pack(f">{len(ordered)}i", *ordered)


def long_tag(number: int) -> bytes:
    """Encode a number as the only tagged field, or no field for the default 0."""
    return b"\x01" + tag(0, LONG.pack(number)) if number else NO_TAGS


def read_long_tag(tags: dict[int, bytes]) -> int:
    return int.from_bytes(tags.get(0, b""), "big", signed=True)


def partitions_by_topic(value: Target) -> bytes:
    parts = [compact_length(len(value))]
    for topic_id, partitions in value.items():
        parts += topic_id.bytes, integers(partitions), NO_TAGS
    return b"".join(parts)


def read_partitions_by_topic(reader: RecordReader) -> dict[UUID, frozenset[int]]:
    def topic() -> tuple[UUID, frozenset[int]]:
        entry = reader.uuid(), frozenset(reader.array(reader.int32))
        reader.tags()
        return entry

    return dict(reader.array(topic))


def write_target(value: Target) -> bytes:
    return partitions_by_topic(value) + NO_TAGS


def write_target_epoch(value: TargetEpoch) -> bytes:
    return INT.pack(value.epoch) + long_tag(value.timestamp_ms)


def read_target_epoch(reader: RecordReader) -> TargetEpoch:
    return TargetEpoch(reader.int32(), read_long_tag(reader.tags()))
