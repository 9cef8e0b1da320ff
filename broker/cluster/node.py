"""One node of the cluster: its id, its port, its coordinators."""

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
    """A broker of the cluster. Nodes share everything but their coordinator and their port."""

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
        self.port = 0
        """Where it listens; known once it does. One that is stopped keeps it for when it is started again."""
        self.ports: dict[str, int] = {}
        """The ports of all listeners, by name."""
        self.running = True
        """Changed by moving.py only."""

    @property
    def share_coordinator(self) -> ShareCoordinator:
        """Keeps the state of share partitions; made when somebody asks for the first time."""
        if self._share_coordinator is None:
            from kohort.broker.cluster.share_state_topic import new_share_coordinator

            self._share_coordinator = new_share_coordinator(self.cluster, self.coordinator.effects)
        return self._share_coordinator

    @property
    def led_share_partitions(self) -> LedSharePartitions:
        """The share partitions that it leads; made when somebody asks for the first time."""
        if self._led_share_partitions is None:
            from kohort.broker.cluster.led_share_partitions import LedSharePartitions

            self._led_share_partitions = LedSharePartitions(self)
        return self._led_share_partitions

    @property
    def share_partitions_led(self) -> LedSharePartitions | None:
        """The share partitions that it leads; None: nobody has asked for one yet."""
        return self._led_share_partitions

    def share_partitions_lost(self, topic: Topic, *partitions: Partition) -> None:
        """What share groups hold of these partitions does not count here any more. Without any: of all of them."""
        if self._led_share_partitions is not None:
            for each in partitions or topic.partitions:
                self._led_share_partitions.partition_lost(topic.topic_id, each.index)

    def forget_share_partitions(self) -> None:
        """It stops: sessions end, and what they hold is what was written down of it, as in Kafka."""
        if self._led_share_partitions is not None:
            self._led_share_partitions.stopped()

    def client_gone(self, connection: object) -> None:
        """A connection has ended."""
        led = self._led_share_partitions
        if led is not None and led.sessions.has_connection(connection):
            self.cluster.soon(partial(led.client_gone, connection))

    def coordinator_for(self, topic: str) -> CoordinatorContext:
        """The one of its coordinators that keeps what it knows in that topic."""
        if topic == OFFSETS_TOPIC:
            return self.coordinator
        return self.transactions if topic == TRANSACTION_TOPIC else self.share_coordinator

    def address_for(self, ticket: Ticket) -> tuple[str, int]:
        """Host and port under which the client that holds `ticket` reaches this node.

        The host is the one the client dialled, unless `--advertise` names another: whoever reached one node reaches
        the others in the same way. The port is that of the listener the client came in on.
        """
        return self.address(ticket.listener[0], ticket.listener_name)

    def address(self, dialled: str, listener: str) -> tuple[str, int]:
        """Host and port under which a client that dialled the host `dialled` on a listener reaches this node on it."""
        port = self.ports.get(listener, self.port)
        advertised = self.cluster.advertised.get(listener)
        if advertised is None:
            return dialled, port
        return advertised.address(self.id - self.cluster.nodes[0].id, dialled, port)

    def listens(self, listener: str, port: int) -> None:
        """It listens there."""
        if not self.ports:
            self.port = port
        self.ports[listener] = port
