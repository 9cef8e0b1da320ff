"""Records of the newer protocols' groups (consumer-groups §18).

Each protocol converts its values to tuples in the order of the table of layouts, and back. Records that large groups
write often are written by hand instead; a test compares both.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple
from uuid import UUID

from kohort.coordinator.modern.modern_values import Change, Target, TargetEpoch
from kohort.protocol.records.layouts import CONSUMER_OFFSETS
from kohort.protocol.records.record_reader import RecordReader, read_value
from kohort.protocol.records.record_writer import encode_fields
from kohort.protocol.wire import SHORT, compact_length, string

VERSION_0 = b"\x00\x00"
NO_TAGS = b"\x00"

Row = tuple[Any, ...]  # fields of a record in the order of its layout


class RecordForm(NamedTuple):
    """Conversions between a value and its record.

    Attributes:
        read: Creates the value.
        row: Returns the fields of the value, which by default are the value itself.
        write: Encodes the value without its version, instead of `row`.
    """

    read: Callable[[Row], Any]
    row: Callable[[Any], Row] = tuple
    write: Callable[[Any], bytes] | None = None


class GroupRecords:
    """The records of one protocol, by type."""

    def __init__(self, kinds: type[IntEnum], forms: Mapping[int, RecordForm]) -> None:
        """Use the given forms; values of record types without one are not read."""
        self._kinds: dict[int, IntEnum] = {kind.value: kind for kind in kinds}
        self._forms = forms

    def value_of(self, change: Change) -> bytes | None:
        """Encode the value of a change, or return None for a deletion."""
        if change.value is None:
            return None
        form = self._forms[change.kind]
        if form.write is not None:
            return VERSION_0 + form.write(change.value)
        layout = CONSUMER_OFFSETS.values[change.kind][0]
        return VERSION_0 + encode_fields(layout.body, form.row(change.value), flexible=True)

    def read_change(self, kind: int, key: RecordReader, value: bytes | None) -> tuple[str, Change] | None:
        """Return the group ID and the change of a record, or None for a type that Kafka does not use.

        Args:
            key: Positioned after the record type.

        Raises:
            RecordError: The version of the record is unknown, or its bytes are invalid.
        """
        record_type = self._kinds.get(kind)
        if record_type is None:
            return None
        group_id, *name = key.struct(CONSUMER_OFFSETS.keys[kind])
        form = self._forms.get(record_type)
        read = None
        if value is not None and form is not None:
            read = form.read(read_value(CONSUMER_OFFSETS.values[kind][0], value))
        return group_id, Change(record_type, name[0] if name else None, read)


def key_of(group_id: str, kind: int, name: str | None) -> bytes:
    """Encode the key of a record. `name` is a member ID or a pattern, or None for records of the group itself."""
    return SHORT.pack(kind) + string(group_id) + (b"" if name is None else string(name))


def integers(numbers: Iterable[int]) -> bytes:
    """Encode a compact array of 32-bit integers in ascending order."""
    ordered = sorted(numbers)
    return compact_length(len(ordered)) + struct.pack(f">{len(ordered)}i", *ordered)


def write_partitions(value: Target) -> bytes:
    """Encode partitions by topic, in targets and in assignments of share groups."""
    parts = [compact_length(len(value))]
    for topic_id, partitions in value.items():
        parts += topic_id.bytes, integers(partitions), NO_TAGS
    return b"".join(parts)


def read_partitions(topics: Row) -> dict[UUID, frozenset[int]]:
    return {UUID(bytes=topic_id): frozenset(partitions) for topic_id, partitions, *_ in topics}


def _read_target(row: Row) -> dict[UUID, frozenset[int]]:
    return read_partitions(row[0])


def _write_target(value: Target) -> bytes:
    return write_partitions(value) + NO_TAGS


TARGET_EPOCH_FORM = RecordForm(lambda row: TargetEpoch(*row))
TARGET_FORM = RecordForm(_read_target, write=_write_target)
