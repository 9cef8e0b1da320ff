"""The table of supported APIs and versions, from which every other list of APIs is derived."""

from typing import NamedTuple

NEVER = 32767  # `first_flexible` of an API without flexible versions


class ApiSpec(NamedTuple):
    """One API. `name` is the module in `protocol/messages` and in `broker/apis`."""

    key: int
    name: str
    min_version: int
    max_version: int
    first_flexible: int  # first version with tagged fields in headers and structures (KIP-482)
    readable_from: int = 0  # Older versions are only advertised; a request of one closes the connection.
    # Whether to stop processing when the client disconnects: it only reads, or creates topics for this client.
    may_be_abandoned: bool = False


APIS = (
    # Versions 0 to 2 are advertised for the sake of clients that would not talk to us otherwise (KAFKA-18659).
    ApiSpec(0, "produce", 0, 13, 9, readable_from=3),
    ApiSpec(1, "fetch", 4, 18, 12, may_be_abandoned=True),
    ApiSpec(2, "list_offsets", 1, 11, 6, may_be_abandoned=True),
    ApiSpec(3, "metadata", 0, 13, 9, may_be_abandoned=True),
    ApiSpec(8, "offset_commit", 2, 10, 8),
    ApiSpec(9, "offset_fetch", 1, 10, 6, may_be_abandoned=True),
    ApiSpec(10, "find_coordinator", 0, 6, 3, may_be_abandoned=True),
    ApiSpec(11, "join_group", 0, 9, 6),
    ApiSpec(12, "heartbeat", 0, 4, 4),
    ApiSpec(13, "leave_group", 0, 5, 4),
    ApiSpec(14, "sync_group", 0, 5, 4),
    ApiSpec(15, "describe_groups", 0, 6, 5, may_be_abandoned=True),
    ApiSpec(16, "list_groups", 0, 5, 3, may_be_abandoned=True),
    ApiSpec(17, "sasl_handshake", 0, 1, NEVER),
    ApiSpec(18, "api_versions", 0, 5, 3),
    ApiSpec(19, "create_topics", 2, 7, 5),
    ApiSpec(20, "delete_topics", 1, 6, 4),
    ApiSpec(21, "delete_records", 0, 2, 2),
    ApiSpec(22, "init_producer_id", 0, 5, 2),
    ApiSpec(23, "offset_for_leader_epoch", 2, 4, 4, may_be_abandoned=True),
    ApiSpec(24, "add_partitions_to_txn", 0, 5, 3),
    ApiSpec(25, "add_offsets_to_txn", 0, 4, 3),
    ApiSpec(26, "end_txn", 0, 5, 3),
    ApiSpec(27, "write_txn_markers", 1, 2, 1),
    ApiSpec(28, "txn_offset_commit", 0, 6, 3),
    ApiSpec(29, "describe_acls", 1, 3, 2, may_be_abandoned=True),
    ApiSpec(30, "create_acls", 1, 3, 2),
    ApiSpec(31, "delete_acls", 1, 3, 2),
    ApiSpec(32, "describe_configs", 1, 4, 4, may_be_abandoned=True),
    ApiSpec(33, "alter_configs", 0, 2, 2),
    ApiSpec(34, "alter_replica_log_dirs", 1, 2, 2),
    ApiSpec(35, "describe_log_dirs", 1, 5, 2, may_be_abandoned=True),
    ApiSpec(36, "sasl_authenticate", 0, 2, 2),
    ApiSpec(37, "create_partitions", 0, 3, 2),
    ApiSpec(38, "create_delegation_token", 1, 3, 2),
    ApiSpec(39, "renew_delegation_token", 1, 2, 2),
    ApiSpec(40, "expire_delegation_token", 1, 2, 2),
    ApiSpec(41, "describe_delegation_token", 1, 3, 2, may_be_abandoned=True),
    ApiSpec(42, "delete_groups", 0, 3, 2),
    ApiSpec(43, "elect_leaders", 0, 2, 2),
    ApiSpec(44, "incremental_alter_configs", 0, 1, 1),
    ApiSpec(45, "alter_partition_reassignments", 0, 1, 0),
    ApiSpec(46, "list_partition_reassignments", 0, 0, 0, may_be_abandoned=True),
    ApiSpec(47, "offset_delete", 0, 0, NEVER),
    ApiSpec(48, "describe_client_quotas", 0, 1, 1, may_be_abandoned=True),
    ApiSpec(49, "alter_client_quotas", 0, 1, 1),
    ApiSpec(50, "describe_user_scram_credentials", 0, 0, 0, may_be_abandoned=True),
    ApiSpec(51, "alter_user_scram_credentials", 0, 0, 0),
    ApiSpec(55, "describe_quorum", 0, 2, 0, may_be_abandoned=True),
    ApiSpec(57, "update_features", 0, 2, 0),
    ApiSpec(60, "describe_cluster", 0, 2, 0, may_be_abandoned=True),
    ApiSpec(61, "describe_producers", 0, 0, 0, may_be_abandoned=True),
    ApiSpec(65, "describe_transactions", 0, 0, 0, may_be_abandoned=True),
    ApiSpec(66, "list_transactions", 0, 2, 0, may_be_abandoned=True),
    ApiSpec(68, "consumer_group_heartbeat", 0, 1, 0),
    ApiSpec(69, "consumer_group_describe", 0, 1, 0, may_be_abandoned=True),
    ApiSpec(74, "list_config_resources", 0, 1, 0, may_be_abandoned=True),
    ApiSpec(75, "describe_topic_partitions", 0, 0, 0, may_be_abandoned=True),
    ApiSpec(76, "share_group_heartbeat", 1, 1, 0),
    ApiSpec(77, "share_group_describe", 1, 1, 0, may_be_abandoned=True),
    ApiSpec(78, "share_fetch", 1, 2, 0),
    ApiSpec(79, "share_acknowledge", 1, 2, 0),
    ApiSpec(83, "initialize_share_group_state", 0, 0, 0),
    ApiSpec(84, "read_share_group_state", 0, 0, 0),
    ApiSpec(85, "write_share_group_state", 0, 1, 0),
    ApiSpec(86, "delete_share_group_state", 0, 0, 0),
    ApiSpec(87, "read_share_group_state_summary", 0, 1, 0, may_be_abandoned=True),
    ApiSpec(88, "streams_group_heartbeat", 0, 1, 0),
    ApiSpec(89, "streams_group_describe", 0, 1, 0, may_be_abandoned=True),
    ApiSpec(90, "describe_share_group_offsets", 0, 1, 0, may_be_abandoned=True),
    ApiSpec(91, "alter_share_group_offsets", 0, 0, 0),
    ApiSpec(92, "delete_share_group_offsets", 0, 0, 0),
    ApiSpec(93, "streams_group_topology_description_update", 0, 0, 0),
    ApiSpec(94, "unregister_controller", 0, 0, 0),
)  # Ranges are those of Apache Kafka 4.4, as in its ApiVersions response.

API_BY_KEY = {api.key: api for api in APIS}
API_BY_NAME = {api.name: api for api in APIS}
