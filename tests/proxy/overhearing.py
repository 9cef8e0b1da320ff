"""Conversations through a relay, so that both the proxy and the broker have events of the groups."""

from __future__ import annotations

from typing import Any

from kohort.broker.cluster.group_events import EventFeed, Recorded
from kohort.broker.cluster.node import Node
from kohort.broker.runtime.connection import Connection
from kohort.proxy.answer_rewriting import Pieces
from kohort.proxy.observed.group_listener import GroupListener
from kohort.proxy.observed.observed_group import Traffic
from kohort.proxy.relay import Relay
from kohort.proxy.relay_error import RelayError
from kohort.proxy.tap import Tap
from tests.talk.play import WrittenPlayer
from tests.talk.profiles import PROFILES
from tests.talk.script import Conversation
from tests.talk.stage import InProcessSide, Stage, run


class AsTheyAre:
    """Nodes whose ports here are their own."""

    def address(self, node_id: int, host: str, port: int) -> tuple[str, int]:
        return host, port

    def listed(self, node_ids: set[int]) -> None:
        pass


class RelayedSide(InProcessSide):
    """Connection with a relay in it. After a RelayError bytes pass as they are."""

    def __init__(self, stage: OverheardStage, node: Node, port: int) -> None:
        super().__init__(stage.loop, Connection(stage.server, node), port)
        self.host, self.node_id = "127.0.0.1", node.id
        self._line = stage.tap.line(self)
        self._relay: Relay | None = Relay(AsTheyAre(), line=self._line)

    def send(self, pieces: Pieces) -> None:
        """Send bytes of the client."""
        if self._relay is not None:
            try:
                pieces = [piece for data in pieces for piece in self._relay.requests(bytes(data))]
                while self._relay.has_more_requests:
                    pieces += self._relay.requests(b"")
            except RelayError:
                self._relay = None
        super().send(pieces)

    def write(self, data: bytes | memoryview) -> None:
        """Send bytes of the broker."""
        pieces: list[Any] = [data]
        if self._relay is not None:
            pieces = self._relay.answers(bytes(data))
            while self._relay.has_more_answers:
                pieces += self._relay.answers(b"")
        for piece in pieces:
            super().write(bytes(piece))

    def close(self) -> None:
        """Close the connection from either side."""
        if not self.lost:
            self._line.on_close()
        super().close()

    abort = close


class OverheardStage(Stage):
    """A broker with its own events, next to those of a listener to the traffic."""

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(PROFILES[conversation.profile], conversation.warm)
        self.said: list[Recorded] = []
        self.seen: list[Recorded] = []
        events = EventFeed("seen")
        events.listen(self.seen.append)
        self.listener = GroupListener(Traffic(events, self.clock.epoch_ms))
        self.tap = Tap(self.clock.now_us)
        self.tap.listen(self.listener)
        self.server.cluster.group_events.listen(self.said.append)

    def new_side(self, node: Node, port: int) -> InProcessSide:
        return RelayedSide(self, node, port)

    def step_is_over(self) -> None:
        """Record waiting requests."""
        self.listener.settle(self.clock.now_us())


def overhear(conversation: Conversation) -> OverheardStage:
    """Play a conversation to its end.

    Raises:
        Differs: A response differs from the one without a relay.
    """
    stage = OverheardStage(conversation)
    play_on(stage, conversation)
    return stage


def play_on(stage: OverheardStage, conversation: Conversation) -> None:
    """Play a conversation to its end, and close the stage.

    Raises:
        Differs: A response differs.
    """
    player = WrittenPlayer(stage)
    try:
        for step in conversation.steps:
            run(player.take(step))
            stage.step_is_over()
        player.nothing_left_over()
    finally:
        stage.close()
