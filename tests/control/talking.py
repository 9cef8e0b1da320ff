"""Conversations with a broker in the laboratory: lines of a .talk file, and actions of the test between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.runtime.registry import Registry
from kohort.broker.runtime.server import Server
from kohort.control.clock.lab_clock import LabClock
from kohort.control.laboratory import Laboratory
from kohort.control.oracle.safety import Budget
from kohort.proxy.talk.talk_connection import TalkConnection
from kohort.proxy.talk.talk_lines import ANSWER, Step
from tests.support.lacking import need
from tests.talk.play import WrittenPlayer
from tests.talk.profiles import PROFILES, Profile
from tests.talk.script import Conversation, read_steps
from tests.talk.stage import InProcessSide, Stage, run


class LabStage(Stage):
    """The machine's clock is moved by hand, and the brokers' clock runs on top of it."""

    laboratory: Laboratory

    def make_server(self, profile: Profile) -> Server:
        clock = LabClock(self.clock)
        cluster = BrokerCluster(self.new_settings(profile), clock, profile.nodes, seed=1)
        self.laboratory = Laboratory(cluster, clock)
        server = Server(cluster, Registry(), self.loop)  # type: ignore[arg-type]
        self.laboratory.attach(server)
        return server


class Lab:
    """A broker, its laboratory, and its clients."""

    def __init__(self, profile: str = "default") -> None:
        self.stage = LabStage(PROFILES[profile])
        self.laboratory = self.stage.laboratory
        self.faults, self.gates, self.clock = self.laboratory.faults, self.laboratory.gates, self.laboratory.clock
        self.player = WrittenPlayer(self.stage)
        self._last_speaker = ""

    def talk(self, text: str) -> None:
        """Play lines.

        Raises:
            Differs: The broker answers differently.
        """
        for step in read_steps(Path("a test"), dedent(text).strip().splitlines(), self._last_speaker):
            self._last_speaker = step.speaker
            run(self.player.take(step))

    def settle(self) -> None:
        """Run everything that is due now."""
        self.stage.loop.settle()

    def name(self, name: str) -> str:
        """Return the value of a name in the conversation, such as `group` or `ada`."""
        self.player._make_up_names(f"${name}")
        return str(self.player.names[name])

    def heard(self) -> Any:
        """Return the fields of the last speaker's next response."""
        return run(self.player._receive(Step(ANSWER, self._last_speaker)))[1]

    def line(self, speaker: str) -> TalkConnection:
        """Return a client's connection."""
        return run(self.player.connection(speaker))

    def side(self, speaker: str) -> InProcessSide:
        """Return the broker's side of a client's connection."""
        side = self.line(speaker)._side
        assert isinstance(side, InProcessSide)
        return side

    def state(self) -> str:
        """Return the state of `$group`."""
        groups = (coordinator.groups.get(self.name("group")) for coordinator in self.laboratory.cluster.coordinators)
        return next((group.state_name for group in groups if group is not None), "Dead")

    def violations(self) -> list[str]:
        """Return the violations, after stopping the safety oracle."""
        assert self.laboratory.safety is not None
        return self.laboratory.safety.finish()


def violations_of(conversation: Conversation) -> list[str]:
    """Return the violations in a conversation, up to the first step that is not about groups."""
    if conversation.has_patterns:
        need("re2")
    stage = LabStage(PROFILES[conversation.profile], conversation.warm)
    stage.laboratory.watch_safety(Budget(backwards=True, others_partitions=True, beyond_end=True))
    player = WrittenPlayer(stage)
    try:
        for step in conversation.steps:
            run(player.take(step))
    finally:
        stage.close()
    assert stage.laboratory.safety is not None
    return stage.laboratory.safety.finish()


@pytest.fixture
def lab() -> Iterator[Lab]:
    """One broker with the settings of most conversations."""
    made = Lab()
    yield made
    made.stage.close()
