"""What a broker may say of its groups."""

from __future__ import annotations

from typing import Any

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from kohort.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from kohort.watch.client import Broker
from kohort.watch.looking import WatchedCluster
from kohort.watch.snapshot import SeenGroup


class Scripted(Broker):
    """Answers what it is told to."""

    def __init__(self, **answers: Any) -> None:
        super().__init__("broker-1", 9092)
        self._answers = answers

    async def ask(self, name: str, request: Any) -> Any:
        return self._answers[name]


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


async def test_a_broker_that_does_not_list_its_groups_is_a_problem() -> None:
    broker = Scripted(list_groups=listed(error=ErrorCode.coordinator_load_in_progress))
    assert await groups_of(broker) == (
        [],
        "broker-1:9092 does not list its groups: COORDINATOR_LOAD_IN_PROGRESS",
    )


async def test_a_group_that_has_moved_meanwhile_is_a_problem_and_one_that_is_gone_is_none() -> None:
    broker = Scripted(
        list_groups=listed(("moved", "Classic"), ("gone", ""), ("there", "classic")),
        describe_groups=described(
            moved=ErrorCode.not_coordinator, gone=ErrorCode.group_id_not_found, there=ErrorCode.none
        ),
    )
    assert await groups_of(broker) == (
        [SeenGroup("there", "Empty", 7)],
        "broker-1:9092 does not describe moved: NOT_COORDINATOR",
    )


async def test_a_group_of_the_newer_protocol_is_known_by_its_listing_only() -> None:
    broker = Scripted(
        list_groups=listed(("newer", "Consumer")), describe_groups=described(newer=ErrorCode.group_id_not_found)
    )
    assert await groups_of(broker) == ([SeenGroup("newer", "Stable", 7, group_type="consumer", members=None)], "")


async def test_groups_that_do_not_match_are_not_asked_for() -> None:
    assert await groups_of(Scripted(list_groups=listed(("billing", "classic"))), "fraud*") == ([], "")
