"""A laboratory whose broker has a share group, for tests that send its requests themselves."""

from __future__ import annotations

from typing import Any

from kohort.control.clock.lab_clock import LabClock
from kohort.control.laboratory import Laboratory
from tests.broker.share_member import GROUP, TOPIC, produce, ready
from tests.support.broker import Broker, Client
from tests.support.manual_clock import ManualClock


class ShareLab:
    """A broker with ten records for a share group, and its laboratory."""

    def __init__(self) -> None:
        clock = LabClock(ManualClock())
        self.broker = Broker(clock=clock)  # type: ignore[arg-type]
        self.laboratory = Laboratory(self.broker.cluster, clock)
        self.laboratory.attach(self.broker.server)
        self.faults, self.gates = self.laboratory.faults, self.laboratory.gates
        self.broker.cluster.offsets_topic.create(0)
        ready(self.broker)
        produce(self.broker, *[b"x"] * 10)

    def beats(self, client: Client, epoch: int = 0) -> Any:
        names = (TOPIC,) if not epoch else None
        fields = {"group_id": GROUP, "member_id": "ada", "member_epoch": epoch, "subscribed_topic_names": names}
        return client.asks("share_group_heartbeat", 1, **fields)

    def members(self) -> list[str]:
        coordinator = self.broker.cluster.coordinators[0]
        group = coordinator.share_group(GROUP)
        return [] if group is None else list(group.members)
