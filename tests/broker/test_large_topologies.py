"""Members of streams groups whose topology takes its time: others are served in between."""

from __future__ import annotations

from typing import Any

from kohort.broker.cluster.streams_topics import MADE_AT_ONCE
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_heartbeat import Subtopology, TopicInfo, Topology
from tests.support.broker import Broker, Client, Stopwatch
from tests.support.data_requests import given_topic
from tests.support.frames import frame, heartbeat

SUBTOPOLOGIES = 500


def beat(client: Client, correlation_id: int, epoch: int, **more: Any) -> None:
    none: dict[str, Any] = {"active_tasks": (), "standby_tasks": (), "warmup_tasks": ()}
    said = {"group_id": "g", "member_id": "ada", "member_epoch": epoch, "endpoint_information_epoch": 0, **none}
    client.says(frame("streams_group_heartbeat", 0, correlation_id, **said | more))


def store(number: int) -> TopicInfo:
    return TopicInfo(name=f"store-{number}", partitions=0, replication_factor=0, topic_configs=())


def topology(*, stores: bool = False) -> Topology:
    parts = (
        Subtopology(
            subtopology_id=f"{n:03d}",
            source_topics=("topic",),
            state_changelog_topics=(store(n),) if stores else (),
        )
        for n in range(SUBTOPOLOGIES)
    )
    return Topology(epoch=0, subtopologies=tuple(parts))


def answer_of(broker: Broker, ada: Client, bob: Client) -> Any:
    """Return ada's last response, after bob has received his."""
    assert ada.heard() == []
    bob.says(heartbeat(2))
    broker.loop.run_soon()
    assert bob.ids() == [2]
    assert ada.heard() == []
    while broker.loop.run_soon():
        pass
    ((_, told),) = ada.hears("streams_group_heartbeat")
    return told


def test_large_topology_is_validated_in_slices() -> None:
    broker = Broker(group_streams_initial_rebalance_delay_ms=0)
    ada, bob = broker.client(), broker.client()
    given_topic(ada, "topic", 1)
    broker.cluster.offsets_topic.create(0)
    Stopwatch(broker, 100)
    beat(ada, 1, 0, rebalance_timeout_ms=30_000, process_id="p", topology=topology())
    told = answer_of(broker, ada, bob)
    assert (told.error_code, told.member_epoch, len(told.active_tasks)) == (ErrorCode.none, 2, SUBTOPOLOGIES)
    beat(ada, 2, told.member_epoch, active_tasks=told.active_tasks)
    assert answer_of(broker, ada, bob).error_code is ErrorCode.none
    beat(ada, 3, told.member_epoch, active_tasks=told.active_tasks)
    ((_, told),) = ada.hears("streams_group_heartbeat")
    assert told.error_code is ErrorCode.none, "it is known now, so no request waits"


def test_internal_topics_are_created_in_slices() -> None:
    broker = Broker(group_streams_initial_rebalance_delay_ms=0)
    ada, bob = broker.client(), broker.client()
    given_topic(ada, "topic", 1)
    broker.cluster.offsets_topic.create(0)
    beat(ada, 1, 0, rebalance_timeout_ms=30_000, process_id="p", topology=topology(stores=True))
    while broker.loop.run_soon():
        pass
    made = []
    while len(broker.cluster.topics) < 2 + SUBTOPOLOGIES:
        made.append(len(broker.cluster.topics))
        bob.says(heartbeat(len(made)))
        broker.loop.wait(1)
    assert len(made) >= SUBTOPOLOGIES // MADE_AT_ONCE - 1
    assert bob.ids() == list(range(1, len(made) + 1))
