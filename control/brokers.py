"""The brokers of a laboratory, as its parts see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kohort.control.waiting import Waiters

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.runtime.server import Server
    from kohort.control.lab_clock import LabClock


class Brokers:
    """A cluster, its clock, its server, and who waits for something to come about there."""

    server: Server
    """Made after the laboratory; see `Laboratory.attach`."""

    def __init__(self, cluster: BrokerCluster, clock: LabClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.waiters = Waiters()

    def act(self, action: Callable[[int], None]) -> None:
        """Lets something happen that no client has asked for, and what follows from it. `action` gets the time."""
        self.server.act(action)
        self.waiters.look()
