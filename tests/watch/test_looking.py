"""What a broker may say of its groups."""

from __future__ import annotations

from typing import Any

from kohort.cli.watch.client import Broker
from kohort.cli.watch.looking import WatchedCluster
from kohort.cli.watch.snapshot import SeenGroup, SeenShare
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeResponse,
    Member,
    TopicPartitions,
)
from kohort.protocol.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from kohort.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from kohort.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponseTopic,
)
from kohort.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponsePartition as SharePart,
)
from kohort.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from kohort.protocol.messages.share_group_describe import Assignment as ShareAssignment
from kohort.protocol.messages.share_group_describe import DescribedGroup as DescribedShareGroup
from kohort.protocol.messages.share_group_describe import Member as ShareMember
from kohort.protocol.messages.share_group_describe import ShareGroupDescribeResponse
from kohort.protocol.messages.share_group_describe import TopicPartitions as ShareTopic
from kohort.protocol.messages.streams_group_describe import Assignment as StreamsAssignment
from kohort.protocol.messages.streams_group_describe import DescribedGroup as DescribedStreamsGroup
from kohort.protocol.messages.streams_group_describe import Member as StreamsMember
from kohort.protocol.messages.streams_group_describe import StreamsGroupDescribeResponse
from kohort.protocol.messages.streams_group_heartbeat import TaskIds
from tests.watch.seen_values import seen_group


class Scripted(Broker):
    """Answers what it is told to."""

    def __init__(self, **answers: Any) -> None:
        super().__init__("broker-1", 9092)
        self._answers = answers

    async def ask(self, name: str, request: Any) -> Any:
        return self._answers[name]

    def speaks(self, name: str) -> bool:
        return name in self._answers


def listed(*groups: tuple[str, str], error: ErrorCode = ErrorCode.none) -> ListGroupsResponse:
    told = [
        ListedGroup(group_id=name, protocol_type="consumer", group_state="Stable", group_type=kind)
        for name, kind in groups
    ]
    return ListGroupsResponse(error_code=error, groups=tuple(told))


def described(**errors: ErrorCode) -> DescribeGroupsResponse:
    told = [
        DescribedGroup(
            error_code=error, group_id=name, group_state="Empty", protocol_type="consumer", protocol_data="", members=()
        )
        for name, error in errors.items()
    ]
    return DescribeGroupsResponse(groups=tuple(told))


async def groups_of(broker: Broker, pattern: str = "*") -> tuple[list[SeenGroup], str]:
    return await WatchedCluster("broker-1:9092", pattern)._groups_of(7, broker)


async def test_failed_group_list_is_a_problem() -> None:
    broker = Scripted(list_groups=listed(error=ErrorCode.coordinator_load_in_progress))
    assert await groups_of(broker) == (
        [],
        "broker-1:9092 cannot list groups: COORDINATOR_LOAD_IN_PROGRESS",
    )


async def test_moved_group_is_a_problem() -> None:
    broker = Scripted(
        list_groups=listed(("moved", "Classic"), ("gone", ""), ("there", "classic")),
        describe_groups=described(
            moved=ErrorCode.not_coordinator, gone=ErrorCode.group_id_not_found, there=ErrorCode.none
        ),
    )
    assert await groups_of(broker) == (
        [seen_group("there", "Empty", 7)],
        "broker-1:9092 cannot describe group moved: NOT_COORDINATOR",
    )


def assignment(**topics: tuple[int, ...]) -> Assignment:
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=None, topic_name=name, partitions=parts) for name, parts in topics.items()
        )
    )


def member(name: str, epoch: int, owns: Assignment, target: Assignment, kind: int = 1) -> Member:
    return Member(
        member_id=f"{name}-id", member_epoch=epoch, client_id=name, client_host="/10.0.0.1",
        subscribed_topic_names=("orders",), assignment=owns, target_assignment=target, member_type=kind,
    )  # fmt: skip


async def test_consumer_group_shows_epochs_and_protocols() -> None:
    group = DescribedConsumerGroup(
        error_code=ErrorCode.none, group_id="newer", group_state="Reconciling", group_epoch=5, assignment_epoch=4,
        assignor_name="uniform",
        members=(
            member("ada", 3, assignment(orders=(0, 2)), assignment(orders=(0,))),
            member("bob", 4, assignment(), assignment(orders=(2,))),
            member("eve", 4, assignment(orders=(1,)), assignment(orders=(1,)), kind=0),
        ),
    )  # fmt: skip
    broker = Scripted(
        list_groups=listed(("newer", "Consumer")),
        consumer_group_describe=ConsumerGroupDescribeResponse(groups=(group,)),
    )
    (seen,), problem = await groups_of(broker)
    assert problem == ""
    assert (seen.state, seen.type, seen.protocol) == ("Reconciling", "consumer", "uniform")
    assert (seen.epoch, seen.target_epoch, seen.coordinator) == (5, 4, 7)
    assert seen.is_complete
    assert [(str(each), each.epoch, each.speaks, each.revoking, each.missing) for each in seen.members] == [
        ("ada", 3, "consumer", {"orders": (2,)}, ()),
        ("bob", 4, "consumer", {}, (("orders", 2),)),
        ("eve", 4, "classic", {}, ()),
    ]


async def test_failed_descriptions_are_problems() -> None:
    broker = Scripted(
        list_groups=listed(("older", "Classic"), ("newer", "Consumer"), ("gone", "Consumer"), ("shared", "Share")),
        describe_groups=described(older=ErrorCode.none),
        consumer_group_describe=ConsumerGroupDescribeResponse(
            groups=(
                DescribedConsumerGroup(error_code=ErrorCode.topic_authorization_failed, group_id="newer"),
                DescribedConsumerGroup(error_code=ErrorCode.group_id_not_found, group_id="gone"),
            )
        ),
    )
    assert await groups_of(broker) == (
        [seen_group("shared", "Stable", 7, group_type="share", is_complete=False), seen_group("older", "Empty", 7)],
        "broker-1:9092 cannot describe group newer: TOPIC_AUTHORIZATION_FAILED",
    )


async def test_share_group_shows_partitions_and_progress() -> None:
    told = ShareAssignment(topic_partitions=(ShareTopic(topic_id=None, topic_name="orders", partitions=(0,)),))
    members = tuple(
        ShareMember(
            member_id=f"{name}-id", member_epoch=3, client_id=name, client_host="/10.0.0.1",
            subscribed_topic_names=("orders",), assignment=told,
        )
        for name in ("ada", "bob")
    )  # fmt: skip
    group = DescribedShareGroup(
        error_code=ErrorCode.none, group_id="queue", group_state="Stable", group_epoch=3, assignment_epoch=3,
        assignor_name="simple", members=members,
    )  # fmt: skip
    parts = (SharePart(partition_index=0, start_offset=40, lag=12), SharePart(partition_index=1))
    offsets = DescribeShareGroupOffsetsResponseGroup(
        group_id="queue",
        topics=(DescribeShareGroupOffsetsResponseTopic(topic_name="orders", topic_id=None, partitions=parts),),
    )
    broker = Scripted(
        list_groups=listed(("queue", "Share")),
        share_group_describe=ShareGroupDescribeResponse(groups=(group,)),
        describe_share_group_offsets=DescribeShareGroupOffsetsResponse(groups=(offsets,)),
    )
    (seen,), problem = await groups_of(broker)
    assert (problem, seen.type, seen.protocol, seen.epoch) == ("", "share", "simple", 3)
    assert [(str(each), each.owned, each.epoch) for each in seen.members] == [
        ("ada", (("orders", 0),), 3),
        ("bob", (("orders", 0),), 3),
    ]
    problems: list[str] = []
    shares = await WatchedCluster("broker-1:9092")._shares([seen], {7: broker}, problems)
    assert (shares, problems) == ({"queue": (SeenShare(("orders", 0), 40, 12),)}, [])


async def test_streams_group_shows_tasks_and_waiters() -> None:
    def tasks(active: tuple[int, ...] = (), standby: tuple[int, ...] = ()) -> StreamsAssignment:
        roles = [(TaskIds(subtopology_id="0", partitions=each),) if each else () for each in (active, standby)]
        return StreamsAssignment(active_tasks=roles[0], standby_tasks=roles[1], warmup_tasks=())

    def thread(name: str, epoch: int, has: StreamsAssignment, target: StreamsAssignment) -> StreamsMember:
        return StreamsMember(
            member_id=f"{name}-id", member_epoch=epoch, instance_id=None, rack_id=None, client_id=name,
            client_host="/10.0.0.1", topology_epoch=0, process_id=name, user_endpoint=None, client_tags=(),
            assignment=has, target_assignment=target,
        )  # fmt: skip

    group = DescribedStreamsGroup(
        error_code=ErrorCode.none, group_id="words", group_state="Reconciling", group_epoch=4, assignment_epoch=4,
        topology=None,
        members=(
            thread("ada", 3, tasks((0, 1)), tasks((0,))),
            thread("bob", 4, tasks((), (0,)), tasks((1,), (0,))),
        ),
    )  # fmt: skip
    broker = Scripted(
        list_groups=listed(("words", "Streams")), streams_group_describe=StreamsGroupDescribeResponse(groups=(group,))
    )
    (seen,), problem = await groups_of(broker)
    assert (problem, seen.type, seen.state, seen.epoch, seen.target_epoch) == ("", "streams", "Reconciling", 4, 4)
    assert [(str(each), each.epoch, each.owned, each.revoking, each.missing) for each in seen.members] == [
        ("ada", 3, (("active 0", 0), ("active 0", 1)), {"active 0": (1,)}, ()),
        ("bob", 4, (("standby 0", 0),), {}, (("active 0", 1),)),
    ]


async def test_broker_without_consumer_describe() -> None:
    broker = Scripted(list_groups=listed(("newer", "Consumer")))
    assert await groups_of(broker) == ([seen_group("newer", "Stable", 7, group_type="consumer", is_complete=False)], "")


async def test_unmatched_groups_are_not_described() -> None:
    assert await groups_of(Scripted(list_groups=listed(("billing", "classic"))), "fraud*") == ([], "")
