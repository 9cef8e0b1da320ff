"""Conversations through a relay, while coordinators are queried directly for descriptions of the groups."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

from kohort.broker.cluster.node import Node
from kohort.client.group_describing import describe_api, describe_request
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages import message_of
from kohort.proxy.node_ports import NO_NODE
from kohort.proxy.observed.observed_classic_group import ObservedClassicGroup
from kohort.proxy.observed.observed_group import ObservedGroup
from kohort.proxy.talk.talk_connection import TalkConnection
from tests.proxy.overhearing import OverheardStage, play_on
from tests.support.frames import frame
from tests.talk.script import Conversation
from tests.talk.stage import InProcessSide, Stage

AT_REST = ("Stable", "Empty")


class Described(NamedTuple):
    """Description of a group, and the version of the known state at the time of the query."""

    group_id: str
    kind: str
    said: Any
    version: int


class DescribedStage(OverheardStage):
    """A broker that is queried after each step."""

    def __init__(self, conversation: Conversation, *, late: bool = False, some_past: bool = False) -> None:
        """Create the stage.

        Args:
            late: Apply descriptions only after the next step.
            some_past: Let every other connection bypass the relay.
        """
        super().__init__(conversation)
        self.taken = 0  # descriptions that were applied
        self.disagreeing: list[str] = []  # differences to descriptions right after they were applied
        self._late = late
        self._some_past = some_past
        self._connections = 0
        self._lines: dict[int, TalkConnection] = {}
        self._under_way: list[Described] = []

    def new_side(self, node: Node, port: int) -> InProcessSide:
        """Return a new connection, through the relay or directly."""
        self._connections += 1
        if self._some_past and self._connections % 2 == 0:
            return Stage.new_side(self, node, port)
        return super().new_side(node, port)

    def step_is_over(self) -> None:
        """Request descriptions of all known groups, and apply those that have arrived."""
        super().step_is_over()
        came = self._under_way
        self._under_way = [
            Described(group.group_id, group.group_type, said, group.version)
            for group in self.listener.groups.values()
            if (said := self._said_of(group)) is not None
        ]
        for item in came if self._late else self._under_way:
            if self.listener.described(*item, self.clock.now_us()):
                self.taken += 1
                self._compare(item)

    def _compare(self, described: Described) -> None:
        group, said = self.listener.groups[described.group_id], described.said
        state = group.classic.state.value if isinstance(group, ObservedClassicGroup) else group.state_name
        if group.members.keys() != {member.member_id for member in said.members}:
            self.disagreeing.append(f"{sorted(group.members)} are members, not {said.members}")
        if said.group_state in AT_REST and state != said.group_state:
            self.disagreeing.append(f"{state}, not {said.group_state}")

    def _said_of(self, group: ObservedGroup) -> Any:
        if group.node_id == NO_NODE:
            return None
        api = describe_api(group.group_type)
        version = API_BY_NAME[api].max_version
        request = describe_request(group.group_type, (group.group_id,))
        names = [field.name for field in fields(request)]
        line = self._lines.get(group.node_id)
        if line is None or line.is_closed:
            line = self._lines[group.node_id] = self._connect_directly(group.node_id)
        line.send_bytes(frame(api, version, 1, **{name: getattr(request, name) for name in names}))
        if not line.frames:
            return None  # the node is away
        (said,) = message_of(api).read_answer(version, line.frames.popleft()[1])[1].groups
        return said if said.error_code is ErrorCode.none and said.group_state != "Dead" else None

    def _connect_directly(self, node_id: int) -> TalkConnection:
        node = next(node for node in self.server.cluster.nodes if node.id == node_id)
        assert node.port is not None, "it listens"
        return TalkConnection(self, ("127.0.0.1", node.port), Stage.new_side(self, node, node.port))


def describe(conversation: Conversation, *, late: bool = False, some_past: bool = False) -> DescribedStage:
    """Play a conversation to its end.

    Raises:
        Differs: A response differs from the one without a relay.
    """
    stage = DescribedStage(conversation, late=late, some_past=some_past)
    play_on(stage, conversation)
    return stage
