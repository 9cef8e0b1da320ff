"""DescribeShareGroupOffsets: repeated groups are described once, and a failure stays with its group."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest

from kohort.broker.apis import describe_share_group_offsets
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kohort.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from tests.support.broker import Broker, Client
from tests.support.data_requests import given_topic
from tests.support.frames import frame

TOPIC = "t"


def run_out(broker: Broker) -> None:
    while broker.loop.run_soon():
        pass


def answer(broker: Broker, client: Client, name: str, version: int, **fields: Any) -> Any:
    client.says(frame(name, version, 1, **fields))
    run_out(broker)
    broker.loop.wait(1)
    run_out(broker)
    ((_, response),) = client.hears(name, version)
    return response


def ready(*groups: str, partitions: int = 1) -> tuple[Broker, Client]:
    """Return a broker with share groups that begin at 5, and a client."""
    broker = Broker()
    client = broker.client()
    given_topic(client, TOPIC, partitions)
    answer(broker, client, "find_coordinator", 4, coordinator_keys=("g",))
    broker.loop.wait(50)
    for group in groups:
        alters(broker, client, group, 5, partitions)
    return broker, client


def alters(broker: Broker, client: Client, group: str, offset: int, partitions: int = 1) -> None:
    parts = tuple(
        AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset)
        for index in range(partitions)
    )
    topics = (AlterShareGroupOffsetsRequestTopic(topic_name=TOPIC, partitions=parts),)
    client.says(frame("alter_share_group_offsets", 0, 1, group_id=group, topics=topics))
    while not client.wire.writes:
        if not broker.loop.run_soon():
            broker.loop.wait(1)
    ((_, response),) = client.hears("alter_share_group_offsets")
    assert response.error_code is E.none
    results = [(part.partition_index, part.error_code) for topic in response.responses for part in topic.partitions]
    assert results == [(index, E.none) for index in range(partitions)]


def described(broker: Broker, client: Client, *groups: str, topics: Any = None) -> list[tuple[str, E, list[Any]]]:
    requested = tuple(DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=topics) for group in groups)
    response = answer(broker, client, "describe_share_group_offsets", 1, groups=requested)
    return [
        (group.group_id, group.error_code, [(p.start_offset, p.lag) for t in group.topics for p in t.partitions])
        for group in response.groups
    ]


def test_group_named_often_is_described_once(monkeypatch: pytest.MonkeyPatch) -> None:
    broker, client = ready("g", partitions=3)
    looked: list[Any] = []
    original = describe_share_group_offsets._leader_epoch

    def counting(*arguments: Any) -> int:
        looked.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(describe_share_group_offsets, "_leader_epoch", counting)
    assert described(broker, client, *["g"] * 40) == [("g", E.none, [(5, -5)] * 3)] * 40
    assert len(looked) == 3


def test_topic_named_often_is_described_once() -> None:
    broker, client = ready("g", partitions=3)
    named = tuple(DescribeShareGroupOffsetsRequestTopic(topic_name=TOPIC, partitions=(n % 3,)) for n in range(300))
    assert described(broker, client, "g", topics=named) == [("g", E.none, [(5, -5)] * 3)]


@pytest.mark.parametrize(("offset", "lag"), [(-(2**63), -(2**63)), (2**63 - 1, 1 - 2**63), (-(2**62), 2**62)])
def test_lag_wraps_as_in_kafka(offset: int, lag: int, lines: StringIO) -> None:
    broker, client = ready("good", "bad")
    alters(broker, client, "bad", offset)
    assert described(broker, client, "good", "bad") == [("good", E.none, [(5, -5)]), ("bad", E.none, [(offset, lag)])]
    assert "Traceback" not in lines.getvalue()


def test_failure_stays_with_its_group(monkeypatch: pytest.MonkeyPatch, lines: StringIO) -> None:
    broker, client = ready("good", "bad")
    original = describe_share_group_offsets._partition

    def fails(node: Any, topic_id: Any, index: int, outcome: Any) -> Any:
        if outcome.start_offset == 7:
            raise ZeroDivisionError
        return original(node, topic_id, index, outcome)

    alters(broker, client, "bad", 7)
    monkeypatch.setattr(describe_share_group_offsets, "_partition", fails)
    assert described(broker, client, "bad", "good") == [
        ("bad", E.unknown_server_error, []), ("good", E.none, [(5, -5)]),
    ]  # fmt: skip
    assert "ZeroDivisionError" in lines.getvalue()


def test_many_partitions_are_altered_and_described() -> None:
    broker, client = ready("g", partitions=300)
    assert described(broker, client, "g") == [("g", E.none, [(5, -5)] * 300)]
