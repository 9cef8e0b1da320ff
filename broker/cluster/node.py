"""One node of the cluster: its id, its port, its coordinators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.cluster.fetch_sessions import FetchSessions
from kohort.broker.ticket import Ticket

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.coordinator.coordinator import GroupCoordinator
    from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator


class Node:
    """A broker of the cluster. Nodes share everything but their coordinator and their port."""

    __slots__ = ("cluster", "coordinator", "fetch_sessions", "id", "port", "running", "transactions")

    def __init__(
        self, cluster: BrokerCluster, node_id: int, coordinator: GroupCoordinator, transactions: TransactionCoordinator
    ) -> None:
        self.id = node_id
        self.cluster = cluster
        self.coordinator = coordinator
        self.transactions = transactions
        self.fetch_sessions = FetchSessions(cluster.settings.max_incremental_fetch_session_cache_slots, cluster.random)
        self.port = 0
        """Where it listens; known once it does. One that is stopped keeps it for when it is started again."""
        self.running = True
        """Changed by moving.py only."""

    def address_for(self, ticket: Ticket) -> tuple[str, int]:
        """Host and port under which the client that holds `ticket` reaches this node.

        The host is the one the client dialled, unless `--advertise` names another: whoever reached one node reaches
        the others in the same way.
        """
        return self.address(ticket.listener[0])

    def address(self, dialled: str) -> tuple[str, int]:
        """Host and port under which a client that dialled the host `dialled` reaches this node."""
        return self.cluster.advertised.address(self.id - self.cluster.nodes[0].id, dialled, self.port)
