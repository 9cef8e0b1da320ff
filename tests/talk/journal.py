"""The records of a group in `__consumer_offsets` and `__share_group_state`, read by the table of layouts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from uuid import UUID

from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.coordinator.effects import OFFSETS_TOPIC, SHARE_STATE_TOPIC
from kohort.coordinator.groups.group_placement import partition_for
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.protocol.batches import CONTROL, keys_and_values, read_batch
from kohort.protocol.records.layouts import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from kohort.protocol.records.record_reader import decode
from kohort.protocol.records.schema import TopicLayouts
from kohort.storage.log import PartitionLog
from tests.talk.values import Value, from_bytes

PARTITIONS = 6  # number of partitions of each topic whose share state is read


def records_since(cluster: BrokerCluster, group_id: str, offset: int) -> tuple[list[Value], int]:
    """Return a group's records from `offset` on, tombstones with a null value, and the next offset."""
    topic = cluster.topics.by_name(OFFSETS_TOPIC)
    assert topic is not None, "the offsets topic is there"
    log = topic.partitions[cluster.nodes[0].coordinator.partition_of(group_id)].log
    records = [record for record in _records_in(log, offset, CONSUMER_OFFSETS) if record.pop("group") == group_id]
    return records, log.log_end_offset


def states_since(cluster: BrokerCluster, group_id: str, since: Value) -> tuple[list[Value], Value]:
    """Return records about existing topics, topic by topic, and the next position: an offset for each partition."""
    topic = cluster.topics.by_name(SHARE_STATE_TOPIC)
    if topic is None:
        return [], {}
    since = since or {}
    records = []
    for entry in sorted(cluster.topics, key=lambda topic: topic.name):
        for index in range(PARTITIONS):
            key = SharePartitionKey(group_id, entry.topic_id, index)
            partition = topic.partitions[partition_for(key.text, len(topic.partitions))]
            about = {"group": group_id, "topic_id": str(entry.topic_id), "partition": index}
            for record in _records_in(partition.log, since.get(partition.index, 0), SHARE_GROUP_STATE):
                if about.items() <= record.items():
                    del record["group"]
                    records.append(record)
    return records, {partition.index: partition.log.log_end_offset for partition in topic.partitions}


def _records_in(log: PartitionLog, offset: int, layouts: TopicLayouts) -> Iterator[Value]:
    for data in log.batches():
        batch = read_batch(data)
        if batch.base_offset >= offset and not batch.attributes & CONTROL:
            for key, value in keys_and_values(data, batch):
                read = decode(key, value, layouts)
                names = _plain(read.key)
                group = names.pop("group_id", None) or names.pop("group", None)
                values = None if value is None else _plain(read.value)
                yield {"type": read.type, "group": group, **names, "value": values, "batch": batch.base_offset}


def _plain(value: Value, name: str = "") -> Value:
    if isinstance(value, dict):
        return {_snake(each): _plain(inner, _snake(each)) for each, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return str(UUID(bytes=value)) if name == "topic_id" else from_bytes(value)
    return value


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def in_order(records: list[Value], people: dict[str, str]) -> list[Value]:
    """Sort records of one type in a batch by person, because their order depends on hash maps."""
    runs = groupby(records, key=lambda record: (record.get("batch"), record["type"]))
    ordered = [sorted(run, key=lambda record: _person(record, people)) for _, run in runs]
    return [{name: value for name, value in record.items() if name != "batch"} for run in ordered for record in run]


def _person(record: Value, people: dict[str, str]) -> str:
    member_id: str = record.get("member_id", "")
    return people.get(member_id, member_id)


READ_BY: dict[str, Callable[[BrokerCluster, str, Value], tuple[list[Value], Value]]] = {
    "log": records_since,
    "share state": states_since,
}  # by topic of the records: function that returns new records, and the next position
