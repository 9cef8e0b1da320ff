"""The broker's settings, under Kafka's names and with the defaults of Kafka 4.3.

What counts, later over earlier: the defaults here, the profile, the file of `--config`, `--set`.
Names of Kafka that have no meaning here are listed in unsupported.py.
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
    text,
    words,
)
from kohort.protocol.releases import CURRENT, DEFAULTS, RELEASES
from kohort.storage.config_types import INT_MAX, LONG_MAX, SHORT_MAX

if TYPE_CHECKING:
    from kohort.broker.settings.unsupported import PassedOver

__all__ = ["PROFILES", "SettingError", "Settings"]

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
"""What a profile changes. `faithful` is Kafka 4.3 as it comes; `test` makes every delay as short as it may be."""

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

_FACTORS = (
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",
    "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.min.isr",
)
"""Lowered to the number of nodes unless somebody says otherwise: Kafka's 3 would leave a single node without groups."""


class Settings:
    """Every setting as a typed attribute: `settings.group_max_size` is `group.max.size`."""

    # Groups
    group_min_session_timeout_ms = integer(6_000, "shortest session timeout a member may ask for")
    group_max_session_timeout_ms = integer(1_800_000, "longest session timeout a member may ask for")
    group_initial_rebalance_delay_ms = integer(3_000, "how long a new group waits for more members")
    group_max_size = integer(INT_MAX, "members a group may have", 1)
    group_coordinator_rebalance_protocols = words(
        ("classic", "consumer", "streams"),
        "protocols that groups may have",
        ("classic", "consumer", "streams", "share"),
    )

    # Groups of the consumer protocol (KIP-848): what counts for those without settings of their own, and the limits
    group_consumer_session_timeout_ms = integer(45_000, "how long a member of a consumer group may be silent", 1)
    group_consumer_min_session_timeout_ms = integer(45_000, "shortest session timeout of a consumer group", 1)
    group_consumer_max_session_timeout_ms = integer(60_000, "longest session timeout of a consumer group", 1)
    group_consumer_heartbeat_interval_ms = integer(5_000, "how often members of a consumer group are to beat", 1)
    group_consumer_min_heartbeat_interval_ms = integer(5_000, "shortest heartbeat interval of a consumer group", 1)
    group_consumer_max_heartbeat_interval_ms = integer(15_000, "longest heartbeat interval of a consumer group", 1)
    group_consumer_assignment_interval_ms = integer(
        1_000, "how long after one assignment a consumer group gets the next", 0
    )
    group_consumer_min_assignment_interval_ms = integer(0, "shortest assignment interval of a consumer group", 0)
    group_consumer_max_assignment_interval_ms = integer(15_000, "longest assignment interval of a consumer group", 0)
    group_consumer_max_size = integer(INT_MAX, "members a consumer group may have", 1)
    group_consumer_assignors = words(
        ("uniform", "range"), "server-side assignors; the first where nobody asks for one", ("uniform", "range")
    )
    group_consumer_migration_policy = text(
        "bidirectional",
        "which groups with members may change their protocol",
        ("bidirectional", "upgrade", "downgrade", "disabled"),
    )
    group_consumer_regex_refresh_interval_ms = integer(
        600_000, "how often patterns are matched anew, at the latest", 10_000
    )

    # Share groups (KIP-932): what counts for those without settings of their own, and the limits
    group_share_session_timeout_ms = integer(45_000, "how long a member of a share group may be silent", 1)
    group_share_min_session_timeout_ms = integer(45_000, "shortest session timeout of a share group", 1)
    group_share_max_session_timeout_ms = integer(60_000, "longest session timeout of a share group", 1)
    group_share_heartbeat_interval_ms = integer(5_000, "how often members of a share group are to beat", 1)
    group_share_min_heartbeat_interval_ms = integer(5_000, "shortest heartbeat interval of a share group", 1)
    group_share_max_heartbeat_interval_ms = integer(15_000, "longest heartbeat interval of a share group", 1)
    group_share_assignment_interval_ms = integer(1_000, "how long after one assignment a share group gets the next", 0)
    group_share_min_assignment_interval_ms = integer(0, "shortest assignment interval of a share group", 0)
    group_share_max_assignment_interval_ms = integer(15_000, "longest assignment interval of a share group", 0)
    group_share_max_size = integer(200, "members a share group may have", 1, 1_000)
    group_share_assignors = words(("simple",), "the server-side assignor of share groups", ("simple",))
    group_share_initialize_retry_interval_ms = integer(
        30_000, "how long a partition may take to be made ready for a share group before that is tried again", 1
    )

    # Streams groups (KIP-1071): likewise
    group_streams_session_timeout_ms = integer(45_000, "how long a member of a streams group may be silent", 1)
    group_streams_min_session_timeout_ms = integer(45_000, "shortest session timeout of a streams group", 1)
    group_streams_max_session_timeout_ms = integer(60_000, "longest session timeout of a streams group", 1)
    group_streams_heartbeat_interval_ms = integer(5_000, "how often members of a streams group are to beat", 1)
    group_streams_min_heartbeat_interval_ms = integer(5_000, "shortest heartbeat interval of a streams group", 1)
    group_streams_max_heartbeat_interval_ms = integer(15_000, "longest heartbeat interval of a streams group", 1)
    group_streams_assignment_interval_ms = integer(
        1_000, "how long after one assignment a streams group gets the next", 0
    )
    group_streams_min_assignment_interval_ms = integer(0, "shortest assignment interval of a streams group", 0)
    group_streams_max_assignment_interval_ms = integer(15_000, "longest assignment interval of a streams group", 0)
    group_streams_initial_rebalance_delay_ms = integer(3_000, "how long a new streams group waits for more members", 0)
    group_streams_max_size = integer(INT_MAX, "members a streams group may have", 1)
    group_streams_num_standby_replicas = integer(0, "standby copies of each task that has a state", 0)
    group_streams_max_standby_replicas = integer(2, "most standby copies that a streams group may ask for", 0)

    # Records of share groups, and the topic that keeps their states
    group_share_record_lock_duration_ms = integer(30_000, "how long a member holds a record", 1_000, 3_600_000)
    group_share_min_record_lock_duration_ms = integer(15_000, "shortest time a record is held", 1_000, 30_000)
    group_share_max_record_lock_duration_ms = integer(60_000, "longest time a record is held", 30_000, 3_600_000)
    group_share_delivery_count_limit = integer(5, "how often a record is delivered", 2)
    group_share_min_delivery_count_limit = integer(2, "fewest deliveries that a group may ask for", 2)
    group_share_max_delivery_count_limit = integer(10, "most deliveries that a group may ask for", 2)
    group_share_partition_max_record_locks = integer(2_000, "records of a partition that a share group may hold", 100)
    group_share_min_partition_max_record_locks = integer(100, "fewest such records that a group may ask for", 100)
    group_share_max_partition_max_record_locks = integer(4_000, "most such records that a group may ask for", 100)
    group_share_max_share_sessions = integer(2_000, "share sessions that a node keeps", 1)
    share_coordinator_state_topic_num_partitions = integer(50, "partitions of __share_group_state", 1)
    share_coordinator_state_topic_replication_factor = integer(
        3, "copies of __share_group_state; at most the nodes there are", 1, SHORT_MAX
    )
    share_coordinator_state_topic_min_isr = integer(
        2, "copies of it that must have a record; at most the nodes there are", 1, SHORT_MAX
    )
    share_coordinator_state_topic_segment_bytes = integer(104_857_600, "segment size of __share_group_state", 1)
    share_coordinator_snapshot_update_records_per_snapshot = integer(
        500, "updates of a partition's state before it is written as a whole again", 0, 500
    )
    share_coordinator_cold_partition_snapshot_interval_ms = integer(
        300_000, "age at which a partition's state is written as a whole, whatever happens", 1
    )

    # Offsets, and the topic that keeps them
    offset_metadata_max_bytes = integer(4_096, "longest note a commit may carry")
    offsets_retention_minutes = integer(10_080, "how long offsets outlive their group", 1)
    offsets_retention_check_interval_ms = long_integer(600_000, "how often expired offsets are looked for", 1)
    offsets_topic_num_partitions = integer(50, "partitions of __consumer_offsets", 1)
    offsets_topic_replication_factor = integer(
        3, "copies of __consumer_offsets; at most the nodes there are", 1, SHORT_MAX
    )
    offsets_topic_segment_bytes = integer(104_857_600, "segment size of __consumer_offsets", 1)
    kohort_offsets_topic_at_start = boolean(False, "create __consumer_offsets at start, not on first use")

    # Topics
    auto_create_topics_enable = boolean(True, "asking for a topic creates it")
    delete_topic_enable = boolean(True, "topics may be deleted")
    num_partitions = integer(1, "partitions of a topic when nobody says how many", 1)
    default_replication_factor = integer(1, "copies of a topic when nobody says how many", 1)
    min_insync_replicas = integer(1, "copies that must have a record before acks=all is answered", 1)
    message_max_bytes = integer(1_048_588, "largest record batch", 0)
    kohort_batch_decompressed_max_bytes = integer(
        16_777_216, "what the records of one compressed batch may come to; Kafka has no limit", 1_048_576
    )
    compression_type = text(
        "producer",
        "how batches are stored; all but `producer` are taken as it",
        ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    )
    log_cleanup_policy = words(("delete",), "what happens to old records", ("delete", "compact"))
    log_retention_ms = optional_long("how long records are kept; -1 for ever; before minutes and hours", -1)
    log_retention_minutes = optional_integer("the same in minutes; before hours", -1)
    log_retention_hours = integer(168, "the same in hours")
    log_retention_bytes = long_integer(-1, "bytes a partition keeps; -1: all")
    log_retention_check_interval_ms = long_integer(300_000, "how often old records are looked for", 1)
    log_segment_bytes = integer(1_073_741_824, "size at which a new segment begins", 1_048_576)
    log_flush_interval_ms = long_integer(1_000, "how often --fsync interval syncs; Kafka: never", 1)
    log_roll_ms = optional_long("age at which a new segment begins; before hours", 1)
    log_roll_hours = integer(168, "the same in hours", 1)
    log_message_timestamp_type = text("CreateTime", "whose time a record carries", ("CreateTime", "LogAppendTime"))
    log_message_timestamp_before_max_ms = long_integer(LONG_MAX, "how old a record's time may be", 0)
    log_message_timestamp_after_max_ms = long_integer(3_600_000, "how far ahead a record's time may be", 0)
    log_cleaner_backoff_ms = long_integer(15_000, "how often logs to be compacted are looked for", 0)
    log_cleaner_delete_retention_ms = long_integer(86_400_000, "how long a compacted topic keeps tombstones", 0)
    fetch_max_bytes = integer(57_671_680, "most bytes one Fetch is answered with", 1_024)
    max_incremental_fetch_session_cache_slots = integer(
        1_000, "fetch sessions a node remembers; more are served without, or evict old ones", 0
    )
    max_request_partition_size_limit = integer(2_000, "most partitions DescribeTopicPartitions answers", 1)
    producer_id_expiration_ms = integer(86_400_000, "how long an idle producer's sequence is remembered", 1)

    # Transactions, and the topic that keeps them
    transaction_max_timeout_ms = integer(900_000, "longest transaction a producer may ask for", 1)
    transactional_id_expiration_ms = integer(604_800_000, "how long an unused transactional id is remembered", 1)
    transaction_abort_timed_out_transaction_cleanup_interval_ms = integer(
        10_000, "how often transactions that take too long are looked for", 1
    )
    transaction_remove_expired_transaction_cleanup_interval_ms = integer(
        3_600_000, "how often transactional ids that nobody uses are looked for", 1
    )
    transaction_state_log_num_partitions = integer(50, "partitions of __transaction_state", 1)
    transaction_state_log_replication_factor = integer(
        3, "copies of __transaction_state; at most the nodes there are", 1, SHORT_MAX
    )
    transaction_state_log_min_isr = integer(2, "copies of it that must have a record; at most the nodes there are", 1)
    transaction_state_log_segment_bytes = integer(104_857_600, "segment size of __transaction_state", 1)

    # Leaders
    auto_leader_rebalance_enable = boolean(True, "preferred leaders take over again when their node is back")
    leader_imbalance_check_interval_seconds = long_integer(300, "how long after it is back", 1)

    # Listeners, and who may come in
    listeners = text("", "where to listen, as NAME://HOST:PORT,...; empty: as --listen says")
    advertised_listeners = text("", "the addresses that clients get, likewise; empty: what each has dialled")
    listener_security_protocol_map = text(
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", "what each listener speaks"
    )
    sasl_enabled_mechanisms = text("GSSAPI", "how clients log in: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER")

    # Connections
    socket_request_max_bytes = integer(104_857_600, "largest request; a larger one closes the connection", 1)
    kohort_request_max_elements = integer(
        50_000, "array elements one request may hold; more close the connection; Kafka: any number", 32_767
    )
    kohort_response_max_bytes = integer(
        104_857_600, "largest response but Fetch's; a larger one closes the connection", 1_048_576
    )
    socket_listen_backlog_size = integer(4_096, "connections waiting to be accepted; Kafka: 50", 1)
    connections_max_idle_ms = long_integer(600_000, "a connection silent for so long is closed; negative: never")
    connection_failed_authentication_delay_ms = integer(100, "how long the answer to a failed login waits", 0)
    connections_max_reauth_ms = long_integer(0, "how long a login counts; 0: until the connection ends", 0)
    sasl_server_max_receive_size = integer(524_288, "largest message of a client that has not logged in", 1)
    max_connections = integer(INT_MAX, "connections at a time; more are closed", 0)
    max_connections_per_ip = integer(INT_MAX, "connections at a time from one address; more are closed", 0)

    # What clients may do
    authorizer_class_name = text(
        "", "what decides what clients may do; empty: they may do everything", ("", STANDARD_AUTHORIZER)
    )
    super_users = principals("who may do everything: User:name, separated by semicolons")
    allow_everyone_if_no_acl_found = boolean(False, "what no ACL is about is allowed to everybody")

    # Stand-in for an older release
    kohort_as_kafka = text(CURRENT, "the release of Kafka that clients see: its API versions and defaults", RELEASES)

    # Nodes
    node_id = integer(1, "id of the first node; further nodes count on from it; Kafka has no default", 0)
    broker_rack = text("", "rack named in Metadata; empty: none")

    def __init__(
        self,
        given: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        profile: str = "faithful",
        nodes: int = 1,
        *,
        from_file: Container[str] = (),
    ) -> None:
        """`given` overrides the profile, as text; raises SettingError for unknown names and bad values.

        `from_file`: names that stand in a file for Kafka. Of these, unknown ones are passed over, as by Kafka.
        """
        self.profile = profile
        self.given = dict(given)
        self.changed = PROFILES[profile] | self.given
        """What is not Kafka's default, as text: what was given, and what the profile changes."""
        self.ignored: list[str] = []
        """Names that Kafka has but that mean nothing here; worth a line in the log."""
        self.passed_over: list[PassedOver] = []
        """Names that Kafka does not have; worth a warning."""
        values = self.__dict__
        for name, setting in SETTINGS.items():
            values[name.replace(".", "_")] = setting.default
        for name in _FACTORS:
            values[name.replace(".", "_")] = min(SETTINGS[name].default, nodes)
        for name, value in DEFAULTS.get(self.given.get("kohort.as.kafka", CURRENT), {}).items():
            values[name.replace(".", "_")] = SETTINGS[name].read(value)
        for name, value in self.changed.items():
            known = SETTINGS.get(name)
            if known is not None:
                values[name.replace(".", "_")] = known.read(value)
                continue
            from kohort.broker.settings import unsupported  # not for those who set what there is

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
        """Every setting and its value, by name."""
        for name, setting in sorted(SETTINGS.items()):
            yield setting, getattr(self, name.replace(".", "_"))


SETTINGS: dict[str, Setting[Any]] = {each.name: each for each in vars(Settings).values() if isinstance(each, Setting)}
"""All settings that mean something here, by Kafka's name."""
