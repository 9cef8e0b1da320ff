"""Keys and values of `__share_group_state`, as data: the share coordinators' state of each share partition.

Source: the JSON schemas of Kafka's share coordinator (ShareSnapshot, ShareUpdate); segment files of a running 4.3.0.
"""

from __future__ import annotations

from kohort.pipeline.records.schema import Array, Field, Layout, struct

SNAPSHOT, UPDATE = 0, 1
AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4  # Record states that are written. Acquired records are never written.
NO_OFFSET, NO_COUNT = -1, -1

_key = struct(Field("groupId", "string"), Field("topicId", "uuid"), Field("partition", "int32"))
_batch = struct(
    Field("firstOffset", "int64"),
    Field("lastOffset", "int64"),
    Field("deliveryState", "int8"),
    Field("deliveryCount", "int16"),
)
_complete = Field("deliveryCompleteCount", "int32", tag=0, default=NO_COUNT)

KEYS = {SNAPSHOT: _key, UPDATE: _key}
VALUES: dict[int, tuple[Layout, ...]] = {
    SNAPSHOT: (
        Layout(
            struct(
                Field("snapshotEpoch", "int32"),
                Field("stateEpoch", "int32"),
                Field("leaderEpoch", "int32"),
                Field("startOffset", "int64"),
                _complete,
                Field("createTimestamp", "int64"),
                Field("writeTimestamp", "int64"),
                Field("stateBatches", Array(_batch)),
            ),
            flexible_from=0,
        ),
    ),
    UPDATE: (
        Layout(
            struct(
                Field("snapshotEpoch", "int32"),
                Field("leaderEpoch", "int32"),
                Field("startOffset", "int64"),
                _complete,
                Field("stateBatches", Array(_batch)),
            ),
            flexible_from=0,
        ),
    ),
}
