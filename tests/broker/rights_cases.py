"""For each row of `security/needs.py` a request that meets it, and what else its sender has to be allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import UUID

from kohort.protocol.batches import TRANSACTIONAL
from tests.support.batches import batch


class World(NamedTuple):
    """What is there before the request comes."""

    topic_id: UUID
    producer_id: int
    producer_epoch: int


class Case(NamedTuple):
    """A request of `api`, in one version."""

    api: str
    version: int
    request: dict[str, Any] | Callable[[World], dict[str, Any]]
    also: tuple[str, ...] = ()
    """Rights of other rows, as `Read group g`."""
    when: str = ""
    """The row, if the API has several with these rights."""
    sees: Callable[[Any], object] | None = None
    """Of a row that hides something: what of the answer is hidden without the right."""
    on: str = ""
    """Resource of the right, unless it is one of the usual ones."""
    again: Callable[[Any], dict[str, Any]] | None = None
    """A second request, made of the first answer: its answer counts."""


TXN, GROUP, TOPIC = "Write transactional id x", "Read group g", "Read topic t"
T0: list[dict[str, Any]] = [{"name": "t", "partitions": [0]}]
BATCH = batch((b"k", b"v"))


def _transactional(world: World) -> bytes:
    return batch((b"k", b"v"), producer=(world.producer_id, world.producer_epoch, 0), attributes=TRANSACTIONAL)


def _produced(records: bytes, **more: Any) -> dict[str, Any]:
    data = [{"name": "t", "partition_data": [{"index": 0, "records": records}]}]
    return {"acks": -1, "timeout_ms": 1_000, "topic_data": data, **more}


def _adding(world: World) -> dict[str, Any]:
    return {
        "transactions": [
            {
                "transactional_id": "x",
                "producer_id": world.producer_id,
                "producer_epoch": world.producer_epoch,
                "topics": T0,
            }
        ]
    }


def _of_producer(world: World, **more: Any) -> dict[str, Any]:
    return {
        "transactional_id": "x",
        "producer_id": world.producer_id,
        "producer_epoch": world.producer_epoch,
        **more,
    }


def _txn_commit(world: World) -> dict[str, Any]:
    partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
    return _of_producer(world, group_id="g", topics=[{"name": "t", "partitions": [partition]}])


def _joining(**more: Any) -> dict[str, Any]:
    return {
        "group_id": "c",
        "member_id": "alice",
        "member_epoch": 0,
        "rebalance_timeout_ms": 30_000,
        "topic_partitions": [],
        **more,
    }


COMMIT = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}]}]
FETCH = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1_000_000, "isolation_level": 0}
FETCHED = [{"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000_000}]}]
TOPIC_CONFIG = {"resource_type": 2, "resource_name": "t"}
GROUP_CONFIG = {"resource_type": 32, "resource_name": "g"}
BROKER_CONFIG = {"resource_type": 4, "resource_name": "1"}
RETENTION = {"name": "retention.ms", "value": "60000"}
SESSION = {"name": "consumer.session.timeout.ms", "value": "50000"}
CLEANER = {"name": "log.cleaner.threads", "value": "1"}
FILTER = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": "User:nobody",
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
CREATION = {
    "resource_type": 2,
    "resource_name": "t",
    "principal": "User:carol",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}


def _altering(resource: dict[str, Any], setting: dict[str, Any], *, by_one: bool) -> dict[str, Any]:
    config = {**setting, "config_operation": 0} if by_one else setting
    return {"resources": [{**resource, "configs": [config]}], "validate_only": True}


def _topic_names(response: Any) -> list[str]:
    return [topic.name for topic in response.topics]


CASES = (
    Case(
        "produce",
        9,
        lambda world: _produced(_transactional(world), transactional_id="x"),
        ("Write topic t",),
        "a batch is transactional",
    ),
    Case("produce", 9, _produced(BATCH)),
    Case("fetch", 12, {**FETCH, "topics": FETCHED}),
    Case(
        "list_offsets",
        6,
        {
            "replica_id": -1,
            "isolation_level": 0,
            "topics": [{"name": "t", "partitions": [{"partition_index": 0, "timestamp": -1}]}],
        },
    ),
    Case("metadata", 12, {"topics": [{"name": "t"}], "allow_auto_topic_creation": False}, (), "topics are named"),
    Case("metadata", 12, {"topics": None}, (), "all topics are requested", _topic_names),
    Case(
        "metadata",
        9,
        {"topics": [{"name": "new"}], "allow_auto_topic_creation": True},
        ("Describe topic new",),
        "asking would create it",
        on="new",
    ),
    Case("offset_commit", 9, {"group_id": "g", "member_id": "", "topics": COMMIT}, (TOPIC,)),
    Case("offset_commit", 9, {"group_id": "g", "member_id": "", "topics": COMMIT}, (GROUP,)),
    Case(
        "offset_fetch",
        8,
        {"groups": [{"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0]}]}]},
        ("Describe topic t",),
    ),
    Case(
        "offset_fetch",
        8,
        {"groups": [{"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0]}]}]},
        ("Describe group g",),
        "topics are named",
    ),
    Case(
        "offset_fetch",
        8,
        {"groups": [{"group_id": "g", "topics": None}]},
        ("Describe group g",),
        "all topics are requested",
        lambda response: _topic_names(response.groups[0]),
    ),
    Case("find_coordinator", 4, {"coordinator_keys": ["g"], "key_type": 0}, (), "of groups"),
    Case("find_coordinator", 4, {"coordinator_keys": ["x"], "key_type": 1}, (), "of transactional ids"),
    Case("find_coordinator", 6, {"coordinator_keys": ["g:A:0"], "key_type": 2}, (), "of share groups' partitions"),
    Case(
        "join_group",
        9,
        {
            "group_id": "g",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            "member_id": "",
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        },
    ),
    Case("heartbeat", 4, {"group_id": "g", "generation_id": 1, "member_id": "m"}),
    Case("leave_group", 5, {"group_id": "g", "members": [{"member_id": "m"}]}),
    Case(
        "sync_group",
        5,
        {
            "group_id": "g",
            "generation_id": 1,
            "member_id": "m",
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [],
        },
    ),
    Case("describe_groups", 5, {"groups": ["g"]}),
    Case("list_groups", 5, {}, (), "", lambda response: [group.group_id for group in response.groups]),
    Case(
        "create_topics",
        7,
        {"topics": [{"name": "new", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}]},
        ("DescribeConfigs topic new",),
        on="new",
    ),
    Case(
        "create_topics",
        7,
        {"topics": [{"name": "new", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}]},
        ("Create topic new",),
        "v5+",
        on="new",
    ),
    Case(
        "delete_topics", 6, {"topics": [{"name": "t", "topic_id": None}], "timeout_ms": 10_000}, ("Describe topic t",)
    ),
    Case(
        "delete_topics",
        6,
        lambda world: {"topics": [{"name": None, "topic_id": world.topic_id}], "timeout_ms": 10_000},
        (),
        "a refused topic was named by its id",
        lambda response: [each.name for each in response.responses],
    ),
    Case(
        "delete_records",
        2,
        {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "offset": 0}]}], "timeout_ms": 1_000},
    ),
    Case(
        "init_producer_id",
        5,
        {"transactional_id": "y", "transaction_timeout_ms": 60_000},
        (),
        "with a transactional id",
        on="y",
    ),
    Case(
        "init_producer_id",
        5,
        {"transactional_id": None, "transaction_timeout_ms": 60_000},
        (),
        "without one; Write on any topic is enough",
    ),
    Case(
        "offset_for_leader_epoch",
        4,
        {"topics": [{"topic": "t", "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}]},
    ),
    Case("add_partitions_to_txn", 5, _adding, (), "v4+"),
    Case("add_partitions_to_txn", 3, _adding, ("Write topic t",), "v0 to v3"),
    Case("add_partitions_to_txn", 3, _adding, (TXN,), "v0 to v3"),
    Case("add_offsets_to_txn", 3, lambda world: _of_producer(world, group_id="g"), (GROUP,)),
    Case("add_offsets_to_txn", 3, lambda world: _of_producer(world, group_id="g"), (TXN,)),
    Case("end_txn", 3, lambda world: _of_producer(world, committed=False)),
    Case(
        "write_txn_markers",
        1,
        {
            "markers": [
                {
                    "producer_id": 77,
                    "producer_epoch": 0,
                    "transaction_result": False,
                    "coordinator_epoch": 0,
                    "topics": [{"name": "t", "partition_indexes": [0]}],
                }
            ]
        },
    ),
    Case("txn_offset_commit", 5, _txn_commit, (GROUP, TOPIC)),
    Case("txn_offset_commit", 5, _txn_commit, (TXN, TOPIC)),
    Case("txn_offset_commit", 5, _txn_commit, (TXN, GROUP)),
    Case("describe_acls", 3, FILTER),
    Case("create_acls", 3, {"creations": [CREATION]}),
    Case("delete_acls", 3, {"filters": [FILTER]}),
    Case("describe_configs", 4, {"resources": [TOPIC_CONFIG]}, (), "of topics"),
    Case("describe_configs", 4, {"resources": [GROUP_CONFIG]}, (), "of groups"),
    Case("describe_configs", 4, {"resources": [BROKER_CONFIG]}, (), "of brokers and the like"),
    Case("alter_configs", 2, _altering(TOPIC_CONFIG, RETENTION, by_one=False), (), "of topics"),
    Case("alter_configs", 2, _altering(GROUP_CONFIG, SESSION, by_one=False), (), "of groups"),
    Case("alter_configs", 2, _altering(BROKER_CONFIG, CLEANER, by_one=False), (), "of brokers"),
    Case("alter_replica_log_dirs", 2, {"dirs": [{"path": "/memory", "topics": T0}]}),
    Case("describe_log_dirs", 4, {"topics": None}),
    Case(
        "create_partitions",
        3,
        {"topics": [{"name": "t", "count": 2, "assignments": None}], "timeout_ms": 9_000, "validate_only": False},
    ),
    Case("delete_groups", 2, {"groups_names": ["g"]}),
    Case(
        "elect_leaders",
        2,
        {"election_type": 0, "topic_partitions": [{"topic": "t", "partitions": [0]}], "timeout_ms": 9},
    ),
    Case("incremental_alter_configs", 1, _altering(TOPIC_CONFIG, RETENTION, by_one=True), (), "of topics"),
    Case("incremental_alter_configs", 1, _altering(GROUP_CONFIG, SESSION, by_one=True), (), "of groups"),
    Case("incremental_alter_configs", 1, _altering(BROKER_CONFIG, CLEANER, by_one=True), (), "of brokers"),
    Case(
        "alter_partition_reassignments",
        1,
        {
            "topics": [{"name": "t", "partitions": [{"partition_index": 0, "replicas": (1,)}]}],
            "timeout_ms": 5_000,
        },
    ),
    Case("list_partition_reassignments", 0, {"topics": None, "timeout_ms": 5_000}),
    Case(
        "offset_delete",
        0,
        {"group_id": "g", "topics": [{"name": "t", "partitions": [{"partition_index": 0}]}]},
        (TOPIC,),
    ),
    Case(
        "offset_delete",
        0,
        {"group_id": "g", "topics": [{"name": "t", "partitions": [{"partition_index": 0}]}]},
        ("Delete group g",),
    ),
    Case(
        "describe_quorum", 2, {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}
    ),
    Case("update_features", 1, {"feature_updates": [{"feature": "group.version", "max_version_level": 1}]}),
    Case("unregister_controller", 0, {"controller_id": 7}),
    Case(
        "describe_cluster",
        1,
        {"include_cluster_authorized_operations": True},
        (),
        "",
        lambda response: response.cluster_authorized_operations,
    ),
    Case("describe_producers", 0, {"topics": [{"name": "t", "partition_indexes": [0]}]}),
    Case("describe_transactions", 0, {"transactional_ids": ["x"]}, ("Describe topic t",)),
    Case(
        "describe_transactions",
        0,
        {"transactional_ids": ["x"]},
        ("Describe transactional id x",),
        "",
        lambda response: [topic.topic for topic in response.transaction_states[0].topics],
    ),
    Case(
        "list_transactions",
        1,
        {"state_filters": [], "producer_id_filters": [], "duration_filter": -1},
        (),
        "",
        lambda response: [transaction_state.transactional_id for transaction_state in response.transaction_states],
    ),
    Case("describe_client_quotas", 1, {"components": [], "strict": False}),
    Case("alter_client_quotas", 1, {"entries": [{"entity": [], "ops": []}], "validate_only": True}),
    Case("describe_user_scram_credentials", 0, {"users": None}),
    Case("alter_user_scram_credentials", 0, {"deletions": [{"name": "bob", "mechanism": 1}], "upsertions": []}),
    Case("consumer_group_heartbeat", 1, _joining(subscribed_topic_names=["t"]), ("Describe topic t",), on="c"),
    Case("consumer_group_heartbeat", 1, _joining(subscribed_topic_names=["t"]), ("Read group c",), "topics are named"),
    Case(
        "consumer_group_heartbeat",
        1,
        _joining(group_id="e", subscribed_topic_regex="."),
        ("Read group e",),
        "a pattern finds it",
        lambda response: response.assignment and response.assignment.topic_partitions,
        again=lambda response: _joining(group_id="e", subscribed_topic_regex=".", member_epoch=response.member_epoch),
    ),
    Case("consumer_group_describe", 1, {"group_ids": ["c"]}, ("Describe topic t",), on="c"),
    Case("consumer_group_describe", 1, {"group_ids": ["c"]}, ("Describe group c",), "of every topic that members have"),
    Case("list_config_resources", 1, {"resource_types": []}),
    Case(
        "describe_topic_partitions",
        0,
        {"topics": [{"name": "t"}], "response_partition_limit": 9, "cursor": None},
        (),
        "topics are named",
    ),
    Case(
        "describe_topic_partitions",
        0,
        {"topics": [], "response_partition_limit": 9, "cursor": None},
        (),
        "all topics are requested",
        _topic_names,
    ),
)
