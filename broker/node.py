"""One node of the cluster: its id, its port, its group coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.ticket import Ticket

if TYPE_CHECKING:
    from kohort.broker.cluster import Cluster
    from kohort.coordinator.coordinator import GroupCoordinator


class Node:
    """A broker of the cluster. Nodes share everything but their coordinator and their port."""

    __slots__ = ("cluster", "coordinator", "id", "port", "running")

    def __init__(self, cluster: Cluster, node_id: int, coordinator: GroupCoordinator) -> None:
        self.id = node_id
        self.cluster = cluster
        self.coordinator = coordinator
        self.port = 0
        """Where it listens; known once it does. One that is stopped keeps it for when it is started again."""
        self.running = True
        """Changed by moving.py only."""

    def address_for(self, ticket: Ticket) -> tuple[str, int]:
        """Host and port under which the client that holds `ticket` reaches this node.

        The host is the one the client dialled, unless `--advertise` names another: whoever reached one node reaches
        the others in the same way.
        """
        return self.cluster.advertise or ticket.listener[0], self.port
