"""Settings of the broker, with Kafka's names and the defaults of Kafka 4.4.

In order of increasing precedence: the defaults here, the profile, the file of `--config`, `--set`.
Kafka's settings that have no meaning here are listed in unsupported.py.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kohort.broker.settings.setting import (
    Setting,
    SettingError,
    boolean,
    integer,
    long_integer,
    optional_integer,
    optional_long,
    principals,
    since,
    text,
    words,
)
from kohort.protocol.releases import CURRENT, DEFAULTS, RELEASES
from kohort.storage.config_types import INT_MAX, LONG_MAX, SHORT_MAX

if TYPE_CHECKING:
    from kohort.broker.settings.unsupported import PassedOver

__all__ = ["PROFILES", "SettingError", "Settings"]

# Settings of a profile: `faithful` is unchanged Kafka 4.4; `test` makes every delay as short as possible.
PROFILES: dict[str, dict[str, str]] = {
    "faithful": {},
    "test": {
        "group.initial.rebalance.delay.ms": "50",
        "group.min.session.timeout.ms": "10",
        "group.consumer.min.session.timeout.ms": "10",
        "group.consumer.min.heartbeat.interval.ms": "10",
        "group.consumer.heartbeat.interval.ms": "100",
        "group.consumer.assignment.interval.ms": "0",
        "group.share.min.session.timeout.ms": "10",
        "group.share.min.heartbeat.interval.ms": "10",
        "group.share.heartbeat.interval.ms": "100",
        "group.share.assignment.interval.ms": "0",
        "group.share.min.record.lock.duration.ms": "1000",
        "group.streams.min.session.timeout.ms": "10",
        "group.streams.min.heartbeat.interval.ms": "10",
        "group.streams.heartbeat.interval.ms": "100",
        "group.streams.assignment.interval.ms": "0",
        "group.streams.initial.rebalance.delay.ms": "0",
        "kohort.offsets.topic.at.start": "true",
    },
}

IN_MEMORY_PLUGIN = "org.apache.kafka.server.streams.InMemoryTopologyDescriptionPlugin"
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

# Lowered to the number of nodes unless set: with Kafka's 3, a single node could not serve groups.
_FACTORS = (
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",
    "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.min.isr",
)


class Settings:
    """Broker settings as typed attributes: `settings.group_max_size` is `group.max.size`."""

    # Groups
    group_min_session_timeout_ms = integer(6_000, "minimum session timeout that members may request")
    group_max_session_timeout_ms = integer(1_800_000, "maximum session timeout that members may request")
    group_initial_rebalance_delay_ms = integer(3_000, "time that a new group waits for more members")
    group_max_size = integer(INT_MAX, "maximum number of members of a group", 1)
    group_coordinator_rebalance_protocols = words(
        ("classic", "consumer", "streams"),
        "types of groups that are enabled",
        ("classic", "consumer", "streams", "share"),
    )

    # Groups of the consumer protocol (KIP-848): defaults of groups' settings, and their limits
    group_consumer_session_timeout_ms = integer(45_000, "session timeout of consumer groups", 1)
    group_consumer_min_session_timeout_ms = integer(45_000, "minimum session timeout of a consumer group", 1)
    group_consumer_max_session_timeout_ms = integer(60_000, "maximum session timeout of a consumer group", 1)
    group_consumer_heartbeat_interval_ms = integer(5_000, "heartbeat interval of consumer groups", 1)
    group_consumer_min_heartbeat_interval_ms = integer(5_000, "minimum heartbeat interval of a consumer group", 1)
    group_consumer_max_heartbeat_interval_ms = integer(15_000, "maximum heartbeat interval of a consumer group", 1)
    group_consumer_assignment_interval_ms = integer(
        1_000, "minimum time between two assignments of a consumer group", 0
    )
    group_consumer_min_assignment_interval_ms = integer(0, "minimum assignment interval of a consumer group", 0)
    group_consumer_max_assignment_interval_ms = integer(15_000, "maximum assignment interval of a consumer group", 0)
    group_consumer_max_size = integer(INT_MAX, "maximum number of members of a consumer group", 1)
    group_consumer_assignors = words(
        ("uniform", "range"), "server-side assignors; the first one is the default", ("uniform", "range")
    )
    group_consumer_migration_policy = text(
        "bidirectional",
        "conversions of groups with members that are permitted",
        ("bidirectional", "upgrade", "downgrade", "disabled"),
    )
    group_consumer_regex_refresh_interval_ms = integer(600_000, "maximum time until patterns are matched again", 10_000)

    # Share groups (KIP-932): defaults of groups' settings, and their limits
    group_share_session_timeout_ms = integer(45_000, "session timeout of share groups", 1)
    group_share_min_session_timeout_ms = integer(45_000, "minimum session timeout of a share group", 1)
    group_share_max_session_timeout_ms = integer(60_000, "maximum session timeout of a share group", 1)
    group_share_heartbeat_interval_ms = integer(5_000, "heartbeat interval of share groups", 1)
    group_share_min_heartbeat_interval_ms = integer(5_000, "minimum heartbeat interval of a share group", 1)
    group_share_max_heartbeat_interval_ms = integer(15_000, "maximum heartbeat interval of a share group", 1)
    group_share_assignment_interval_ms = integer(1_000, "minimum time between two assignments of a share group", 0)
    group_share_min_assignment_interval_ms = integer(0, "minimum assignment interval of a share group", 0)
    group_share_max_assignment_interval_ms = integer(15_000, "maximum assignment interval of a share group", 0)
    group_share_max_size = integer(200, "maximum number of members of a share group", 1, 1_000)
    group_share_assignors = words(("simple",), "the server-side assignor of share groups", ("simple",))
    group_share_initialize_retry_interval_ms = integer(
        30_000, "time after which the initialization of a partition for a share group is retried", 1
    )

    # Streams groups (KIP-1071): defaults of groups' settings, and their limits
    group_streams_session_timeout_ms = integer(45_000, "session timeout of streams groups", 1)
    group_streams_min_session_timeout_ms = integer(45_000, "minimum session timeout of a streams group", 1)
    group_streams_max_session_timeout_ms = integer(60_000, "maximum session timeout of a streams group", 1)
    group_streams_heartbeat_interval_ms = integer(5_000, "heartbeat interval of streams groups", 1)
    group_streams_min_heartbeat_interval_ms = integer(5_000, "minimum heartbeat interval of a streams group", 1)
    group_streams_max_heartbeat_interval_ms = integer(15_000, "maximum heartbeat interval of a streams group", 1)
    group_streams_assignment_interval_ms = integer(1_000, "minimum time between two assignments of a streams group", 0)
    group_streams_min_assignment_interval_ms = integer(0, "minimum assignment interval of a streams group", 0)
    group_streams_max_assignment_interval_ms = integer(15_000, "maximum assignment interval of a streams group", 0)
    group_streams_initial_rebalance_delay_ms = integer(3_000, "time that a new streams group waits for more members", 0)
    group_streams_max_size = integer(INT_MAX, "maximum number of members of a streams group", 1)
    group_streams_num_standby_replicas = integer(0, "standby replicas of each stateful task", 0)
    group_streams_max_standby_replicas = integer(2, "maximum number of standby replicas of a streams group", 0)

    # Records of share groups, and the topic with their states
    group_share_record_lock_duration_ms = integer(30_000, "time for which a member acquires a record", 1_000, 3_600_000)
    group_share_min_record_lock_duration_ms = integer(15_000, "minimum record lock duration of a group", 1_000, 30_000)
    group_share_max_record_lock_duration_ms = integer(
        60_000, "maximum record lock duration of a group", 30_000, 3_600_000
    )
    group_share_delivery_count_limit = integer(5, "maximum number of deliveries of a record", 2)
    group_share_min_delivery_count_limit = integer(2, "minimum delivery count limit of a group", 2)
    group_share_max_delivery_count_limit = integer(10, "maximum delivery count limit of a group", 2)
    group_share_partition_max_record_locks = integer(
        2_000, "records of a partition that a share group may acquire", 100
    )
    group_share_min_partition_max_record_locks = integer(100, "minimum of this limit of a group", 100)
    group_share_max_partition_max_record_locks = integer(4_000, "maximum of this limit of a group", 100)
    group_share_max_share_sessions = integer(2_000, "maximum number of share sessions of a node", 1)
    share_coordinator_state_topic_num_partitions = integer(50, "partitions of __share_group_state", 1)
    share_coordinator_state_topic_replication_factor = integer(
        3, "replicas of __share_group_state; at most the number of nodes", 1, SHORT_MAX
    )
    share_coordinator_state_topic_min_isr = integer(
        2, "in-sync replicas that it needs; at most the number of nodes", 1, SHORT_MAX
    )
    share_coordinator_state_topic_segment_bytes = integer(104_857_600, "segment size of __share_group_state", 1)
    share_coordinator_snapshot_update_records_per_snapshot = integer(
        500, "updates of a partition's state between two snapshots", 0, 500
    )
    share_coordinator_cold_partition_snapshot_interval_ms = integer(
        300_000, "age at which a snapshot of an unchanged partition's state is written", 1
    )

    # Offsets, and their topic
    offset_metadata_max_bytes = integer(4_096, "maximum length of a commit's metadata")
    offsets_retention_minutes = integer(10_080, "retention of the offsets of an empty group", 1)
    offsets_retention_check_interval_ms = long_integer(600_000, "interval of checks for expired offsets", 1)
    offsets_topic_num_partitions = integer(50, "partitions of __consumer_offsets", 1)
    offsets_topic_replication_factor = integer(
        3, "replicas of __consumer_offsets; at most the number of nodes", 1, SHORT_MAX
    )
    offsets_topic_segment_bytes = integer(104_857_600, "segment size of __consumer_offsets", 1)
    kohort_offsets_topic_at_start = boolean(False, "create __consumer_offsets at start instead of on first use")

    # Topics
    auto_create_topics_enable = boolean(True, "a request for a topic's metadata creates it")
    delete_topic_enable = boolean(True, "permit the deletion of topics")
    num_partitions = integer(1, "default number of partitions of a topic", 1)
    default_replication_factor = integer(1, "default number of replicas of a topic", 1)
    min_insync_replicas = integer(1, "in-sync replicas that acks=all needs", 1)
    message_max_bytes = integer(1_048_588, "maximum size of a record batch", 0)
    kohort_batch_decompressed_max_bytes = integer(
        16_777_216, "maximum decompressed size of a batch; Kafka has no limit", 1_048_576
    )
    compression_type = text(
        "producer",
        "compression of stored batches; other values behave like `producer`",
        ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    )
    log_cleanup_policy = words(("delete",), "cleanup of old records", ("delete", "compact"))
    log_retention_ms = optional_long(
        "retention of records, -1 without limit; takes precedence over minutes and hours", -1
    )
    log_retention_minutes = optional_integer("the same in minutes; takes precedence over hours", -1)
    log_retention_hours = integer(168, "the same in hours")
    log_retention_bytes = long_integer(-1, "bytes retained per partition; -1 without limit")
    log_retention_check_interval_ms = long_integer(300_000, "interval of checks for old records", 1)
    log_segment_bytes = integer(1_073_741_824, "size at which a new segment is started", 1_048_576)
    log_flush_interval_ms = long_integer(1_000, "interval of syncs with --fsync interval; Kafka's default: never", 1)
    log_roll_ms = optional_long("age at which a new segment is started; takes precedence over hours", 1)
    log_roll_hours = integer(168, "the same in hours", 1)
    log_message_timestamp_type = text("CreateTime", "origin of records' timestamps", ("CreateTime", "LogAppendTime"))
    log_message_timestamp_before_max_ms = long_integer(LONG_MAX, "maximum age of a record's timestamp", 0)
    log_message_timestamp_after_max_ms = long_integer(
        3_600_000, "maximum time by which a record's timestamp is in the future", 0
    )
    log_cleaner_backoff_ms = long_integer(15_000, "interval of checks for logs to be compacted", 0)
    log_cleaner_delete_retention_ms = long_integer(86_400_000, "retention of tombstones in compacted topics", 0)
    fetch_max_bytes = integer(57_671_680, "maximum size of a Fetch response", 1_024)
    max_incremental_fetch_session_cache_slots = integer(
        1_000, "maximum number of fetch sessions; more have none or evict old ones", 0
    )
    max_request_partition_size_limit = integer(
        2_000, "maximum number of partitions in a DescribeTopicPartitions response", 1
    )
    producer_id_expiration_ms = integer(86_400_000, "retention of the sequence numbers of an idle producer", 1)

    # Transactions, and their topic
    transaction_max_timeout_ms = integer(900_000, "maximum transaction timeout of producers", 1)
    transactional_id_expiration_ms = integer(604_800_000, "retention of unused transactional ids", 1)
    transaction_abort_timed_out_transaction_cleanup_interval_ms = integer(
        10_000, "interval of checks for transactions that exceed their timeout", 1
    )
    transaction_remove_expired_transaction_cleanup_interval_ms = integer(
        3_600_000, "interval of checks for unused transactional ids", 1
    )
    transaction_state_log_num_partitions = integer(50, "partitions of __transaction_state", 1)
    transaction_state_log_replication_factor = integer(
        3, "replicas of __transaction_state; at most the number of nodes", 1, SHORT_MAX
    )
    transaction_state_log_min_isr = integer(2, "in-sync replicas that it needs; at most the number of nodes", 1)
    transaction_state_log_segment_bytes = integer(104_857_600, "segment size of __transaction_state", 1)

    # Leaders
    auto_leader_rebalance_enable = boolean(True, "return leadership to preferred leaders after their node's restart")
    leader_imbalance_check_interval_seconds = long_integer(300, "delay of this after the restart", 1)

    # Listeners and authentication
    listeners = text("", "listeners as NAME://HOST:PORT,...; empty: use --listen")
    advertised_listeners = text(
        "", "addresses for clients as NAME://HOST:PORT,...; empty: the address that each has dialled"
    )
    listener_security_protocol_map = text(
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "security protocol of each listener",
    )
    sasl_enabled_mechanisms = text("GSSAPI", "enabled mechanisms: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER")

    # Connections
    socket_request_max_bytes = integer(104_857_600, "maximum request size; larger ones close the connection", 1)
    kohort_request_max_elements = integer(
        50_000, "maximum array elements of a request; more close the connection; Kafka has no limit", 32_767
    )
    kohort_response_max_bytes = integer(
        104_857_600, "maximum response size except Fetch; larger ones close the connection", 1_048_576
    )
    socket_listen_backlog_size = integer(4_096, "connections waiting to be accepted; Kafka's default: 50", 1)
    connections_max_idle_ms = long_integer(600_000, "idle time after which a connection is closed; negative: never")
    connection_failed_authentication_delay_ms = integer(100, "delay of the response to a failed login", 0)
    connections_max_reauth_ms = long_integer(0, "lifetime of a login; 0: until the connection ends", 0)
    sasl_server_max_receive_size = integer(524_288, "maximum message size before the login", 1)
    max_connections = integer(INT_MAX, "maximum number of connections; more are closed", 0)
    max_connections_per_ip = integer(INT_MAX, "maximum number of connections from one address; more are closed", 0)

    # Authorization
    authorizer_class_name = text("", "authorizer class; empty: no authorization", ("", STANDARD_AUTHORIZER))
    super_users = principals("principals that may do everything: User:name, separated by semicolons")
    allow_everyone_if_no_acl_found = boolean(False, "allow operations on resources without ACLs")

    # New in Kafka 4.4
    errors_deadletterqueue_auto_create_topics_enable = since("4.4", boolean(False, "create missing dead-letter topics"))
    errors_deadletterqueue_topic_name_prefix = since(
        "4.4", text("dlq.", "prefix of dead-letter topics that may be created")
    )
    group_streams_assignors = since(
        "4.4", words(("sticky",), "the server-side assignor of streams groups", ("sticky",))
    )
    group_streams_rack_aware_assignment_tags = since(
        "4.4", text("", "client tags that members of streams groups must have")
    )
    group_streams_topology_description_plugin_class = since(
        "4.4", text("", "plugin that stores topology descriptions; empty: none", ("", IN_MEMORY_PLUGIN))
    )
    max_decompressed_message_bytes = since(
        "4.4", integer(2_147_483_639, "maximum size of a batch after decompression", 1)
    )

    # Emulation of another release
    kohort_as_kafka = text(CURRENT, "emulated release of Kafka: its API versions and defaults", RELEASES)

    # Nodes
    node_id = integer(1, "id of the first node; the other nodes have the next ids; Kafka has no default", 0)
    broker_rack = text("", "rack in Metadata; empty: none")

    def __init__(
        self,
        explicit: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        profile: str = "faithful",
        nodes: int = 1,
        *,
        from_file: Container[str] = (),
    ) -> None:
        """Read settings. Raises SettingError for unknown names and invalid values.

        Args:
            explicit: Overrides the profile, as text.
            from_file: Names from a file for Kafka. Unknown ones are ignored there, as Kafka does.
        """
        self.profile = profile
        self.explicit = dict(explicit)
        # Values that are not Kafka's defaults, as text: `explicit` and those of the profile.
        self.changed = PROFILES[profile] | self.explicit
        self.ignored: list[str] = []  # names that Kafka has but that have no effect here, for a log line
        self.passed_over: list[PassedOver] = []  # names that Kafka does not have, for a warning
        values = self.__dict__
        for name, setting in SETTINGS.items():
            values[name.replace(".", "_")] = setting.default
        for name in _FACTORS:
            values[name.replace(".", "_")] = min(SETTINGS[name].default, nodes)
        for name, value in DEFAULTS.get(self.explicit.get("kohort.as.kafka", CURRENT), {}).items():
            values[name.replace(".", "_")] = SETTINGS[name].read(value)
        for name, value in self.changed.items():
            registered = SETTINGS.get(name)
            if registered is not None:
                values[name.replace(".", "_")] = registered.read(value)
                continue
            from kohort.broker.settings import unsupported  # loaded only for other names

            if unsupported.is_foreign(name, value):
                self.ignored.append(name)
            elif name in from_file:
                self.passed_over.append(unsupported.passed_over(name, SETTINGS))
            else:
                unsupported.refuse(name, SETTINGS)
        if self.listeners:
            from kohort.broker.settings.listeners import is_understood

            self.ignored = [name for name in self.ignored if not is_understood(name)]

    def __iter__(self) -> Iterator[tuple[Setting[Any], object]]:
        """Iterate over all settings and their values, by name."""
        for name, setting in sorted(SETTINGS.items()):
            yield setting, getattr(self, name.replace(".", "_"))


# All settings with a meaning here, by Kafka's name.
SETTINGS: dict[str, Setting[Any]] = {item.name: item for item in vars(Settings).values() if isinstance(item, Setting)}
