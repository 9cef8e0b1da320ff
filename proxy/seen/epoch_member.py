"""A member of a group of a newer protocol, as far as its heartbeats and the answers have said."""

from __future__ import annotations

from typing import Any

from kohort.coordinator.consumer.values import STEPPING_OUT_EPOCH
from kohort.coordinator.events.member_stats import MemberStats
from kohort.coordinator.requesting_client import Client


class EpochMember:
    """A member, as far as its heartbeats and the answers have said."""

    def __init__(self, member_id: str, client: Client, line: int, now_ms: int) -> None:
        self.member_id = member_id
        self.client = client
        self.line = line
        """The connection that it spoke on last."""
        self.stats = MemberStats(client.client_software, now_ms)
        self.instance_id: str | None = None
        self.epoch = 0
        self.has: frozenset[Any] = frozenset()
        """Partitions, or tasks, that it is given."""
        self.revoking: frozenset[Any] = frozenset()
        """What it is to give up and has not."""
        self.revoking_since_us = 0
        self.topics: tuple[str, ...] = ()
        self.topic_regex = ""
        self.rebalance_timeout_ms = -1
        self.assignor = ""
        self.quiet_us = -1
        """When it last heard, at the group's epoch, that there is nothing new; -1: it has not."""
        self.is_connected = True
        self.is_stranger = False
        """Whether descriptions alone have named it: it has not spoken here."""
        self.is_share_known = True
        """Whether `has` says what it is given."""
        self.speaks = ""
        """The protocol that it speaks, where that is not its group's."""

    @property
    def is_away(self) -> bool:
        """Whether it is a static member that has stepped out."""
        return self.epoch == STEPPING_OUT_EPOCH
