"""Keys and values of `__share_group_state`, in Kafka's format (`ShareSnapshotKey`, `ShareUpdateValue` and so on)."""

import struct
from collections.abc import Generator
from itertools import repeat
from typing import Any, Final
from uuid import UUID

from kohort.coordinator.pace import ELEMENTS_AT_ONCE, Pace, column_weight
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.share_state import ShareState, StateUpdate
from kohort.coordinator.share_state.state_batches import StateBatches
from kohort.protocol.records.layouts import NO_COUNT, SHARE_GROUP_STATE, SHARE_SNAPSHOT, SHARE_UPDATE
from kohort.protocol.records.record_reader import RecordReader
from kohort.protocol.records.schema import RecordError
from kohort.protocol.wire import INT, compact_length, string, tag, unsigned_varint

VALUE_VERSION: Final = 0

_KIND: Final = struct.Struct(">h").pack
_SNAPSHOT: Final = struct.Struct(">hiiiqqq").pack
_UPDATE: Final = struct.Struct(">hiiq").pack
_BATCH: Final = struct.Struct(">qqbhB").pack
_DELIVERY_COMPLETE_COUNT: Final = 0  # tag


def state_key(kind: int, key: SharePartitionKey) -> bytes:
    return _KIND(kind) + string(key.group_id) + key.topic_id.bytes + INT.pack(key.partition)


def snapshot_value(state: ShareState, pace: Pace) -> Generator[None, None, bytes]:
    head = _SNAPSHOT(
        VALUE_VERSION,
        state.snapshot_epoch,
        state.state_epoch,
        state.leader_epoch,
        state.start_offset,
        state.created_ms,
        state.written_ms,
    )
    return head + (yield from _batches(state.batches, pace)) + _tags(state.delivery_complete_count)


def update_value(update: StateUpdate, pace: Pace) -> Generator[None, None, bytes]:
    head = _UPDATE(VALUE_VERSION, update.snapshot_epoch, update.leader_epoch, update.start_offset)
    return head + (yield from _batches(update.batches, pace)) + _tags(update.delivery_complete_count)


def _batches(batches: StateBatches, pace: Pace) -> Generator[None, None, bytes]:
    pieces = [compact_length(len(batches))]
    for at in range(0, len(batches), ELEMENTS_AT_ONCE):
        part = batches[at : at + ELEMENTS_AT_ONCE]
        pieces += map(_BATCH, part.firsts, part.lasts, part.states, part.counts, repeat(0))
        if pace.add(column_weight(len(part))):
            yield
    return b"".join(pieces)


def _tags(delivery_complete_count: int) -> bytes:
    if delivery_complete_count == NO_COUNT:
        return b"\x00"
    return unsigned_varint(1) + tag(_DELIVERY_COMPLETE_COUNT, INT.pack(delivery_complete_count))


def read_state_key(key: bytes) -> tuple[int, SharePartitionKey] | None:
    """Return the record type and the share partition of a key, or None if its type is unknown.

    Raises:
        RecordError: The key is invalid.
    """
    reader = RecordReader(key)
    kind = reader.int16()
    if kind not in SHARE_GROUP_STATE.keys:
        return None
    group_id, topic_id, partition = reader.struct(SHARE_GROUP_STATE.keys[kind])
    return kind, SharePartitionKey(group_id, UUID(bytes=topic_id), partition)


def read_snapshot(value: bytes, pace: Pace) -> Generator[None, None, ShareState]:
    """Parse a snapshot. Yield so that other requests are served.

    Raises:
        RecordError: The value is invalid.
    """
    row = yield from _read(SHARE_SNAPSHOT, value, pace)
    snapshot_epoch, state_epoch, leader_epoch, start_offset, count, created_ms, written_ms, batches = row
    return ShareState(snapshot_epoch, state_epoch, leader_epoch, start_offset, count, batches, created_ms, written_ms)


def read_update(value: bytes, pace: Pace) -> Generator[None, None, StateUpdate]:
    """Parse an update. Yield so that other requests are served.

    Raises:
        RecordError: The value is invalid.
    """
    return StateUpdate(*(yield from _read(SHARE_UPDATE, value, pace)))


def _read(kind: int, value: bytes, pace: Pace) -> Generator[None, None, tuple[Any, ...]]:
    """Read a value like `read_value`, but only some of its batches at once."""
    reader = RecordReader(value, flexible=True)
    version = reader.int16()
    if version != VALUE_VERSION:
        raise RecordError(f"unsupported version {version} of a share state; expected {VALUE_VERSION}")
    return (yield from reader.struct_in_steps(SHARE_GROUP_STATE.values[kind][0].body, StateBatches(), pace.add))
