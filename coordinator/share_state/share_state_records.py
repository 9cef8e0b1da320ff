"""Keys and values of `__share_group_state`, in Kafka's format (`ShareSnapshotKey`, `ShareUpdateValue` and so on)."""

import struct
from collections.abc import Generator, Sequence
from typing import Final

from kohort.coordinator.offsets.offsets_topic_records import RecordReader, UnreadableRecord
from kohort.coordinator.pace import ELEMENTS_AT_ONCE, Pace
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.share_state import UNKNOWN_COUNT, ShareState, StateUpdate
from kohort.coordinator.share_state.state_batches import StateBatch
from kohort.protocol.wire import INT, compact_length, string, tag, unsigned_varint

SNAPSHOT, UPDATE = 0, 1  # record types, which are the versions of their keys

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


def _batches(batches: Sequence[StateBatch], pace: Pace) -> Generator[None, None, bytes]:
    pieces = [compact_length(len(batches))]
    for at in range(0, len(batches), ELEMENTS_AT_ONCE):
        part = batches[at : at + ELEMENTS_AT_ONCE]
        pieces += [_BATCH(*batch, 0) for batch in part]
        if pace.add(len(part)):
            yield
    return b"".join(pieces)


def _tags(delivery_complete_count: int) -> bytes:
    if delivery_complete_count == UNKNOWN_COUNT:
        return b"\x00"
    return unsigned_varint(1) + tag(_DELIVERY_COMPLETE_COUNT, INT.pack(delivery_complete_count))


def read_state_key(key: bytes) -> tuple[int, SharePartitionKey] | None:
    """Return the record type and the share partition of a key, or None if its type is unknown.

    Raises:
        UnreadableRecord: The key is invalid.
    """
    reader = RecordReader(key)
    kind = reader.int16()
    if kind not in (SNAPSHOT, UPDATE):
        return None
    return kind, SharePartitionKey(reader.string(), reader.uuid(), reader.int32())


def read_snapshot(value: bytes, pace: Pace) -> Generator[None, None, ShareState]:
    """Parse a snapshot. Yield so that other requests are served.

    Raises:
        UnreadableRecord: The value is invalid.
    """
    reader = _reader(value)
    epochs = reader.int32(), reader.int32(), reader.int32()
    start_offset, created_ms, written_ms = reader.int64(), reader.int64(), reader.int64()
    batches = yield from _read_batches(reader, pace)
    return ShareState(*epochs, start_offset, _read_count(reader), batches, created_ms, written_ms)


def read_update(value: bytes, pace: Pace) -> Generator[None, None, StateUpdate]:
    """Parse an update. Yield so that other requests are served.

    Raises:
        UnreadableRecord: The value is invalid.
    """
    reader = _reader(value)
    snapshot_epoch, leader_epoch, start_offset = reader.int32(), reader.int32(), reader.int64()
    batches = yield from _read_batches(reader, pace)
    return StateUpdate(snapshot_epoch, leader_epoch, start_offset, _read_count(reader), batches)


def _reader(value: bytes) -> RecordReader:
    reader = RecordReader(value)
    version = reader.int16()
    if version != VALUE_VERSION:
        raise UnreadableRecord(f"unsupported version {version} of a share state; expected {VALUE_VERSION}")
    return reader


def _read_batches(reader: RecordReader, pace: Pace) -> Generator[None, None, list[StateBatch]]:
    batches: list[StateBatch] = []
    for _ in range(reader.count()):
        batches.append(StateBatch(reader.int64(), reader.int64(), reader.int8(), reader.int16()))
        reader.tags()
        if pace.add():
            yield
    return batches


def _read_count(reader: RecordReader) -> int:
    raw = reader.tags().get(_DELIVERY_COMPLETE_COUNT)
    return UNKNOWN_COUNT if raw is None else int.from_bytes(raw, "big", signed=True)
