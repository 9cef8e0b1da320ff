"""A node of the cluster: its id, its ports, and its coordinators."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.cluster.fetch_sessions import FetchSessions
from kohort.broker.ticket import Ticket
from kohort.coordinator.effects import OFFSETS_TOPIC, TRANSACTION_TOPIC

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.cluster.led_share_partitions import LedSharePartitions
    from kohort.coordinator.context import CoordinatorContext
    from kohort.coordinator.coordinator import GroupCoordinator
    from kohort.coordinator.share_state.share_coordinator import ShareCoordinator
    from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator
    from kohort.storage.topic import Partition, Topic


class Node:
    """A broker of the cluster. Nodes share everything except their coordinators and ports."""

    __slots__ = (
        "_led_share_partitions",
        "_share_coordinator",
        "cluster",
        "coordinator",
        "fetch_sessions",
        "id",
        "port",
        "ports",
        "running",
        "transactions",
    )

    def __init__(
        self, cluster: BrokerCluster, node_id: int, coordinator: GroupCoordinator, transactions: TransactionCoordinator
    ) -> None:
        self.id = node_id
        self.cluster = cluster
        self.coordinator = coordinator
        self.transactions = transactions
        self.fetch_sessions = FetchSessions(cluster.settings.max_incremental_fetch_session_cache_slots, cluster.random)
        self._share_coordinator: ShareCoordinator | None = None
        self._led_share_partitions: LedSharePartitions | None = None
        self.port = 0  # port of the first listener, set when it listens; kept while the node is stopped
        self.ports: dict[str, int] = {}  # the ports of all listeners, by name
        self.running = True  # changed by moving.py only

    @property
    def share_coordinator(self) -> ShareCoordinator:
        if self._share_coordinator is None:
            from kohort.broker.cluster.share_state_topic import new_share_coordinator

            self._share_coordinator = new_share_coordinator(self.cluster, self.coordinator.effects)
        return self._share_coordinator

    @property
    def led_share_partitions(self) -> LedSharePartitions:
        if self._led_share_partitions is None:
            from kohort.broker.cluster.led_share_partitions import LedSharePartitions

            self._led_share_partitions = LedSharePartitions(self)
        return self._led_share_partitions

    @property
    def share_partitions_led(self) -> LedSharePartitions | None:
        return self._led_share_partitions

    def share_partitions_lost(self, topic: Topic, *partitions: Partition) -> None:
        """Drop the in-flight state of these partitions' share groups; of all partitions if none is given."""
        if self._led_share_partitions is not None:
            for partition in partitions or topic.partitions:
                self._led_share_partitions.partition_lost(topic.topic_id, partition.index)

    def forget_share_partitions(self) -> None:
        """Close all share sessions of a node that stops; only stored state remains, as in Kafka."""
        if self._led_share_partitions is not None:
            self._led_share_partitions.stopped()

    def client_gone(self, connection: object) -> None:
        led = self._led_share_partitions
        if led is not None and led.sessions.has_connection(connection):
            self.cluster.soon(partial(led.client_gone, connection))

    def coordinator_for(self, topic: str) -> CoordinatorContext:
        """Return the coordinator that stores its state in that topic."""
        if topic == OFFSETS_TOPIC:
            return self.coordinator
        return self.transactions if topic == TRANSACTION_TOPIC else self.share_coordinator

    def address_for(self, ticket: Ticket) -> tuple[str, int]:
        """Return host and port of this node for the client of `ticket`.

        The host is the one that the client has connected to, unless `--advertise` overrides it: a client that reached
        one node reaches the others in the same way. The port is that of the client's listener.
        """
        return self.address(ticket.listener[0], ticket.listener_name)

    def address(self, dialled: str, listener: str) -> tuple[str, int]:
        """Return host and port of this node for a client that has connected to host `dialled` on a listener."""
        port = self.ports.get(listener, self.port)
        advertised = self.cluster.advertised.get(listener)
        if advertised is None:
            return dialled, port
        return advertised.address(self.id - self.cluster.nodes[0].id, dialled, port)

    def listens(self, listener: str, port: int) -> None:
        if not self.ports:
            self.port = port
        self.ports[listener] = port
