"""Tests that wrong responses to consumer groups are noticed."""

import asyncio
from uuid import UUID

import pytest

from benchmarks import replies, requests
from benchmarks.consumer_group import ConsumerGroup
from benchmarks.judged_wire import Wire, connected, reply_to, whole
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_heartbeat import (
    MESSAGE,
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

TOPIC = UUID(int=7)
ADA, BOB = 0, 1


class Two:
    """Group of ada and bob that joins, on a topic with four partitions."""

    def __init__(self) -> None:
        clients = [connected() for _ in range(2)]
        self.wires: list[Wire] = [wire for _, wire in clients]
        self.group = ConsumerGroup("g", "orders", 4, [client for client, _ in clients], clients[0][0].failures)
        self.group.whole = asyncio.get_running_loop().create_future()
        self.group._member_count = 2
        for member in self.group.members:
            member.is_active = True
            member.join()

    def hear(self, number: int, epoch: int, assigned: tuple[int, ...] | None = None, code: int = 0) -> None:
        member, wire = self.group.members[number], self.wires[number]
        member.connection.data_received(reply_to(wire.sent[-1], answer(member.id, epoch, assigned, code)))

    @property
    def wrong(self) -> dict[str, int]:
        return dict(self.group.failures.counts)


def answer(member_id: str, epoch: int, assigned: tuple[int, ...] | None, code: int = 0) -> bytes:
    """Return a response without length and correlation id."""
    share = None
    if assigned is not None:
        share = Assignment(topic_partitions=(TopicPartitions(topic_id=TOPIC, partitions=assigned),) if assigned else ())
    response = ConsumerGroupHeartbeatResponse(
        error_code=ErrorCode(code), member_id=member_id, member_epoch=epoch, heartbeat_interval_ms=5, assignment=share
    )
    return whole(MESSAGE.writer_by_kio(1)(0, response))[8:]


@pytest.fixture
async def two() -> Two:
    return Two()


async def test_all_is_well_when_everything_is_owned_and_acknowledged(two: Two) -> None:
    two.hear(ADA, 3, (0, 1))
    two.hear(BOB, 3, (2, 3))
    two.hear(ADA, 3)
    assert two.group.whole is not None
    assert not two.group.whole.done()
    two.hear(BOB, 3)
    assert two.group.whole.done()
    assert not two.wrong


async def test_two_owners(two: Two) -> None:
    two.hear(ADA, 3, (0, 1))
    two.hear(BOB, 3, (1, 2))
    assert two.wrong == {"two owners": 1}


async def test_a_partition_may_move_once_its_owner_has_heard_of_it(two: Two) -> None:
    two.hear(ADA, 2, (0, 1, 2, 3))
    two.hear(BOB, 3, ())
    two.hear(ADA, 2)
    two.group.members[ADA].beat()
    two.hear(ADA, 2, (0, 1))
    two.hear(ADA, 3)
    assert two.wires[BOB].sent[-1][4:8] == two.wires[ADA].sent[-1][4:8], "bob, who lacks partitions, beats again"
    two.hear(BOB, 3, (2, 3))
    two.hear(BOB, 3)
    assert not two.wrong


async def test_an_epoch_that_falls_and_a_refusal(two: Two) -> None:
    two.hear(ADA, 3, (0,))
    two.hear(ADA, 2)
    two.hear(BOB, 0, code=ErrorCode.fenced_member_epoch)
    assert two.wrong == {"an epoch fell": 1, "ConsumerGroupHeartbeat answered fenced_member_epoch": 1}


async def test_answers_to_somebody_else_and_answers_that_are_cut(two: Two) -> None:
    short, long = answer("other", 3, None), answer("other", 3, (1,))
    for body in (short, long, long[:-1]):
        with pytest.raises(replies.MalformedReplyError):
            replies.consumer_beat(bytes(4) + body, "ada")


def test_requests_by_hand_are_those_of_kio() -> None:
    owned = (TopicPartitions(topic_id=TOPIC, partitions=(0, 3)),)
    assert requests.consumer_heartbeat("g", "ada", 7, {TOPIC: [0, 3]}) == requests.by_kio(
        MESSAGE,
        1,
        ConsumerGroupHeartbeatRequest(group_id="g", member_id="ada", member_epoch=7, topic_partitions=owned),
    )
    assert requests.consumer_heartbeat("g", "ada", 0, {}, ["orders"]) == requests.by_kio(
        MESSAGE,
        1,
        ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="ada",
            member_epoch=0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=("orders",),
            topic_partitions=(),
        ),
    )
