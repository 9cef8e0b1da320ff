"""Topics: their names, numbers, settings; who leads their partitions; what happens to them over time."""

from uuid import UUID

import pytest

from kohort.protocol.errors import ErrorCode
from kohort.storage.log import PartitionLog
from kohort.storage.placement import MAX_PARTITIONS
from kohort.storage.refusal import Refusal
from kohort.storage.topic import Topic
from kohort.storage.topic_configs import TOPIC_CONFIGS, refusal_of, usual_values
from kohort.storage.topic_names import name_refusal
from kohort.storage.topics import PARTITIONS_AT_ONCE, Topics
from tests.support.batches import batch, contents


def topics_of(nodes: int = 1, **options: object) -> Topics:
    numbers = iter(range(1, 1_000))
    return Topics(range(1, nodes + 1), lambda: UUID(int=next(numbers)), **options)  # type: ignore[arg-type]


def created(topics: Topics, name: str = "topic", *args: object, **options: object) -> Topic:
    topic = topics.create(name, *args, **options)  # type: ignore[arg-type]
    assert isinstance(topic, Topic)
    return topic


def refused(topics: Topics, name: str = "topic", *args: object, **options: object) -> Refusal:
    refusal = topics.create(name, *args, **options)  # type: ignore[arg-type]
    assert isinstance(refusal, Refusal)
    return refusal


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "a" * 249, "...", "_"])
def test_names_a_topic_may_have(name: str) -> None:
    assert name_refusal(name) is None


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "two words", "a/b", "ä", "a\n", "a:b"])
def test_names_no_topic_may_have(name: str) -> None:
    assert name_refusal(name) is not None
    assert refused(topics_of(), name).error_code == ErrorCode.invalid_topic_exception


def test_find_topic_by_name_or_id() -> None:
    topics = topics_of()
    topic = created(topics)
    assert topics.by_name("topic") is topics.by_id(topic.topic_id) is topics.find(None, topic.topic_id) is topic
    assert topics.find("topic", None) is topic
    assert topics.find(None, None) is None
    assert topics.by_id(None) is None
    assert "topic" in topics
    assert list(topics) == [topic]


def test_leaders_rotate_over_nodes() -> None:
    topics = topics_of(3)
    topic = created(topics, "a", 4, 2)
    assert [partition.replicas for partition in topic.partitions] == [(1, 2), (2, 3), (3, 1), (1, 2)]
    assert [partition.leader for partition in topic.partitions] == [1, 2, 3, 1]
    assert created(topics, "b").partitions[0].leader == 2  # the next topic begins elsewhere
    assert topics.grow(topic, 6) is None
    assert [partition.replicas for partition in topic.partitions[4:]] == [(2, 3), (3, 1)]


def test_default_partition_count() -> None:
    topic = created(topics_of(2, num_partitions=3, replication_factor=2))
    assert [len(partition.replicas) for partition in topic.partitions] == [2, 2, 2]


def test_validate_only_creates_nothing() -> None:
    topics = topics_of()
    assert len(created(topics, "topic", 2, validate_only=True).partitions) == 2
    assert len(topics) == 0


def test_names_with_dots_and_underscores_collide() -> None:
    topics = topics_of()
    created(topics, "p.q")
    assert refused(topics, "p_q") == Refusal(
        ErrorCode.invalid_topic_exception, "Topic 'p_q' collides with existing topic: p.q"
    )
    assert refused(topics, "p.q") == Refusal(ErrorCode.topic_already_exists, "Topic 'p.q' already exists.")


@pytest.mark.parametrize(
    ("partitions", "replication_factor", "error_code"),
    [
        (0, 1, ErrorCode.invalid_partitions),
        (-2, 1, ErrorCode.invalid_partitions),
        (1, 0, ErrorCode.invalid_replication_factor),
        (1, -2, ErrorCode.invalid_replication_factor),
        (1, 3, ErrorCode.invalid_replication_factor),
        (MAX_PARTITIONS + 1, 1, ErrorCode.policy_violation),
    ],
)
def test_numbers_no_topic_may_have(partitions: int, replication_factor: int, error_code: ErrorCode) -> None:
    assert refused(topics_of(2), "topic", partitions, replication_factor).error_code == error_code


@pytest.mark.parametrize(
    ("assignments", "partitions", "error_code"),
    [
        ({0: (1,)}, 1, ErrorCode.invalid_request),
        ({1: (1,)}, -1, ErrorCode.invalid_replica_assignment),
        ({0: (7,)}, -1, ErrorCode.invalid_replica_assignment),
        ({0: (1, 1)}, -1, ErrorCode.invalid_replica_assignment),
        ({0: ()}, -1, ErrorCode.invalid_replica_assignment),
    ],
)
def test_assignments_no_topic_may_have(
    assignments: dict[int, tuple[int, ...]], partitions: int, error_code: ErrorCode
) -> None:
    assert refused(topics_of(2), "topic", partitions, assignments=list(assignments.items())).error_code == error_code


def test_assignment_determines_leader() -> None:
    topic = created(topics_of(3), "topic", assignments=[(1, (3, 1)), (0, (2, 3))])
    assert [(partition.leader, partition.replicas) for partition in topic.partitions] == [(2, (2, 3)), (3, (3, 1))]


def test_growing_may_be_assigned_too() -> None:
    topics = topics_of(3)
    topic = created(topics)
    for assignments in ([(1,), (2,)], [], [()], [(9,)]):
        refusal = topics.grow(topic, 2, assignments)
        assert refusal is not None
        assert refusal.error_code == ErrorCode.invalid_replica_assignment
    assert topics.grow(topic, 2, [(3,)], validate_only=True) is None
    assert len(topic.partitions) == 1
    assert topics.grow(topic, 2, [(3,)]) is None
    assert topic.partitions[1].leader == 3
    assert topics.grow(topic, 2) == Refusal(ErrorCode.invalid_partitions, "Topic already has 2 partition(s).")


def test_internal_topic_names() -> None:
    assert created(topics_of(), "__consumer_offsets").internal
    assert not created(topics_of(), "__mine").internal


def test_recreated_topic_has_no_records() -> None:
    topics = topics_of()
    topic = created(topics)
    topic.partitions[0].log.append(batch(b"x"), wall_ms=0)
    assert topics.memory.used_bytes > 0
    topics.delete(topic)
    assert topics.memory.used_bytes == 0
    assert "topic" not in topics
    assert created(topics).topic_id != topic.topic_id


# Settings


def test_every_default_is_allowed() -> None:
    assert refusal_of(usual_values().items(), usual_values()) is None
    assert list(TOPIC_CONFIGS) == sorted(TOPIC_CONFIGS)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("no.such.setting=1", "Unknown topic config name: no.such.setting"),
        ("retention.ms=x", "Invalid value x for configuration retention.ms: Not a number of type LONG"),
        ("retention.ms=1_000", "Invalid value 1_000 for configuration retention.ms: Not a number of type LONG"),
        ("retention.ms=-5", "Invalid value -5 for configuration retention.ms: Value must be at least -1"),
        (
            "segment.bytes=99999999999",
            "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT",
        ),
        ("segment.bytes=100", "Invalid value 100 for configuration segment.bytes: Value must be at least 1048576"),
        (
            "cleanup.policy=comp",
            "Invalid value comp for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        ("cleanup.policy=compact,", "Configuration 'cleanup.policy' values must not be empty."),
        (
            "min.cleanable.dirty.ratio=2",
            "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
        ),
        (
            "preallocate=maybe",
            "Invalid value maybe for configuration preallocate: Expected value to be either true or false",
        ),
        (
            "compression.gzip.level=0",
            "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
        ),
        (
            "message.timestamp.type=Log",
            "Invalid value Log for configuration message.timestamp.type: "
            "String must be one of: CreateTime, LogAppendTime",
        ),
        (
            "remote.storage.enable=true",
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log "
            "storage.",
        ),
        (
            "leader.replication.throttled.replicas=x",
            "Invalid value [x] for configuration leader.replication.throttled.replicas: "
            "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following "
            "format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
        (
            "min.compaction.lag.ms=10 max.compaction.lag.ms=5",
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
    ],
)
def test_settings_no_topic_may_have(setting: str, words: str) -> None:
    pairs = dict(word.split("=") for word in setting.split(" "))
    assert refused(topics_of(), "topic", configs=pairs) == Refusal(ErrorCode.invalid_config, words)


@pytest.mark.parametrize(
    "setting",
    [
        "cleanup.policy=",
        "cleanup.policy=compact, delete",
        "preallocate=TRUE",
        "retention.ms= 5000 ",
        "retention.bytes=-2",
    ],
)
def test_settings_a_topic_may_have(setting: str) -> None:
    name, value = setting.split("=")
    assert created(topics_of(), configs={name: value}).configs == {name: value}


def test_logs_follow_when_settings_change() -> None:
    topics = topics_of(defaults={"max.message.bytes": "500"})
    topic = created(topics, "topic", 2)
    assert topic.log_config.max_message_bytes == 500
    assert topics.configure(topic, {"retention.ms": "x"}) is not None
    assert topics.configure(topic, {"retention.ms": "5"}, validate_only=True) is None
    assert topic.configs == {}
    assert topics.configure(topic, {"retention.ms": "5", "cleanup.policy": "compact,delete"}) is None
    assert all(partition.log.config is topic.log_config for partition in topic.partitions)
    assert (topic.log_config.retention_ms, topic.log_config.compact, topic.log_config.delete) == (5, True, True)
    assert topics.effective_configs(topic.configs)["retention.ms"] == "5"


# Upkeep


def fill(log: PartitionLog, count: int) -> None:
    for n in range(count):
        log.append(batch((b"key %d" % (n % 3), b"x" * 100), at=0), wall_ms=0)


def test_retention_runs_every_few_minutes() -> None:
    topics = topics_of(retention_check_interval_ms=300_000)
    topic = created(topics, configs={"retention.ms": "1000"})
    fill(topic.partitions[0].log, 1)
    now_ms = 0
    while now_ms < 300_000:
        now_ms += topics.maintain(now_ms)
        if now_ms < 300_000:
            assert topic.partitions[0].log.size_bytes > 0
    topics.maintain(now_ms)
    assert topic.partitions[0].log.size_bytes == 0


def test_compaction_is_done_in_small_steps() -> None:
    topics = topics_of(cleaner_backoff_ms=700)
    topic = created(topics, configs={"cleanup.policy": "compact"})
    log = topic.partitions[0].log
    fill(log, 20_000)
    before, steps = log.size_bytes, 0
    while topics.maintain(0) == 0:
        steps += 1
    assert steps > 10
    assert log.size_bytes < before / 1.5
    assert len({key for _, key, _ in contents(log.read(0, 1 << 30))}) == 3
    assert topics.maintain(0) == 700


def test_deletion_during_compaction() -> None:
    topics = topics_of()
    topic = created(topics, configs={"cleanup.policy": "compact"})
    fill(topic.partitions[0].log, 20_000)
    assert topics.maintain(0) == 0
    topics.delete(topic)
    while topics.maintain(0) == 0:
        pass
    assert topics.memory.used_bytes == 0


def test_producers_that_fell_silent_are_forgotten() -> None:
    topics = topics_of(producer_expiration_ms=1_000, retention_check_interval_ms=10)
    partition = created(topics).partitions[0]
    topics.producers_of(partition)
    topics.maintain(0)
    topics.maintain(10)
    assert partition.producers is None
    assert topics.next_producer_id() != topics.next_producer_id()


def test_large_topic_is_created_in_slices() -> None:
    topics = topics_of(2)
    making = topics.creating("my.topic", 3 * PARTITIONS_AT_ONCE + 1, 2)
    next(making)
    assert topics.by_name("my.topic") is None
    assert refused(topics, "my.topic").error_code == ErrorCode.topic_already_exists
    assert refused(topics, "my_topic").error_code == ErrorCode.invalid_topic_exception
    topics.placement.stopped_nodes = frozenset([1])
    steps = 1 + sum(1 for _ in making)
    topic = topics.by_name("my.topic")
    assert topic is not None
    assert steps == 3
    assert {partition.leader for partition in topic.partitions} == {2}
    assert [partition.index for partition in topic.partitions] == list(range(3 * PARTITIONS_AT_ONCE + 1))


def test_abandoned_creation_can_be_repeated() -> None:
    topics = topics_of()
    making = topics.creating("topic", 2 * PARTITIONS_AT_ONCE)
    next(making)
    making.close()
    created(topics)


def test_deleted_topic_is_not_extended() -> None:
    topics = topics_of()
    topic = created(topics)
    growing = topics.growing(topic, 2 * PARTITIONS_AT_ONCE)
    next(growing)
    busy = topics.grow(topic, 2)
    assert busy is not None
    assert busy.error_code == ErrorCode.request_timed_out
    topics.delete(topic)
    with pytest.raises(StopIteration) as end:
        next(growing)
    assert end.value.value.error_code == ErrorCode.unknown_topic_or_partition
    assert "topic" not in topics
