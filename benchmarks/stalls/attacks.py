"""Clients with the largest requests, or with many requests one after the other.

An attack prepares the broker, and has the frames that each connection sends repeatedly, each time after all responses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.stalls.client import Client
from kohort.protocol.messages import message_of
from kohort.protocol.messages.create_partitions import CreatePartitionsTopic
from kohort.protocol.messages.create_topics import CreatableTopic
from kohort.protocol.messages.delete_topics import DeleteTopicState
from kohort.protocol.messages.describe_configs import DescribeConfigsResource
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic
from kohort.protocol.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource
from kohort.protocol.messages.join_group import JoinGroupRequestProtocol
from kohort.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from kohort.protocol.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from kohort.protocol.messages.offset_delete import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from kohort.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopic
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from kohort.protocol.messages.streams_group_heartbeat import Subtopology, TaskIds, TopicInfo, Topology
from tests.support.batches import batch

MANY = 49_000  # just fewer elements than a request may have (`kohort.request.max.elements`)

SUBTOPOLOGIES = 10_000  # without a source topic, so that no internal topic is created

PARTITIONS = 9_000
TOPIC = CreatableTopic(name="wide", num_partitions=PARTITIONS, replication_factor=1, assignments=(), configs=())


@dataclass(frozen=True)
class Attack:
    """Preparation and frames."""

    frames: tuple[bytes, ...]  # sent together by each connection
    connections: int = 1
    prepare: Callable[[Client], None] = lambda client: None
    # frame of waiting requests that other connections send first, and their number
    parked: tuple[bytes, int] | None = None


def frame(name: str, version: int, **fields: Any) -> bytes:
    """Return the encoded request with its length."""
    message = message_of(name)
    body = message.write_request(version, 1, "eve", message.request(**fields))
    return len(body).to_bytes(4, "big") + bytes(body)


def _names(count: int = MANY) -> tuple[str, ...]:
    return tuple(f"g{number}" for number in range(count))


def wide_topic(client: Client) -> None:
    """Create a topic with as many partitions as one request may have, and double it."""
    client.ask(frame("create_topics", 5, topics=(TOPIC,), timeout_ms=30_000))
    grown = CreatePartitionsTopic(name="wide", count=2 * PARTITIONS, assignments=None)
    client.ask(frame("create_partitions", 2, topics=(grown,), timeout_ms=30_000, validate_only=False))


def many_groups(client: Client) -> None:
    """Create 20,000 groups with an offset each."""
    client.ask(frame("create_topics", 5, topics=(_narrow(),), timeout_ms=30_000))
    for start in range(0, 20_000, 200):
        client.ask(*(_commit(f"g{number}", 1) for number in range(start, start + 200)))


def large_group(client: Client) -> None:
    """Create a group with offsets for all partitions of a wide topic."""
    wide_topic(client)
    for start in range(0, 2 * PARTITIONS, 3_000):
        client.ask(_commit("large", 3_000, "wide", start))


def _narrow() -> CreatableTopic:
    return CreatableTopic(name="narrow", num_partitions=1, replication_factor=1, assignments=(), configs=())


def _commit(group: str, count: int, topic: str = "narrow", start: int = 0) -> bytes:
    parts = tuple(
        OffsetCommitRequestPartition(
            partition_index=number, committed_offset=1, committed_leader_epoch=-1, committed_metadata=""
        )
        for number in range(start, start + count)
    )
    return frame(
        "offset_commit", 8, group_id=group, generation_id_or_member_epoch=-1, member_id="", group_instance_id=None,
        topics=(OffsetCommitRequestTopic(name=topic, partitions=parts),),
    )  # fmt: skip


def many_topics(client: Client) -> None:
    """Create 8,000 topics with long names."""
    for start in range(0, 8_000, 4_000):
        topics = tuple(
            CreatableTopic(
                name="a" * 190 + str(number), num_partitions=1, replication_factor=1, assignments=(), configs=()
            )
            for number in range(start, start + 4_000)
        )
        client.ask(frame("create_topics", 5, topics=topics, timeout_ms=30_000))


def _pattern(number: int) -> bytes:
    """Return the heartbeat of a member in a group of its own, with a slow pattern."""
    return frame(
        "consumer_group_heartbeat", 1, group_id=f"p{number}", member_id=f"m{number}", member_epoch=0,
        rebalance_timeout_ms=60_000, subscribed_topic_regex=f".*(a|aa|b){{{number + 5}}}.*x?{number}",
        topic_partitions=(),
    )  # fmt: skip


def loaded_member(client: Client) -> None:
    """Create a consumer group with immediate assignments, whose member has 45,000 partitions of four topics."""
    wide_topic(client)
    for number in (1, 2, 3):
        client.ask(frame("create_topics", 5, topics=(replace(TOPIC, name=f"wide{number}"),), timeout_ms=30_000))
    interval = AlterableConfig(name="consumer.assignment.interval.ms", config_operation=0, value="0")
    resource = AlterConfigsResource(resource_type=32, resource_name="loaded", configs=(interval,))
    client.ask(frame("incremental_alter_configs", 1, resources=(resource,), validate_only=False))
    client.ask(*[_comes("ada", "wide", "wide1", "wide2", "wide3")] * 3)


def _comes(member_id: str, *topics: str) -> bytes:
    return frame(
        "consumer_group_heartbeat", 1, group_id="loaded", member_id=member_id, member_epoch=0,
        rebalance_timeout_ms=60_000, subscribed_topic_names=topics, topic_partitions=(),
    )  # fmt: skip


def _fetch(max_wait_ms: int, count: int = 2 * PARTITIONS) -> bytes:
    parts = tuple(
        FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=1 << 20) for number in range(count)
    )
    return frame(
        "fetch", 11, max_wait_ms=max_wait_ms, min_bytes=1 << 30, max_bytes=1 << 20,
        topics=(FetchTopic(topic="wide", partitions=parts),),
    )  # fmt: skip


def _produce(count: int) -> bytes:
    one = batch(b"v")
    parts = tuple(PartitionProduceData(index=number, records=one) for number in range(count))
    return frame(
        "produce", 8, transactional_id=None, acks=1, timeout_ms=1_000,
        topic_data=(TopicProduceData(name="wide", partition_data=parts),),
    )  # fmt: skip


def _list_offsets() -> bytes:
    parts = tuple(
        ListOffsetsPartition(partition_index=number, current_leader_epoch=-1, timestamp=-1)
        for number in range(2 * PARTITIONS)
    )
    return frame(
        "list_offsets", 5, replica_id=-1, isolation_level=0, topics=(ListOffsetsTopic(name="wide", partitions=parts),)
    )


def _offset_fetch(*groups: OffsetFetchRequestGroup) -> bytes:
    return frame("offset_fetch", 8, groups=groups, require_stable=False)


def _all_offsets(count: int) -> tuple[OffsetFetchRequestGroup, ...]:
    return (OffsetFetchRequestGroup(group_id="large", topics=None),) * count


def _some_offsets() -> OffsetFetchRequestGroup:
    indexes = tuple(range(2 * PARTITIONS))
    return OffsetFetchRequestGroup(
        group_id="large", topics=(OffsetFetchRequestTopic(name="wide", partition_indexes=indexes),)
    )


def _join(metadata: bytes) -> bytes:
    return frame(
        "join_group", 3, group_id="crowd", session_timeout_ms=60_000, rebalance_timeout_ms=60_000, member_id="",
        protocol_type="consumer", protocols=(JoinGroupRequestProtocol(name="range", metadata=metadata),),
    )  # fmt: skip


HEARTBEAT = frame("heartbeat", 0, group_id="g", generation_id=1, member_id="m")
ALL_TOPICS = frame("metadata", 9, topics=None)


def _streams_beat(epoch: int, member: str, topology: Topology | None) -> bytes:
    none: tuple[TaskIds, ...] | None = () if topology is not None else None
    tasks = {"active_tasks": none, "standby_tasks": none, "warmup_tasks": none}
    fields: dict[str, Any] = {"process_id": member, "topology": topology, "rebalance_timeout_ms": 60_000, **tasks}
    return frame("streams_group_heartbeat", 0, group_id="s", member_id=member, member_epoch=epoch, **fields)


def _long_topology() -> tuple[bytes, ...]:
    """Return requests of two members that join with many subtopologies and leave, and the deletion of their group."""
    subtopologies = (
        Subtopology(
            subtopology_id=f"{number}",
            source_topics=("wide",),
            state_changelog_topics=(
                TopicInfo(name=f"s{number}", partitions=0, replication_factor=1, topic_configs=()),
            ),
        )
        for number in range(SUBTOPOLOGIES)
    )
    topology = Topology(epoch=0, subtopologies=tuple(subtopologies))
    joins = (_streams_beat(0, name, topology) for name in ("ada", "bob"))
    leaves = (_streams_beat(-1, name, None) for name in ("ada", "bob"))
    return *joins, *leaves, frame("delete_groups", 1, groups_names=("s",))


ATTACKS: dict[str, Attack] = {
    "nothing": Attack(()),
    "heartbeats": Attack((HEARTBEAT,) * 1_000, connections=10),
    "metadata": Attack((ALL_TOPICS,) * 10, connections=10, prepare=wide_topic),
    "describe-groups": Attack((frame("describe_groups", 4, groups=("",) * MANY),)),
    "describe-pipelined": Attack((frame("describe_groups", 4, groups=_names(1_000)),) * 50, connections=10),
    "find-coordinators": Attack((frame("find_coordinator", 4, coordinator_keys=_names()),)),
    "delete-groups": Attack((frame("delete_groups", 1, groups_names=_names()),), prepare=many_groups),
    "list-groups": Attack((frame("list_groups", 4),), prepare=many_groups),
    "list-offsets": Attack((_list_offsets(),), prepare=wide_topic),
    "offset-fetch": Attack((_offset_fetch(_some_offsets()),), prepare=large_group),
    "offset-fetch-all": Attack((_offset_fetch(*_all_offsets(20)),), prepare=large_group),
    "offset-commit": Attack((_commit("g", 2 * PARTITIONS, "wide"),), prepare=wide_topic),
    "offset-delete": Attack(
        (
            _commit("g", PARTITIONS, "wide"),
            frame(
                "offset_delete",
                0,
                group_id="g",
                topics=(
                    OffsetDeleteRequestTopic(
                        name="wide",
                        partitions=tuple(
                            OffsetDeleteRequestPartition(partition_index=number) for number in range(PARTITIONS)
                        ),
                    ),
                ),
            ),
        ),
        prepare=wide_topic,
    ),
    "describe-configs": Attack(
        (
            frame(
                "describe_configs",
                1,
                include_synonyms=True,
                resources=tuple(
                    DescribeConfigsResource(resource_type=2, resource_name="wide", configuration_keys=None)
                    for _ in range(2_000)
                ),
            ),
        ),
        prepare=wide_topic,
    ),
    "describe-broker": Attack(
        (
            frame(
                "describe_configs",
                1,
                resources=tuple(
                    DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=None)
                    for _ in range(2_000)
                ),
            ),
        ),
    ),
    "patterns": Attack(tuple(_pattern(number) for number in range(12)), prepare=many_topics),
    "assignor": Attack(
        tuple(_comes(f"m{number % 3}", "wide", f"wide{1 + number % 3}") for number in range(12)), prepare=loaded_member
    ),
    "create-topics": Attack(
        (
            frame("create_topics", 5, topics=(TOPIC,), timeout_ms=1),
            frame("delete_topics", 6, topics=(DeleteTopicState(name="wide", topic_id=None),), timeout_ms=1),
        ),
    ),
    "create-partitions": Attack(
        (
            frame(
                "create_topics",
                5,
                timeout_ms=1,
                topics=(
                    CreatableTopic(
                        name="huge", num_partitions=50_000_000, replication_factor=1, assignments=(), configs=()
                    ),
                ),
            ),
        ),
    ),
    "streams-topology": Attack(_long_topology()),
    "produce": Attack((_produce(2 * PARTITIONS),), prepare=wide_topic),
    "fetch": Attack((_fetch(0),), prepare=wide_topic),
    "waiting-fetches": Attack((_produce(1),), prepare=wide_topic, parked=(_fetch(60_000), 20)),
    "crowd": Attack((_join(bytes(1_000)),), connections=2_000),
}
