"""Several nodes in one process, and their shared state. Independent of sockets and event loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kohort.base.address import Advertised
from kohort.base.clock import Clock
from kohort.broker.cluster.assembly import new_access, new_group_coordinator, new_transaction_coordinator
from kohort.broker.cluster.coordinated_topic import CoordinatedTopic
from kohort.broker.cluster.group_events import GroupEvents
from kohort.broker.cluster.node import Node
from kohort.broker.cluster.offsets_topic import OffsetsTopic
from kohort.broker.cluster.shared_state import SharedState
from kohort.broker.cluster.startup_recovery import take_over
from kohort.broker.cluster.transaction_topic import TransactionTopic
from kohort.broker.cluster.upkeep import start_sweeps, start_upkeep
from kohort.broker.settings.broker_settings import Settings
from kohort.coordinator.effects import SHARE_STATE_TOPIC
from kohort.coordinator.groups.deleting import topic_deleted
from kohort.purgatory import DelayedOperation
from kohort.storage.topic import Topic

if TYPE_CHECKING:
    from kohort.broker.cluster.logins import Logins
    from kohort.broker.cluster.share_persister import SharePersister
    from kohort.broker.cluster.share_state_topic import ShareStateTopic
    from kohort.broker.cluster.streams_topics import StreamsTopics
    from kohort.security.scram_credentials import ScramCredentials
    from kohort.storage.disk.directory import DataDirectory


ALL_UNREAD_BYTES = 104_857_600  # total of unread responses above which a Fetch returns one batch only


class BrokerCluster(SharedState):
    """One or several nodes in one process."""

    _share_state_topic: ShareStateTopic | None = None
    _streams_topics: StreamsTopics | None = None

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        nodes: int = 1,
        seed: int | None = None,
        advertised: Mapping[str, Advertised] | None = None,
        directory: DataDirectory | None = None,
    ) -> None:
        """Create the cluster, and load its data directory.

        Args:
            seed: Seed of all random choices; None takes one from the system.
            advertised: The nodes' advertised addresses by listener. By default clients get the host they have connected
                to.
            directory: Data directory of logs; None keeps them in memory.

        Raises:
            DataDirectoryError: If the directory cannot be used.
        """
        node_ids = range(settings.node_id, settings.node_id + nodes)
        super().__init__(settings, clock, node_ids, seed, directory)
        now_ms = clock.now_ms()
        self.advertised = advertised or {}
        coordinators = [new_group_coordinator(self) for _ in node_ids]
        self.nodes = [
            Node(self, node_id, coordinator, new_transaction_coordinator(self, coordinator.effects))
            for node_id, coordinator in zip(node_ids, coordinators, strict=True)
        ]
        self.coordinators = coordinators
        for coordinator in coordinators:
            coordinator.share_persister = lambda: self.share_persister
        self.balancing: DelayedOperation | None = None  # pending election of preferred leaders (moving.py)
        self.offsets_topic = OffsetsTopic(self, {node.id: node.coordinator for node in self.nodes})
        self.transaction_topic = TransactionTopic(self, {node.id: node.transactions for node in self.nodes})
        self.coordinated: dict[str, CoordinatedTopic[Any]] = {
            topic.name: topic for topic in (self.offsets_topic, self.transaction_topic)
        }  # topics by name whose partition leaders are coordinators, notified when leadership moves
        self.group_events = GroupEvents(clock, self.offsets_topic)
        wants_access = bool(settings.authorizer_class_name)
        # None if everything is allowed
        self.access = new_access(self, self.offsets_topic, self.group_events) if wants_access else None
        self._scram_credentials: ScramCredentials | None = None
        self._logins: Logins | None = None
        transactions = [node.transactions for node in self.nodes]
        start_sweeps(self.purgatory, self.coordinators, transactions, now_ms)
        if directory is not None:
            take_over(self, self._coordinated_topic, directory, now_ms)
        start_upkeep(self, now_ms)

    @property
    def scram_credentials(self) -> ScramCredentials:
        if self._scram_credentials is None:
            from kohort.broker.cluster.kept_credentials import kept_credentials

            self._scram_credentials = kept_credentials(self.directory)
        return self._scram_credentials

    @property
    def logins(self) -> Logins:
        if self._logins is None:
            from kohort.broker.cluster.logins import Logins

            self._logins = Logins(self.group_events)
        return self._logins

    @property
    def share_state_topic(self) -> ShareStateTopic:
        if self._share_state_topic is None:
            from kohort.broker.cluster.share_state_topic import ShareStateTopic

            topic = ShareStateTopic(self, {node.id: node.share_coordinator for node in self.nodes})
            self._share_state_topic = self.coordinated[SHARE_STATE_TOPIC] = topic
        return self._share_state_topic

    @property
    def share_persister(self) -> SharePersister:
        return self.share_state_topic.persister

    @property
    def streams_topics(self) -> StreamsTopics:
        if self._streams_topics is None:
            from kohort.broker.cluster.streams_topics import StreamsTopics

            self._streams_topics = StreamsTopics(self)
        return self._streams_topics

    @property
    def controller_id(self) -> int:
        """The controller in Metadata: the first running node."""
        return next((node.id for node in self.nodes if node.running), self.nodes[0].id)

    @property
    def running_nodes(self) -> list[Node]:
        return [node for node in self.nodes if node.running] if self.topics.placement.stopped_nodes else self.nodes

    def node(self, node_id: int) -> Node | None:
        number = node_id - self.nodes[0].id
        return self.nodes[number] if 0 <= number < len(self.nodes) else None

    def _coordinated_topic(self, name: str) -> CoordinatedTopic[Any] | None:
        return self.share_state_topic if name == SHARE_STATE_TOPIC else self.coordinated.get(name)

    def ask_for_rights(self) -> None:
        """Check authorization from now on; without an authorizer only the laboratory denies requests."""
        if self.access is None:
            self.access = new_access(self, self.offsets_topic, self.group_events)

    def topic_deleted(self, topic: Topic, now_ms: int) -> Iterator[None]:
        """Delete the committed offsets of a deleted topic. Yields where other requests may be handled."""
        coordinated = self.coordinated.get(topic.name)
        if coordinated is not None:
            coordinated.deleted(now_ms)
        if self._share_state_topic is not None:
            yield from self._share_state_topic.topic_deleted(topic.topic_id, now_ms)
        for node in self.nodes:
            node.share_partitions_lost(topic)
        for coordinator in self.coordinators:
            yield from topic_deleted(coordinator, topic.name, topic.topic_id, now_ms)
