"""Values of a field: those that clients usually send, and those that they should not send.

A pool is found by the field's name, with the name before it where the same word means two things. Numbers that a broker
would take at its word and spend minutes or gigabytes on are left out; so is what would change the broker for all other
sequences, which run at the same time.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.differential.codec import NO_ID
from tests.talk.values import Value

STRANGE_ID = "3fa85f64-5717-4562-b3fc-2c963f66afa6"
LONG, LONGER = 2**31 - 1, 2**63 - 1
NOBODYS_PRODUCER = 4_000_000_000_000


class Pool(NamedTuple):
    """Values to choose from. Odd ones are chosen now and then."""

    usual: tuple[Value, ...]
    odd: tuple[Value, ...] = ()


TOPIC = Pool(("$topic", "$topic", "$topic", "$topic2"), ("$topicnone", "", "not a name", "..", "repeat(x 250)"))
TOPIC_ID = Pool(("$topic_id", "$topic_id", "$topic2_id"), (NO_ID, STRANGE_ID))
PARTITION = Pool((0, 0, 1), (2, 3, -1, LONG))
GROUP = Pool(("$group", "$group", "$group", "$group2"), ("", "$groupnone"))
TXN = Pool(("$txn", "$txn", "$txn", "$txn2"), ("", "$txnnone"))
GENERATION = Pool(("$generation", "$generation", "$generation", -1), (0, 1, -2, 99, LONG, -LONG))
EPOCH = Pool((-1, -1, 0), (1, -2, 7, LONG))
FLAG = Pool((False, True))
TIMEOUT = Pool((10_000,), (0, -1, LONG, -LONG))

TIMEOUTS_OF_TOPICS = Pool((10_000, 10_000, 10_000), (-1, -LONG))

POOLS: dict[str, Pool] = {
    # Groups and their members
    "group_id": GROUP,
    "DescribeGroups.groups": GROUP,
    "group_ids": GROUP,
    "groups_names": GROUP,
    "member_id": Pool(("$ada", "$ada", "$bob", ""), ("a-stranger",)),
    "OffsetFetch.groups.member_id": Pool((None,), ("$ada", "")),
    "member_epoch": Pool((-1,), (0, "$generation", -2)),
    "generation_id": GENERATION,
    "generation_id_or_member_epoch": GENERATION,
    "group_instance_id": Pool((None, None, None, None, "i1"), ("i2", "")),
    "session_timeout_ms": Pool((10_000, 10_000, 30_000, 700), (0, -1, 99, 100, 1_800_000, 1_800_001, LONG)),
    "rebalance_timeout_ms": Pool((30_000, 30_000, 900), (0, -1, LONG)),
    "protocol_type": Pool(("consumer",), ("", "connect", None)),
    "protocol_name": Pool(("range",), (None, "", "sticky")),
    "protocols.name": Pool(("range", "range", "roundrobin"), ("",)),
    "protocols.metadata": Pool(("m", "subscription($topic)", "subscription($topic $topic2)"), ("", "ü")),
    "assignments.assignment": Pool(("for-somebody", "assignment($topic:0+1)"), ("",)),
    "reason": Pool((None, "why not"), ("", "repeat(r 300)")),
    "states_filter": Pool(
        ("Stable", "Empty", "Reconciling", "NotReady"),
        ("assigning", "stable", "PreparingRebalance", "", "Nonsense", "DEAD"),
    ),
    "types_filter": Pool(("classic", "Classic", "consumer", "share", "streams"), ("CONSUMER", "", "nonsense")),
    "require_stable": FLAG,
    "committed_offset": Pool((0, 5, 7), (-1, -2, LONGER, -LONGER)),
    "committed_leader_epoch": EPOCH,
    "committed_metadata": Pool(("", "m"), (None, "repeat(m 4096)", "repeat(m 4097)")),
    "retention_time_ms": Pool((-1,), (0, 1000, 10**14)),  # kio reads no longer times than 2.7 million years
    "key": Pool(("$group", "$txn"), ("",)),
    "coordinator_keys": Pool(("$group", "$group2", "$txn"), ("",)),
    "key_type": Pool((0, 0, 1), (2, 3, -1)),
    # Members of consumer groups
    "ConsumerGroupHeartbeat.member_epoch": Pool((0, 1, 2, 3), (-1, -2, -3, 99, LONG)),
    "ConsumerGroupHeartbeat.member_id": Pool(("$ada", "$ada", "$bob", "cleo-member"), ("a-stranger", "", " ")),
    "ConsumerGroupHeartbeat.rebalance_timeout_ms": Pool((30_000, -1), (-2, LONG)),
    "instance_id": Pool((None, None, None, "i1"), ("i2", "", " ")),
    "ConsumerGroupHeartbeat.rack_id": Pool((None, None, "r1"), ("", " ")),
    "subscribed_topic_names": TOPIC,
    "subscribed_topic_regex": Pool(
        (None, None, "topic2?-${mark}", ""), ("(", "a{2000}", "a(?=b)", "[[:alpha:]]+", "a**")
    ),
    "server_assignor": Pool((None, "range"), ("sticky", "")),
    # Members of streams groups
    "StreamsGroupHeartbeat.member_epoch": Pool((0, 1, 2, 3), (-1, -2, -3, 99, LONG)),
    "StreamsGroupHeartbeat.member_id": Pool(("$ada", "$ada", "$bob", "cleo-member"), ("a-stranger", "", " ")),
    "StreamsGroupHeartbeat.instance_id": Pool((None,), ("i1", "")),
    "StreamsGroupHeartbeat.rack_id": Pool((None, None, "r1"), ("", " ")),
    "StreamsGroupHeartbeat.rebalance_timeout_ms": Pool((30_000, 30_000, -1), (0, -2, LONG)),
    "StreamsGroupHeartbeat.topology.epoch": Pool((0,), (1, -1, LONG)),
    "subtopology_id": Pool(("0", "0", "1"), ("", "7")),
    "source_topic_regex": Pool(("topic.*",)),
    "copartition_groups.source_topics": Pool((0,), (1,)),
    "copartition_groups.source_topic_regex": Pool((0,)),
    "copartition_groups.repartition_source_topics": Pool((0,), (1,)),
    "StreamsGroupHeartbeat.topology.subtopologies.source_topics": TOPIC,
    "repartition_sink_topics": Pool(("$topicnew",), TOPIC.odd),
    "repartition_source_topics.name": Pool(("$topicnew",), TOPIC.odd),
    "repartition_source_topics.partitions": Pool((0, 0, 2, 4), (-1,)),
    "state_changelog_topics.name": Pool(("$topicnew2",), TOPIC.odd),
    "state_changelog_topics.partitions": Pool((0,), (2, -1)),
    "StreamsGroupHeartbeat.replication_factor": Pool((0, 1), (-1, 2)),
    "topic_configs.key": Pool(("cleanup.policy",), ("no.such",)),
    "topic_configs.value": Pool(("compact", "delete")),
    "process_id": Pool(("ada-process", "bob-process", None), ("",)),
    "user_endpoint.host": Pool(("ada.example", "bob.example"), ("",)),
    "user_endpoint.port": Pool((80, 81), (0, 65_535)),
    "client_tags.key": Pool(("zone", "cloud"), ("",)),
    "client_tags.value": Pool(("a", "b"), ("",)),
    "shutdown_application": Pool((False, False, False, True)),
    "endpoint_information_epoch": Pool((0, 0, 1, "$ada_endpoints"), (-1, LONG)),
    "task_offsets.offset": Pool((0, 5)),
    # Members of share groups, their sessions and records
    "ShareGroupHeartbeat.member_epoch": Pool((0, 1, 2, 3), (-1, -2, -3, 99, LONG)),
    "ShareGroupHeartbeat.member_id": Pool(
        ("$ada", "$ada", "$bob", "cleo-member"), ("a-stranger", "", " ", "repeat(m 37)")
    ),
    "ShareGroupHeartbeat.rack_id": Pool((None, None, "r1"), ("", " ")),
    "share_session_epoch": Pool((0, "$ada_session"), (-1, -2, 7, LONG)),
    "max_records": Pool((500, 1, 2), (0, -1)),
    "batch_size": Pool((500, 1, 2), (0, -1)),
    "share_acquire_mode": Pool((0, 1), (2, -1)),
    "is_renew_ack": Pool((False,), (True,)),
    "first_offset": Pool((0, 0, 1, 2), (-1, 100, LONGER)),
    "last_offset": Pool((0, 1, 2, 3), (-1, 100)),
    "acknowledge_types": Pool((1, 1, 2, 3, 0), (4, 5, -1)),
    "DescribeShareGroupOffsets.groups.topics.partitions": Pool((0,), (-1,)),  # others are looked for half a minute
    "start_offset": Pool((0, 1, 2), (-1, -2, 100, LONGER)),
    # Producers and transactions
    "transactional_id": TXN,
    "transactional_ids": TXN,
    "InitProducerId.transactional_id": Pool(("$txn", "$txn", "$txn", "$txn2", None), ("",)),
    "Produce.transactional_id": Pool((None, "$txn"), ("$txn2", "")),
    "v3_and_below_transactional_id": TXN,
    "transaction_timeout_ms": Pool((60_000, 60_000, 60_000, 1_500), (0, -1, 1, 900_000, 900_001, LONG)),
    "producer_id": Pool(("$pid", "$pid", "$pid"), (-1, -2, NOBODYS_PRODUCER)),
    "InitProducerId.producer_id": Pool((-1, -1, "$pid"), (-2, NOBODYS_PRODUCER)),
    "v3_and_below_producer_id": Pool(("$pid", "$pid", "$pid"), (-1, NOBODYS_PRODUCER)),
    "producer_id_filters": Pool(("$pid",), (-1, NOBODYS_PRODUCER)),
    "producer_epoch": Pool(("$epoch", "$epoch", "$epoch"), (-1, 0, 1, 5, 32767, -2)),
    "InitProducerId.producer_epoch": Pool((-1, -1, "$epoch"), (0, 1, 5, -2)),
    "v3_and_below_producer_epoch": Pool(("$epoch", "$epoch", "$epoch"), (-1, 0, 1, 5)),
    "committed": FLAG,
    "verify_only": Pool((False,), (True,)),
    "transaction_result": FLAG,
    "coordinator_epoch": Pool((0,), (-1, 1, LONG)),
    "transaction_version": Pool((0, 2), (1, -1)),
    "duration_filter": Pool((-1,), (0, LONGER, -2)),
    "state_filters": Pool(("Ongoing", "Empty"), ("ongoing", "Nonsense", "", "CompleteCommit")),
    "transactional_id_pattern": Pool((None,), ("", "txn.*", "(")),
    # The log
    "acks": Pool((-1, 1), (0, 2, -2)),
    "topic_data.partition_data.records": Pool(
        (
            "batch(x)",
            "batch(x y)",
            "batch(k=v)",
            "batch(x pid:$pid epoch:$epoch sequence:0)",
            "batch(x pid:$pid epoch:$epoch sequence:1)",
            "batch(x y pid:$pid epoch:$epoch sequence:1)",
            "batch(x pid:$pid epoch:$epoch sequence:0 txn:1)",
            "batch(x pid:$pid epoch:$epoch sequence:1 txn:1)",
        ),
        (
            "batch(x pid:$pid epoch:0 sequence:5)",
            "batch(x pid:$pid epoch:5 sequence:0)",
            "batch(x pid:4000000000000 epoch:0 sequence:3)",
            "batch(x pid:4000000000000 epoch:3 sequence:0)",
        ),
    ),
    "fetch_offset": Pool((0, 0, 1, 2), (-1, -2, 3, 100, LONGER, -LONGER)),
    "log_start_offset": Pool((-1,), (0, 5)),
    "current_leader_epoch": EPOCH,
    "leader_epoch": Pool((0,), (-1, 1, -2, LONG)),
    "last_fetched_epoch": Pool((-1, -1, 0), (1, -2, 7)),
    "partition_max_bytes": Pool((1_048_576,), (0, 1, 80, -1)),
    "max_bytes": Pool((1_048_576,), (0, 1, 80, -1)),
    "max_wait_ms": Pool((0, 20), (-1,)),
    "min_bytes": Pool((0, 1), (-1, 10_000)),
    "isolation_level": Pool((0, 1), (2, -1)),
    "session_id": Pool((0, 0, "$session"), (-1, 12345)),
    "session_epoch": Pool((-1, -1, 0, 1), (2, -2)),
    "replica_id": Pool((-1,), (-2,)),
    "replica_epoch": Pool((-1,)),
    "high_watermark": Pool((LONGER,), (0,)),
    "cluster_id": Pool(("a-cluster",), ("",)),  # kio does not read the null that this tagged field may have
    "rack_id": Pool(("",), ("r1",)),
    "timestamp": Pool((-1, -2, 1_700_000_000_000, 0), (-3, -4, -5, -6, -99, LONGER, 1_700_000_000_001)),
    "DeleteRecords.topics.partitions.offset": Pool((0, 1, 2), (-1, -2, 100, LONGER)),
    # Topics, settings and the cluster
    "name": TOPIC,
    "topic": TOPIC,
    "topic_name": TOPIC,
    "topic_names": TOPIC,
    "topic_id": TOPIC_ID,
    "CreateTopics.topics.name": Pool(("$topicnew", "$topicnew2", "$topicnew", "$topic"), TOPIC.odd[1:]),
    "Metadata.topics.name": Pool(
        ("$topic", "$topic", "$topic2", "$topicnew"), ("", "not a name", "..", "repeat(x 250)")
    ),
    "partition_index": PARTITION,
    "partition_indexes": PARTITION,
    "partitions": PARTITION,
    "partition": PARTITION,
    "index": PARTITION,
    "count": Pool((3, 4), (0, -1, 1, 2)),
    "num_partitions": Pool((1, 2, -1), (0, -2, -LONG)),
    "replication_factor": Pool((1, -1), (0, 2, -2, 32767)),
    "CreateTopics.topics.assignments.partition_index": Pool((0, 0, 1), (2, -1)),
    "broker_ids": Pool((1, 1, 1), (2, -1)),
    "replicas": Pool((1, 1), (2, -1)),
    "timeout_ms": TIMEOUT,
    "CreateTopics.timeout_ms": TIMEOUTS_OF_TOPICS,
    "CreatePartitions.timeout_ms": TIMEOUTS_OF_TOPICS,
    "DeleteTopics.timeout_ms": TIMEOUTS_OF_TOPICS,
    "election_type": Pool((0, 1), (2, -1)),
    "resource_type": Pool((2, 2, 2, 32, 4), (16, 8, 0, 1, 3, -1, 99)),
    "resource_types": Pool((2, 4, 32, 16), (8, 0, 1, -1, 99)),
    "resource_name": Pool(("$topic", "$topic2", "1", "$group"), ("", "2", "not a name", "-1", "$topicnone", "x")),
    "configuration_keys": Pool(("retention.ms", "cleanup.policy", "consumer.session.timeout.ms"), ("", "no.such")),
    "config_operation": Pool((0, 0, 1), (2, 3, 4, -1)),
    "response_partition_limit": Pool((2000,), (0, -1, 1, 2, LONG)),
    "endpoint_type": Pool((1,), (0, 2, 3, -1)),
    "client_software_name": Pool(("a-client",), ("", "bad name", "-x", "x.")),
    "client_software_version": Pool(("1.0",), ("", "bad version")),
}

CONFIGS: dict[str, tuple[Value, ...]] = {
    "cleanup.policy": ("compact", "delete", "compact,delete", "delete,delete", "", "none", None, " delete "),
    "retention.ms": ("1000000", "-1", "-2", "abc", "", None, "1.5", " 7 "),
    "retention.bytes": ("-1", "0", "1", "x"),
    "max.message.bytes": ("1000", "0", "-1", "1e3", "2147483648"),
    "segment.bytes": ("1048576", "13", "14", "0"),
    "segment.ms": ("1000", "0"),
    "compression.type": ("producer", "gzip", "none", "uncompressed", "nonsense", None),
    "message.timestamp.type": ("CreateTime", "LogAppendTime", "createtime"),
    "min.insync.replicas": ("1", "0", "2"),
    "unclean.leader.election.enable": ("true", "false", "TRUE", "yes", ""),
    "min.cleanable.dirty.ratio": ("0.5", "0", "1.1", "half"),
    "delete.retention.ms": ("100", "-1"),
    "follower.replication.throttled.replicas": ("*", "0:1", "none", "0:1,1:1", "x"),
    "compression.gzip.level": ("1", "-1", "0", "10"),
    "consumer.session.timeout.ms": ("45000", "1", "0", "abc", None),
    "consumer.heartbeat.interval.ms": ("5000", "1", "0"),
    "share.auto.offset.reset": ("latest", "earliest", "never", "by_duration:PT1H", "by_duration:-PT1H"),
    "share.record.lock.duration.ms": ("30000", "999", "1000", "60001", "x"),
    "share.delivery.count.limit": ("2", "1", "10", "11"),
    "share.isolation.level": ("read_committed", "read_uncommitted", "none"),
    "streams.num.standby.replicas": ("0", "1", "2", "3", "-1"),
    "streams.session.timeout.ms": ("45000", "1", "0", "abc", None),
    "message.format.version": ("3.0",),
    "no.such.setting": ("1", "", None),
    "": ("1",),
    "log.retention.ms": ("1000", "-1", "0", "x"),
    "log.cleaner.threads": ("1", "2", "9", "0"),
    "max.connections": ("100", "-1"),
    "broker.id": ("1", "2"),
    "background.threads": ("10", "0", "20", "11"),
    "log.segment.bytes": ("1048576", "1"),
    "message.max.bytes": ("1000000", "x"),
    "auto.create.topics.enable": ("true", "false"),
}
"""Names and values of settings: of topics, of groups, of brokers, and of nothing."""


def pool_for(path: tuple[str, ...]) -> Pool | None:
    """Return the pool of a field. `path` has the API and the names down to the field; its end counts too."""
    for key in (".".join(path), f"{path[0]}.{path[-1]}", ".".join(path[-2:]), ".".join(path[1:]), path[-1]):
        if key in POOLS:
            return POOLS[key]
    return None
