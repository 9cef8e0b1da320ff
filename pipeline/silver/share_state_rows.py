"""Converter of `__share_group_state` records to silver rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from kohort.pipeline.records.topic_ids import kafka_uuid
from kohort.pipeline.silver.silver_rows import ShareStateRecord, UndecodedRecord
from kohort.pipeline.silver.silver_schemas import table_of
from kohort.pipeline.sources.checked import LAST_MOMENT_MS, known_moments
from kohort.pipeline.sources.chunk import SHARE_STATE_TOPIC, Chunk
from kohort.pipeline.sources.window import EVERYTHING, Window
from kohort.protocol.records.layouts import NO_COUNT, NO_OFFSET, SHARE_GROUP_STATE, SHARE_SNAPSHOT
from kohort.protocol.records.record_reader import Decoded, Value, decode
from kohort.protocol.records.schema import RecordError


class ShareStateRows:
    """Converts chunks of the share coordinators' topic to tables. `rank` and `window` are as in `SilverRows`."""

    def __init__(self, cluster: str, rank: int, window: Window = EVERYTHING) -> None:
        self.cluster, self.rank, self.window = cluster, rank, window

    def add(self, chunk: Chunk) -> Iterator[tuple[str, pa.Table]]:
        """Yield the tables of a chunk. Records older than the window give the states at its start."""
        times = known_moments(chunk.timestamp)
        states: list[ShareStateRecord] = []
        odd: list[UndecodedRecord] = []
        for n in (times <= self.window.until_ms).nonzero()[0].tolist():
            at = int(chunk.partition[n]), int(chunk.offset[n]), int(times[n])
            key, value = chunk.spans.key(n), chunk.spans.value(n)
            try:
                states.append(_state(decode(key, value, SHARE_GROUP_STATE), *at))
            except RecordError as error:
                odd.append(_undecoded(key, value, str(error), *at))
        for table, rows in (("share_states", states), ("decode_errors", odd), ("dq_issues", chunk.issues)):
            if rows:
                yield table, table_of(table, rows, self.cluster, self.rank)


def _state(decoded: Decoded, partition: int, offset: int, ts_ms: int) -> ShareStateRecord:
    value, key = decoded.value, decoded.key
    row = ShareStateRecord(
        partition=partition,
        offset=offset,
        ts_ms=ts_ms,
        group_id=key["groupId"],
        topic_id=kafka_uuid(key["topicId"]),
        part=key["partition"],
        is_snapshot=decoded.type == SHARE_SNAPSHOT,
        is_tombstone=value is None,
    )
    if value is not None:
        _fill(row, value)
    return row


def _fill(row: ShareStateRecord, value: Value) -> None:
    created_ms = value.get("createTimestamp", -1)
    row.snapshot_epoch, row.leader_epoch = value["snapshotEpoch"], value["leaderEpoch"]
    row.state_epoch = value.get("stateEpoch")
    row.created_ms = min(created_ms, LAST_MOMENT_MS) if created_ms >= 0 else None
    row.start_offset = value["startOffset"] if value["startOffset"] != NO_OFFSET else None
    row.complete = value["deliveryCompleteCount"] if value["deliveryCompleteCount"] != NO_COUNT else None
    batches = value["stateBatches"]
    row.first_offsets = [batch["firstOffset"] for batch in batches]
    row.last_offsets = [batch["lastOffset"] for batch in batches]
    row.states = [batch["deliveryState"] for batch in batches]
    row.delivery_counts = [batch["deliveryCount"] for batch in batches]


def _undecoded(
    key: bytes | None, value: bytes | None, error: str, partition: int, offset: int, ts_ms: int
) -> UndecodedRecord:
    return UndecodedRecord(
        partition=partition,
        offset=offset,
        ts_ms=ts_ms,
        record_type=None,
        value_version=None,
        error=f"{SHARE_STATE_TOPIC}: {error}",
        key=key,
        value=value,
    )
