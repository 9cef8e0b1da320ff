"""Queries of coordinators: an unreachable one affects its own groups only."""

from __future__ import annotations

from typing import Any

import pytest

from kohort.client.client_connection import BrokerError
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse
from kohort.protocol.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from kohort.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from kohort.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from kohort.proxy.group_questions import GroupAnswer, group_answers, unreachable

COORDINATORS = {"billing": 1, "audit": 2, "queue": 2}  # port of the coordinator by group


class Node:
    """A connection to one node, and its requests."""

    def __init__(self, nodes: Nodes, port: int) -> None:
        self.nodes = nodes
        self.port = port
        self.asked: list[Any] = []
        self.closed = False

    def version(self, api: str) -> int:
        return self.nodes.finding

    def speaks(self, api: str) -> bool:
        return api in self.nodes.spoken

    async def call(self, api: str, request: Any) -> Any:
        self.asked.append(request)
        if self.port in self.nodes.away:
            raise TimeoutError
        if api == "find_coordinator":
            return FindCoordinatorResponse(
                coordinators=tuple(self.coordinator(coordinator_key) for coordinator_key in request.coordinator_keys)
            )
        if api == "describe_groups":
            return DescribeGroupsResponse(groups=tuple(self.nodes.classic(group) for group in request.groups))
        return ConsumerGroupDescribeResponse(
            groups=tuple(
                DescribedConsumerGroup(error_code=self.nodes.error_of(group_id_), group_id=group_id_)
                for group_id_ in request.group_ids
            )
        )

    def coordinator(self, key: str) -> Coordinator:
        error = self.nodes.hidden.get(key, ErrorCode.none)
        named = key if self.nodes.finding >= 4 else ""
        port = COORDINATORS[key]
        return Coordinator(key=named, node_id=port, host="h", port=port, error_code=error, error_message=None)

    def close(self) -> None:
        self.closed = True


class Nodes:
    """Two nodes at ports 1 and 2, and their faults."""

    def __init__(self) -> None:
        self.away: set[int] = set()
        self.finding = 4
        self.spoken = {"describe_groups", "consumer_group_describe"}
        self.errors: dict[str, ErrorCode] = {}
        self.hidden: dict[str, ErrorCode] = {}
        self.state = "Stable"
        self.connected: list[Node] = []

    async def side_for_questions(self, address: tuple[str, int] | None = None) -> Any:
        self.connected.append(Node(self, 0 if address is None else address[1]))
        return self.connected[-1]

    def error_of(self, group_id: str) -> ErrorCode:
        return self.errors.get(group_id, ErrorCode.none)

    def classic(self, group_id: str) -> DescribedGroup:
        return DescribedGroup(
            error_code=self.error_of(group_id),
            group_id=group_id,
            group_state=self.state,
            protocol_type="consumer",
            protocol_data="range",
            members=(),
        )


WANTED = {"billing": "classic", "audit": "classic", "queue": "consumer"}


@pytest.mark.parametrize("finding", [4, 3])
async def test_each_coordinator_is_queried_by_type(finding: int) -> None:
    nodes = Nodes()
    nodes.finding = finding
    answers = await group_answers(nodes, WANTED)
    assert {name: each.described.group_id for name, each in answers.items()} == {item: item for item in WANTED}
    assert len(nodes.connected[0].asked) == (1 if finding >= 4 else 3), "before version 4 one group a request"
    assert {item.port: len(item.asked) for item in nodes.connected[1:]} == {1: 1, 2: 2}
    assert all(item.closed for item in nodes.connected)


async def test_unreachable_coordinator_fails_its_groups() -> None:
    nodes = Nodes()
    nodes.away = {2}
    answers = await group_answers(nodes, WANTED)
    assert answers["billing"].described is not None
    assert answers["audit"] == answers["queue"] == GroupAnswer(None, "no answer", is_unreachable=True)
    assert all(each.closed for each in nodes.connected)


async def test_unreachable_cluster_raises() -> None:
    nodes = Nodes()
    nodes.away = {0}
    with pytest.raises(TimeoutError):
        await group_answers(nodes, WANTED)
    assert nodes.connected[0].closed


async def test_error_is_a_result() -> None:
    nodes = Nodes()
    nodes.errors = {"billing": ErrorCode.group_authorization_failed}
    nodes.hidden = {"audit": ErrorCode.group_authorization_failed}
    nodes.spoken = {"describe_groups"}
    refused = GroupAnswer(None, "GROUP_AUTHORIZATION_FAILED")
    assert await group_answers(nodes, WANTED) == {
        "billing": refused,
        "audit": refused,
        "queue": GroupAnswer(None, "it cannot describe consumer groups"),
    }


async def test_moved_and_missing_groups_are_skipped() -> None:
    nodes = Nodes()
    nodes.errors = {"billing": ErrorCode.not_coordinator, "queue": ErrorCode.group_id_not_found}
    nodes.hidden = {"audit": ErrorCode.coordinator_not_available}
    assert await group_answers(nodes, WANTED) == {}
    nodes.errors, nodes.hidden, nodes.state = {}, {}, "Dead"
    assert set(await group_answers(nodes, WANTED)) == {"queue"}


async def test_response_for_other_group_is_ignored() -> None:
    nodes = Nodes()
    nodes.classic = lambda group_id: Nodes.classic(nodes, "other")  # type: ignore[method-assign]
    assert set(await group_answers(nodes, WANTED)) == {"queue"}


def test_unreachable_broker_gives_reason() -> None:
    assert unreachable(BrokerError("it hangs up")) == GroupAnswer(None, "it hangs up", is_unreachable=True)
