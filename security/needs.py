"""The table of rights that each API requires, and of the errors without them.

The checks are implemented in `broker/apis/`. A test walks this table and compares; docs/behaviour/acls.md shows it.
Source: responses of Kafka 4.3.0 to each API with and without the right.
"""

from __future__ import annotations

from typing import NamedTuple

from kohort.protocol.errors import ErrorCode
from kohort.security.rights import (
    ALTER_CLUSTER,
    ALTER_CONFIGS_CLUSTER,
    ALTER_CONFIGS_GROUP,
    ALTER_CONFIGS_TOPIC,
    ALTER_TOPIC,
    CLUSTER_ACTION,
    CREATE_CLUSTER,
    CREATE_TOPIC,
    DELETE_CLUSTER,
    DELETE_GROUP,
    DELETE_TOPIC,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS_CLUSTER,
    DESCRIBE_CONFIGS_GROUP,
    DESCRIBE_CONFIGS_TOPIC,
    DESCRIBE_GROUP,
    DESCRIBE_TOPIC,
    DESCRIBE_TRANSACTIONAL_ID,
    IDEMPOTENT_WRITE,
    READ_GROUP,
    READ_TOPIC,
    WRITE_TOPIC,
    WRITE_TRANSACTIONAL_ID,
    Right,
)

TOPIC = ErrorCode.topic_authorization_failed
GROUP = ErrorCode.group_authorization_failed
CLUSTER = ErrorCode.cluster_authorization_failed
TRANSACTIONAL_ID = ErrorCode.transactional_id_authorization_failed
HIDDEN = None  # instead of an error, items without the right are omitted


class Need(NamedTuple):
    """One row. Rows of an API are in the order of their checks."""

    api: str  # name in `api_keys.py`
    rights: tuple[Right, ...]  # any of them is sufficient
    refused: ErrorCode | None  # error if none of them is granted
    answer: str  # where the error is, or what is omitted
    condition: str = ""  # condition under which the right is checked; empty means always


NEEDS = (
    Need("produce", (WRITE_TRANSACTIONAL_ID,), TRANSACTIONAL_ID, "every partition", "a batch is transactional"),
    Need("produce", (WRITE_TOPIC,), TOPIC, "its partitions; with acks=0 the connection is closed"),
    Need("fetch", (READ_TOPIC,), TOPIC, "its partitions; a session keeps them, and serves them once that is allowed"),
    Need("list_offsets", (DESCRIBE_TOPIC,), TOPIC, "its partitions"),
    Need("metadata", (DESCRIBE_TOPIC,), TOPIC, "the topic", "topics are named"),
    Need("metadata", (DESCRIBE_TOPIC,), HIDDEN, "the topic", "all topics are requested"),
    Need("metadata", (CREATE_CLUSTER, CREATE_TOPIC), TOPIC, "the topic", "asking would create it"),
    Need("offset_commit", (READ_GROUP,), GROUP, "every partition"),
    Need("offset_commit", (READ_TOPIC,), TOPIC, "its partitions"),
    Need("offset_fetch", (DESCRIBE_GROUP,), GROUP, "the group; in v1 every partition, in v2 to v7 the top"),
    Need("offset_fetch", (DESCRIBE_TOPIC,), TOPIC, "its partitions", "topics are named"),
    Need("offset_fetch", (DESCRIBE_TOPIC,), HIDDEN, "the topic", "all topics are requested"),
    Need("find_coordinator", (DESCRIBE_GROUP,), GROUP, "the key", "of groups"),
    Need("find_coordinator", (DESCRIBE_TRANSACTIONAL_ID,), TRANSACTIONAL_ID, "the key", "of transactional ids"),
    Need("find_coordinator", (CLUSTER_ACTION,), CLUSTER, "every key", "of share groups' partitions"),
    Need("join_group", (READ_GROUP,), GROUP, "the top"),
    Need("heartbeat", (READ_GROUP,), GROUP, "the top"),
    Need("leave_group", (READ_GROUP,), GROUP, "the top"),
    Need("sync_group", (READ_GROUP,), GROUP, "the top"),
    Need("describe_groups", (DESCRIBE_GROUP,), GROUP, "the group"),
    Need("list_groups", (DESCRIBE_CLUSTER, DESCRIBE_GROUP), HIDDEN, "the group"),
    Need("create_topics", (CREATE_CLUSTER, CREATE_TOPIC), TOPIC, "the topic"),
    Need("create_topics", (DESCRIBE_CONFIGS_TOPIC,), TOPIC, "its `topic_config_error_code`, without settings", "v5+"),
    Need("delete_topics", (DELETE_CLUSTER, DELETE_TOPIC), TOPIC, "the topic"),
    Need("delete_topics", (DELETE_CLUSTER, DESCRIBE_TOPIC), HIDDEN, "the name", "a refused topic was named by its id"),
    Need("delete_records", (DELETE_TOPIC,), TOPIC, "its partitions"),
    Need("init_producer_id", (WRITE_TRANSACTIONAL_ID,), TRANSACTIONAL_ID, "the top", "with a transactional id"),
    Need(
        "init_producer_id",
        (IDEMPOTENT_WRITE, WRITE_TOPIC),
        CLUSTER,
        "the top",
        "without one; Write on any topic is enough",
    ),
    Need("offset_for_leader_epoch", (CLUSTER_ACTION, DESCRIBE_TOPIC), TOPIC, "its partitions"),
    Need("add_partitions_to_txn", (CLUSTER_ACTION,), CLUSTER, "the top", "v4+"),
    Need("add_partitions_to_txn", (WRITE_TRANSACTIONAL_ID,), TRANSACTIONAL_ID, "every partition", "v0 to v3"),
    Need(
        "add_partitions_to_txn",
        (WRITE_TOPIC,),
        TOPIC,
        "its partitions; the others receive OPERATION_NOT_ATTEMPTED",
        "v0 to v3",
    ),
    Need("add_offsets_to_txn", (WRITE_TRANSACTIONAL_ID,), TRANSACTIONAL_ID, "the top"),
    Need("add_offsets_to_txn", (READ_GROUP,), GROUP, "the top"),
    Need("end_txn", (WRITE_TRANSACTIONAL_ID,), TRANSACTIONAL_ID, "the top"),
    Need("write_txn_markers", (ALTER_CLUSTER, CLUSTER_ACTION), CLUSTER, "every partition"),
    Need("txn_offset_commit", (WRITE_TRANSACTIONAL_ID,), TRANSACTIONAL_ID, "every partition"),
    Need("txn_offset_commit", (READ_GROUP,), GROUP, "every partition"),
    Need("txn_offset_commit", (READ_TOPIC,), TOPIC, "its partitions"),
    Need("describe_acls", (DESCRIBE_CLUSTER,), CLUSTER, "the top"),
    Need("create_acls", (ALTER_CLUSTER,), CLUSTER, "every ACL"),
    Need("delete_acls", (ALTER_CLUSTER,), CLUSTER, "every filter"),
    Need("describe_configs", (DESCRIBE_CONFIGS_TOPIC,), TOPIC, "the topic", "of topics"),
    Need("describe_configs", (DESCRIBE_CONFIGS_GROUP,), GROUP, "the group", "of groups"),
    Need("describe_configs", (DESCRIBE_CONFIGS_CLUSTER,), CLUSTER, "the resource", "of brokers and the like"),
    Need("alter_configs", (ALTER_CONFIGS_TOPIC,), TOPIC, "the topic", "of topics"),
    Need("alter_configs", (ALTER_CONFIGS_GROUP,), GROUP, "the group", "of groups"),
    Need("alter_configs", (ALTER_CONFIGS_CLUSTER,), CLUSTER, "the broker", "of brokers"),
    Need("alter_replica_log_dirs", (ALTER_CLUSTER,), CLUSTER, "every partition"),
    Need("describe_log_dirs", (DESCRIBE_CLUSTER,), CLUSTER, "the top; before v3 the field does not exist"),
    Need("create_partitions", (ALTER_TOPIC,), TOPIC, "the topic"),
    Need("delete_groups", (DELETE_GROUP,), GROUP, "the group"),
    Need("elect_leaders", (ALTER_CLUSTER,), CLUSTER, "the top and every partition"),
    Need("incremental_alter_configs", (ALTER_CONFIGS_TOPIC,), TOPIC, "the topic", "of topics"),
    Need("incremental_alter_configs", (ALTER_CONFIGS_GROUP,), GROUP, "the group", "of groups"),
    Need("incremental_alter_configs", (ALTER_CONFIGS_CLUSTER,), CLUSTER, "the broker", "of brokers"),
    Need("alter_partition_reassignments", (ALTER_CLUSTER,), CLUSTER, "the top and every partition"),
    Need("list_partition_reassignments", (DESCRIBE_CLUSTER,), CLUSTER, "the top"),
    Need("offset_delete", (DELETE_GROUP,), GROUP, "the top"),
    Need("offset_delete", (READ_TOPIC,), TOPIC, "its partitions"),
    Need("describe_quorum", (DESCRIBE_CLUSTER,), CLUSTER, "the top"),
    Need("update_features", (ALTER_CLUSTER,), CLUSTER, "the top"),
    Need("unregister_controller", (ALTER_CLUSTER,), CLUSTER, "the top"),
    Need("describe_cluster", (DESCRIBE_CLUSTER,), HIDDEN, "the authorized operations, which are 0"),
    Need("describe_producers", (READ_TOPIC,), TOPIC, "its partitions"),
    Need("describe_transactions", (DESCRIBE_TRANSACTIONAL_ID,), TRANSACTIONAL_ID, "the id"),
    Need("describe_transactions", (DESCRIBE_TOPIC,), HIDDEN, "the topic"),
    Need("list_transactions", (DESCRIBE_TRANSACTIONAL_ID,), HIDDEN, "the id"),
    Need("describe_client_quotas", (DESCRIBE_CONFIGS_CLUSTER,), CLUSTER, "the top"),
    Need("alter_client_quotas", (ALTER_CONFIGS_CLUSTER,), CLUSTER, "every entry"),
    Need("describe_user_scram_credentials", (DESCRIBE_CLUSTER,), CLUSTER, "the top, and one result without a name"),
    Need("alter_user_scram_credentials", (ALTER_CLUSTER,), CLUSTER, "every user"),
    Need("consumer_group_heartbeat", (READ_GROUP,), GROUP, "the top"),
    Need("consumer_group_heartbeat", (DESCRIBE_TOPIC,), TOPIC, "the top", "topics are named"),
    Need("consumer_group_heartbeat", (DESCRIBE_TOPIC,), HIDDEN, "the topic", "a pattern finds it"),
    Need("consumer_group_describe", (DESCRIBE_GROUP,), GROUP, "the group"),
    Need("consumer_group_describe", (DESCRIBE_TOPIC,), TOPIC, "the group", "of every topic that members have"),
    Need("list_config_resources", (DESCRIBE_CONFIGS_CLUSTER,), CLUSTER, "the top"),
    Need("describe_topic_partitions", (DESCRIBE_TOPIC,), TOPIC, "the topic", "topics are named"),
    Need("describe_topic_partitions", (DESCRIBE_TOPIC,), HIDDEN, "the topic", "all topics are requested"),
    Need("initialize_share_group_state", (CLUSTER_ACTION,), CLUSTER, "every partition"),
    Need("read_share_group_state", (CLUSTER_ACTION,), CLUSTER, "every partition"),
    Need("write_share_group_state", (CLUSTER_ACTION,), CLUSTER, "every partition"),
    Need("delete_share_group_state", (CLUSTER_ACTION,), CLUSTER, "every partition"),
    Need("read_share_group_state_summary", (CLUSTER_ACTION,), CLUSTER, "every partition"),
    Need("share_group_heartbeat", (READ_GROUP,), GROUP, "the top"),
    Need("share_group_heartbeat", (DESCRIBE_TOPIC,), TOPIC, "the top", "topics are named"),
    Need("share_group_describe", (DESCRIBE_GROUP,), GROUP, "the group"),
    Need("share_group_describe", (DESCRIBE_TOPIC,), TOPIC, "the group", "of every topic that members have"),
    Need("share_fetch", (READ_GROUP,), GROUP, "the top"),
    Need("share_fetch", (READ_TOPIC,), TOPIC, "its partitions"),
    Need("share_acknowledge", (READ_GROUP,), GROUP, "the top"),
    Need("share_acknowledge", (READ_TOPIC,), TOPIC, "its partitions"),
    Need("describe_share_group_offsets", (DESCRIBE_GROUP,), GROUP, "the group"),
    Need("describe_share_group_offsets", (DESCRIBE_TOPIC,), TOPIC, "its partitions", "topics are named"),
    Need("describe_share_group_offsets", (DESCRIBE_TOPIC,), HIDDEN, "the topic", "all topics are requested"),
    Need("alter_share_group_offsets", (READ_GROUP,), GROUP, "the top"),
    Need("alter_share_group_offsets", (READ_TOPIC,), TOPIC, "its partitions"),
    Need("delete_share_group_offsets", (DELETE_GROUP,), GROUP, "the top"),
    Need("delete_share_group_offsets", (READ_TOPIC,), TOPIC, "the topic"),
    Need("streams_group_heartbeat", (READ_GROUP,), GROUP, "the top"),
    Need("streams_group_heartbeat", (DESCRIBE_TOPIC,), TOPIC, "the top", "a topology is brought"),
    Need(
        "streams_group_heartbeat",
        (CREATE_CLUSTER, CREATE_TOPIC),
        HIDDEN,
        "no topic is created, as a status reports",
        "internal topics are missing",
    ),
    Need("streams_group_topology_description_update", (READ_GROUP,), GROUP, "the top"),
    Need("streams_group_describe", (DESCRIBE_GROUP,), GROUP, "the group"),
    Need("streams_group_describe", (DESCRIBE_TOPIC,), TOPIC, "the group", "of every topic of its topology"),
)

FOR_EVERYBODY = frozenset(
    {
        "api_versions",
        "sasl_handshake",
        "sasl_authenticate",
        "create_delegation_token",
        "renew_delegation_token",
        "expire_delegation_token",
        "describe_delegation_token",
    }
)  # APIs without a check; only a token for another user needs CREATE_TOKENS_USER, and is then rejected.
