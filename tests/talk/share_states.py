"""Decoder of records in `__share_group_state`, independent of the coordinator's code."""

from __future__ import annotations

import struct
from uuid import UUID

from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.coordinator.groups.group_placement import partition_for
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.protocol.batches import keys_and_values, read_batch
from kohort.protocol.wire import read_unsigned_varint
from tests.talk.values import Value

TOPIC = "__share_group_state"
PARTITIONS = 6  # number of partitions that are read of every topic

NUMBERS = {
    0: (">iiiqqq", "snapshot_epoch state_epoch leader_epoch start_offset create_timestamp write_timestamp"),
    1: (">iiq", "snapshot_epoch leader_epoch start_offset"),
}  # fields before the batches of a snapshot, and of an update
BATCH = "first_offset last_offset delivery_state delivery_count"


def states_since(cluster: BrokerCluster, group_id: str, since: Value) -> tuple[list[Value], Value]:
    """Return records about existing topics, topic by topic, and the next position: an offset for each partition."""
    topic = cluster.topics.by_name(TOPIC)
    if topic is None:
        return [], {}
    since = since or {}
    found = []
    for entry in sorted(cluster.topics, key=lambda topic: topic.name):
        for index in range(PARTITIONS):
            key = SharePartitionKey(group_id, entry.topic_id, index)
            number = partition_for(key.text, len(topic.partitions))
            log = topic.partitions[number].log
            for data in log.batches():
                if read_batch(data).base_offset >= since.get(number, 0):
                    found += [record for record in _records(data) if _is_of(record, key)]
    until = {partition.index: partition.log.log_end_offset for partition in topic.partitions}
    return [_without_group(record) for record in found], until


def _is_of(record: Value, key: SharePartitionKey) -> bool:
    return (record["group"], record["topic_id"], record["partition"]) == (
        key.group_id,
        str(key.topic_id),
        key.partition,
    )


def _without_group(record: Value) -> Value:
    return {name: value for name, value in record.items() if name != "group"}


def _records(data: bytes | memoryview) -> list[Value]:
    found = []
    for key, value in keys_and_values(data, read_batch(data)):
        assert key is not None
        kind, size = struct.unpack_from(">hh", key)
        where = {
            "type": kind,
            "group": key[4 : 4 + size].decode(),
            "topic_id": str(UUID(bytes=key[4 + size : 20 + size])),
            "partition": struct.unpack(">i", key[20 + size :])[0],
        }
        found.append(where | {"value": None if value is None else _value(kind, value)})
    return found


def _value(kind: int, value: bytes) -> Value:
    """Decode version 0: numbers, batches, and an optional count."""
    form, names = NUMBERS[kind]
    assert value[:2] == b"\0\0", "the version"
    numbers = struct.unpack_from(form, value, 2)
    count, at = read_unsigned_varint(value, 2 + struct.calcsize(form))
    batches = []
    for _ in range(count - 1):
        *batch, tags = struct.unpack_from(">qqbhb", value, at)
        assert tags == 0
        batches.append(dict(zip(BATCH.split(), batch, strict=True)))
        at += struct.calcsize(">qqbhb")
    read: Value = dict(zip(names.split(), numbers, strict=True)) | {"state_batches": batches}
    if value[at:] != b"\0":
        head, complete = struct.unpack(">3si", value[at:])
        assert head == b"\x01\x00\x04", "one tagged field, the first, of four bytes"
        read["delivery_complete_count"] = complete
    return read
