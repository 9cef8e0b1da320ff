"""Brokers of a laboratory, as its parts use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kohort.control.waiting import Waiters

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.runtime.server import Server
    from kohort.control.clock.lab_clock import LabClock


class Brokers:
    """Cluster, its clock, its server, and the waiters that are notified of changes."""

    server: Server  # set by `Laboratory.attach`

    def __init__(self, cluster: BrokerCluster, clock: LabClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.waiters = Waiters()

    def act(self, action: Callable[[int], None]) -> None:
        """Execute an action that no client requested, with the time as its argument, and then its consequences."""
        self.server.act(action)
        self.waiters.look()
