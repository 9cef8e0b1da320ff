"""What records of all newer protocols are made of, as Kafka 4.3 writes it (consumer-groups §18)."""

import struct
from collections.abc import Iterable
from uuid import UUID

from kohort.coordinator.modern.modern_values import Target, TargetEpoch
from kohort.coordinator.offsets_topic_records import RecordReader
from kohort.protocol.wire import INT, SHORT, compact_length, compact_string, string, tag

VERSION_0 = b"\x00\x00"
NO_TAGS = b"\x00"
LONG = struct.Struct(">q")


def key_of(group_id: str, kind: int, name: str | None) -> bytes:
    """The key of a record. `name`: of a member, or a pattern; None for what is about the group."""
    return SHORT.pack(kind) + string(group_id) + (b"" if name is None else string(name))


def strings(texts: tuple[str, ...]) -> bytes:
    """A compact array of texts."""
    return compact_length(len(texts)) + b"".join(map(compact_string, texts))


def integers(numbers: Iterable[int]) -> bytes:
    """A compact array of numbers of 32 bits, in ascending order."""
    ordered = sorted(numbers)
    return compact_length(len(ordered)) + struct.pack(f">{len(ordered)}i", *ordered)


def long_tag(number: int) -> bytes:
    """A number as the only tag; 0, its default, is left out."""
    return b"\x01" + tag(0, LONG.pack(number)) if number else NO_TAGS


def read_long_tag(tags: dict[int, bytes]) -> int:
    """The number that `long_tag` wrote."""
    return int.from_bytes(tags.get(0, b""), "big", signed=True)


def partitions_by_topic(value: Target) -> bytes:
    """A compact array of topic ids with their partitions."""
    parts = [compact_length(len(value))]
    for topic_id, partitions in value.items():
        parts += topic_id.bytes, integers(partitions), NO_TAGS
    return b"".join(parts)


def read_partitions_by_topic(reader: RecordReader) -> dict[UUID, frozenset[int]]:
    """What `partitions_by_topic` wrote."""

    def topic() -> tuple[UUID, frozenset[int]]:
        found = reader.uuid(), frozenset(reader.array(reader.int32))
        reader.tags()
        return found

    return dict(reader.array(topic))


def write_target(value: Target) -> bytes:
    """What a member is to have."""
    return partitions_by_topic(value) + NO_TAGS


def write_target_epoch(value: TargetEpoch) -> bytes:
    """The epoch of a target, and when it was computed."""
    return INT.pack(value.epoch) + long_tag(value.timestamp_ms)


def read_target_epoch(reader: RecordReader) -> TargetEpoch:
    """What `write_target_epoch` wrote."""
    return TargetEpoch(reader.int32(), read_long_tag(reader.tags()))
