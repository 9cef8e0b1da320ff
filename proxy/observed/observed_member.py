"""Member of a consumer, share or streams group, as observed in its heartbeats."""

from __future__ import annotations

from typing import Any

from kohort.coordinator.effects import Cause
from kohort.coordinator.events.member_stats import MemberStats
from kohort.coordinator.modern.modern_values import STATIC_LEAVING_EPOCH
from kohort.coordinator.requesting_client import Client


class ObservedMember:
    """Member as known from its heartbeats and their responses."""

    def __init__(self, member_id: str, client: Client, line: int, now_ms: int) -> None:
        self.member_id = member_id
        self.client = client
        self.line = line  # number of its last connection
        self.stats = MemberStats(client.client_software, now_ms)
        self.instance_id: str | None = None
        self.epoch = 0
        self.assigned: frozenset[Any] = frozenset()  # partitions or tasks
        self.revoking: frozenset[Any] = frozenset()  # what it must revoke and still owns
        self.revoking_since_us = 0
        self.topics: tuple[str, ...] = ()
        self.topic_regex = ""
        self.rebalance_timeout_ms = -1
        self.assignor = ""
        self.settled_us = -1  # time of the last response at the group's epoch without changes; -1: none
        self.is_connected = True
        self.is_unobserved = False  # whether it is known from descriptions only
        self.is_assignment_known = True  # whether `assigned` is complete
        self.speaks = ""  # its protocol if it differs from the group's

    @property
    def is_away(self) -> bool:
        """Whether it is a static member that has left temporarily."""
        return self.epoch == STATIC_LEAVING_EPOCH

    def cause(self, name: str) -> Cause:
        """Return the cause of an epoch that this member brings about."""
        return Cause(name, self.member_id, self.client.client_id, self.client.client_host)
