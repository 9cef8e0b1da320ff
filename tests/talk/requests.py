"""Defaults and short forms of requests, in addition to those of recordings. README.md in this folder lists them."""

from __future__ import annotations

from collections.abc import Callable

from tests.talk import share_groups, streams_groups
from tests.talk.compare import Names
from tests.talk.consumer_groups import DESCRIPTIONS, HEARTBEAT, heartbeat
from tests.talk.values import Value, topic_id

GROUP_RESOURCE = 32  # resource type of groups

MEMBERS_OF_TRANSACTIONS = 3  # first version of a transactional commit with its member
# Versions from which commits, commits in transactions, or records contain topic ids instead of names.
IDS_OF_OFFSETS, IDS_OF_TRANSACTIONS, IDS_OF_RECORDS = 10, 6, 13


def complete(api: str, version: int, values: Value, names: Names, person: str) -> Value:
    """Return the request with all fields that `person` left out. Names in it are not filled in yet."""
    values = dict(values)
    if api in HEARTBEATS:
        return HEARTBEATS[api](values, names, person)
    if api in (share_groups.FETCH, share_groups.ACKNOWLEDGE):
        return DEFAULTS.get(api, {}) | share_groups.in_session(values, names, person)
    if api in BY_AN_EPOCH:
        _name_epoch(api, version, values, names, person)
    if api in ABOUT_A_GROUP:
        values.setdefault("group_id", "$group")
    if api in BY_A_MEMBER:
        values.setdefault("member_id", names.get(person, ""))
    values = DEFAULTS.get(api, {}) | values
    if rule := RULES.get(api):
        rule(values, version, names)
    return values


def _name_epoch(api: str, version: int, values: Value, names: Names, person: str) -> None:
    """Add the last received epoch to commits of members of consumer groups; fetches have one only if it is written."""
    asked = values.pop("epoch", None)
    if api == "OffsetFetch":
        if asked is not None:
            values.setdefault("member_id", names.get(person, ""))
            values["member_epoch"] = asked
        return
    named = {"generation_id", "generation_id_or_member_epoch"} & values.keys()
    if asked is None and not named and version >= EPOCHS_OF_COMMITS[api]:
        asked = names.get(f"{person}_epoch")
    if asked is not None:
        values["generation_id"] = asked


def _leave(values: Value, version: int, names: Names) -> None:
    member = {"member_id": values.pop("member_id")}
    values.setdefault("members", [member])


def _commit(values: Value, version: int, names: Names) -> None:
    if "generation_id" in values:
        values["generation_id_or_member_epoch"] = values.pop("generation_id")
    _name_committed(values, version >= IDS_OF_OFFSETS, names)


def _name_committed(values: Value, by_id: bool, names: Names) -> None:
    if "offsets" in values:
        values["topics"] = [
            _topic(topic, by_id, names)
            | {"partitions": [_committed(number, offset) for number, offset in partitions.items()]}
            for topic, partitions in values.pop("offsets").items()
        ]


def _committed(partition: int, offset: Value) -> Value:
    offset, metadata = offset if isinstance(offset, list) else (offset, "")
    return {"partition_index": partition, "committed_offset": offset, "committed_metadata": metadata}


def _fetch_offsets(values: Value, version: int, names: Names) -> None:
    asked = values.pop("offsets", None)
    group_id = values.pop("group_id")
    topics = values.pop("topics", None)
    if asked is not None:
        topics = [
            _topic(topic, version >= IDS_OF_OFFSETS, names) | {"partition_indexes": partitions}
            for topic, partitions in asked.items()
        ]
    member = {name: values.pop(name) for name in ("member_id", "member_epoch") if name in values}
    values.setdefault("groups", [{"group_id": group_id, "topics": topics} | member])


def _commit_in_a_transaction(values: Value, version: int, names: Names) -> None:
    if version < MEMBERS_OF_TRANSACTIONS:
        values.pop("member_id", None)
    elif "generation_id" not in values:
        values["member_id"] = ""
    _name_committed(values, version >= IDS_OF_TRANSACTIONS, names)


def _delete_offsets(values: Value, version: int, names: Names) -> None:
    if "offsets" in values:
        values["topics"] = [
            {"name": topic, "partitions": [{"partition_index": number} for number in partitions]}
            for topic, partitions in values.pop("offsets").items()
        ]


def _find_coordinator(values: Value, version: int, names: Names) -> None:
    values.setdefault("coordinator_keys", [values.pop("key", "$group")])


def _alter_configs(values: Value, version: int, names: Names) -> None:
    configs = values.pop("configs", None)
    if isinstance(configs, dict):
        altered = [
            {
                "name": name,
                "config_operation": int(value is None),
                "value": None if value is None else str(value),
            }
            for name, value in configs.items()
        ]
        group_id = values.pop("group_id", "$group")
        values["resources"] = [{"resource_type": GROUP_RESOURCE, "resource_name": group_id, "configs": altered}]


def _describe_configs(values: Value, version: int, names: Names) -> None:
    names_of_configs = values.pop("configs", None)
    if names_of_configs is not None:
        group_id = values.pop("group_id", "$group")
        asked = {"resource_type": GROUP_RESOURCE, "resource_name": group_id, "configuration_keys": names_of_configs}
        values["resources"] = [asked]


def _produce(values: Value, version: int, names: Names) -> None:
    if "records" in values:
        values["topic_data"] = [
            _topic(topic, version >= IDS_OF_RECORDS, names)
            | {"partition_data": [{"index": number, "records": batch} for number, batch in partitions.items()]}
            for topic, partitions in values.pop("records").items()
        ]


def _fetch(values: Value, version: int, names: Names) -> None:
    if "from" in values:
        values["topics"] = [
            _topic(topic, version >= IDS_OF_RECORDS, names, "topic")
            | {
                "partitions": [
                    {"partition": number, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
                    for number, offset in partitions.items()
                ]
            }
            for topic, partitions in values.pop("from").items()
        ]


def _list_offsets(values: Value, version: int, names: Names) -> None:
    if "at" in values:
        values["topics"] = [
            {
                "name": topic,
                "partitions": [{"partition_index": number, "timestamp": at} for number, at in partitions.items()],
            }
            for topic, partitions in values.pop("at").items()
        ]


def _delete_topics(values: Value, version: int, names: Names) -> None:
    if "topic_names" in values:
        values["topics"] = [{"name": name} for name in values.pop("topic_names")]


def _topic(topic: str, by_id: bool, names: Names, word: str = "name") -> dict[str, Value]:
    """Return a topic as in this version."""
    return {"topic_id": topic_id(topic, names)} if by_id else {word: topic}


ABOUT_A_GROUP = {
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetDelete",
    "TxnOffsetCommit",
    "StreamsGroupTopologyDescriptionUpdate",
}
BY_AN_EPOCH = {"OffsetCommit", "TxnOffsetCommit", "OffsetFetch"}
# versions from which a commit contains the epoch of a member
EPOCHS_OF_COMMITS = {"OffsetCommit": 9, "TxnOffsetCommit": 3}
BY_A_MEMBER = {
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "TxnOffsetCommit",
    "StreamsGroupTopologyDescriptionUpdate",
}

HEARTBEATS = {
    HEARTBEAT: heartbeat,
    share_groups.HEARTBEAT: share_groups.heartbeat,
    streams_groups.HEARTBEAT: streams_groups.heartbeat,
}
MOVES = ("CreateTopics", "CreatePartitions", "ElectLeaders", "AlterPartitionReassignments", "DeleteTopics")
DEFAULTS: dict[str, Value] = {
    "JoinGroup": {
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 30_000,
        "protocol_type": "consumer",
        "protocols": {"range": "m"},
    },
    "SyncGroup": {"protocol_type": "consumer", "protocol_name": "range"},
    "TxnOffsetCommit": {"transactional_id": "$txn"},
    **{api: {"group_ids": ["$group"]} for api in DESCRIPTIONS},
    "DescribeGroups": {"groups": ["$group"]},
    "DeleteGroups": {"groups_names": ["$group"]},
    "Produce": {"acks": -1, "timeout_ms": 5_000},
    "Fetch": {"max_wait_ms": 100, "min_bytes": 1},
    "ShareFetch": {"max_wait_ms": 500, "min_bytes": 1, "max_records": 500, "batch_size": 500},
    **{api: {"timeout_ms": 10_000} for api in MOVES},
}

RULES: dict[str, Callable[[Value, int, Names], None]] = {
    "LeaveGroup": _leave,
    "OffsetCommit": _commit,
    "TxnOffsetCommit": _commit_in_a_transaction,
    "OffsetFetch": _fetch_offsets,
    "OffsetDelete": _delete_offsets,
    "FindCoordinator": _find_coordinator,
    "StreamsGroupTopologyDescriptionUpdate": streams_groups.describe_topology,
    "IncrementalAlterConfigs": _alter_configs,
    "DescribeConfigs": _describe_configs,
    "Produce": _produce,
    "Fetch": _fetch,
    "ListOffsets": _list_offsets,
    "DeleteTopics": _delete_topics,
}
