"""The records of a group in `__consumer_offsets`, read by the table of layouts."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby
from uuid import UUID

from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.protocol.batches import CONTROL, keys_and_values, read_batch
from kohort.protocol.records.record_reader import decode
from tests.talk.share_states import states_since
from tests.talk.values import Value, from_bytes


def records_since(cluster: BrokerCluster, group_id: str, offset: int) -> tuple[list[Value], int]:
    """Return a group's records from `offset` on, tombstones with a null value, and the next offset."""
    topic = cluster.topics.by_name(OFFSETS_TOPIC)
    assert topic is not None, "the offsets topic is there"
    log = topic.partitions[cluster.nodes[0].coordinator.partition_of(group_id)].log
    found = []
    for data in log.batches():
        batch = read_batch(data)
        if batch.base_offset < offset or batch.attributes & CONTROL:
            continue
        for key, value in keys_and_values(data, batch):
            record = _record(key, value)
            if record.pop("group") == group_id:
                found.append(record | {"batch": batch.base_offset})
    return found, log.log_end_offset


def _record(key: bytes | None, value: bytes | None) -> Value:
    read = decode(key, value)
    names = _plain(read.key)
    group = names.pop("group_id", None) or names.pop("group", None)
    return {"type": read.type, "group": group, **names, "value": None if value is None else _plain(read.value)}


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
