"""Everything the nodes share: topics, purgatory, clock, chance, settings. Knows no socket and no event loop."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from kohort.broker.address import Advertised
from kohort.broker.clock import Clock
from kohort.broker.cluster.assembly import (
    new_access,
    new_node,
    new_topics,
    show_coordinators_topics,
    start_sweeps,
    start_upkeep,
)
from kohort.broker.cluster.broker_hooks import NO_HOOKS
from kohort.broker.cluster.finalized_features import FinalizedFeatures
from kohort.broker.cluster.group_events import GroupEvents
from kohort.broker.cluster.node import Node
from kohort.broker.cluster.offsets_topic import OffsetsTopic
from kohort.broker.cluster.replay import Replays
from kohort.broker.cluster.startup_recovery import take_over
from kohort.broker.cluster.transaction_topic import TransactionTopic
from kohort.broker.logs import log
from kohort.broker.scheduling.worker_thread import Worker
from kohort.broker.settings.broker_settings import Settings
from kohort.broker.settings.group_configs import GroupConfigs
from kohort.coordinator.deleting import topic_deleted
from kohort.coordinator.effects import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_TOPIC
from kohort.purgatory import DelayedOperation, Purgatory
from kohort.storage.topic import Partition, Topic

if TYPE_CHECKING:
    from kohort.broker.cluster.disk_syncing import Syncs
    from kohort.broker.cluster.logins import Logins
    from kohort.broker.cluster.share_persister import SharePersister
    from kohort.broker.cluster.share_state_topic import ShareStateTopic
    from kohort.security.scram_credentials import ScramCredentials
    from kohort.storage.disk.directory import DataDirectory


TROUBLE_LOGGED_EVERY_MS: Final = 10_000
"""How often the log says that the disk fails: every request may find it."""


class Coordinated(Protocol):
    """A topic that keeps what its partitions' leaders coordinate."""

    def resigned(self, partition: Partition, now_ms: int) -> None:
        """The partition's leader is about to lose it, and forgets."""
        ...

    def elected(self, partition: Partition, now_ms: int) -> None:
        """The partition has another leader, which takes over, or none."""
        ...


ALL_UNREAD_BYTES = 104_857_600
"""What all clients together may leave unread; above, a Fetch is answered with one batch."""


class BrokerCluster:
    """One or several nodes in one process."""

    _share_state_topic: ShareStateTopic | None = None

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        nodes: int = 1,
        seed: int | None = None,
        advertised: Mapping[str, Advertised] | None = None,
        directory: DataDirectory | None = None,
    ) -> None:
        """`seed`: of everything that is left to chance; None takes one from the system.

        `advertised`: the nodes' addresses as clients get them, by listener; without one: the host each has dialled.
        `directory`: where logs are kept, and what it holds is taken over; None: in memory. Raises DataDirectoryError.
        """
        self.settings = settings
        self.clock = clock
        self.advertised = advertised or {}
        self.random = Random(seed)
        self.cluster_id = urlsafe_b64encode(self.random.randbytes(16)).decode()[:22]
        self.on_wakeup_changed: Callable[[], None] = _nobody_cares
        """Called when `purgatory.next_wakeup_ms` may have become earlier; the server sets its timer then."""
        self.soon: Callable[[Callable[[int], None]], None] = lambda action: action(clock.now_ms())
        """Does something after others have been served (`Server.act`). Without a server it is done at once."""
        now_ms = clock.now_ms()
        self.purgatory = Purgatory(now_ms, lambda: self.on_wakeup_changed(), _operation_failed)
        self.worker = Worker(self.clock)
        self.directory = directory
        self.syncs: Syncs | None = None
        """What lets nothing be acknowledged that is not synced; None: nobody waits for the disk."""
        self.broken: OSError | None = None
        """Why nothing may be written any more: a sync has failed."""
        self.unread_bytes = 0
        """What was written to clients that do not read it, those to whom nothing more is said before they do."""
        self.hooks = NO_HOOKS
        """What may come between the brokers and what they do: the laboratory's."""
        self.nodes = [new_node(self, settings.node_id + number) for number in range(nodes)]
        self.coordinators = [node.coordinator for node in self.nodes]
        self.balancing: DelayedOperation | None = None
        """What lets preferred leaders lead again, if that is to come (moving.py)."""
        self.housekeeping: list[DelayedOperation] = []
        """What comes again and again, and may come late: a clock that jumps passes over what it misses."""
        self.topics = new_topics(self)
        self.group_configs = GroupConfigs(settings.changed, None if directory is None else directory.group_changed)
        self.features = FinalizedFeatures(None if directory is None else directory.feature_changed)
        self.access = new_access(self, directory)
        """What clients may do; None: everything."""
        self.replays = Replays(clock, self.purgatory, lambda replay: self.hooks.holds_load(replay))
        self.offsets_topic = OffsetsTopic(self)
        self.transaction_topic = TransactionTopic(self)
        self.group_events = GroupEvents(self)
        self.coordinated: dict[str, Coordinated] = {
            each.name: each for each in (self.offsets_topic, self.transaction_topic)
        }
        """Topics whose leaders are coordinators too, by name: they hear when leadership moves."""
        self._disk_troubled_ms: int | None = None
        self._scram_credentials: ScramCredentials | None = None
        self._logins: Logins | None = None
        show_coordinators_topics(self)
        start_sweeps(self, now_ms)
        if directory is not None:
            take_over(self, directory, now_ms)
        start_upkeep(self, now_ms)

    @property
    def scram_credentials(self) -> ScramCredentials:
        """Who can log in by SCRAM; made when somebody asks for the first time."""
        if self._scram_credentials is None:
            from kohort.broker.cluster.kept_credentials import kept_credentials

            self._scram_credentials = kept_credentials(self.directory)
        return self._scram_credentials

    @property
    def logins(self) -> Logins:
        """How logins ended; made when somebody logs in for the first time."""
        if self._logins is None:
            from kohort.broker.cluster.logins import Logins

            self._logins = Logins(self)
        return self._logins

    @property
    def share_state_topic(self) -> ShareStateTopic:
        """`__share_group_state`; made when somebody asks for a share coordinator for the first time."""
        if self._share_state_topic is None:
            from kohort.broker.cluster.share_state_topic import ShareStateTopic

            self._share_state_topic = self.coordinated[SHARE_STATE_TOPIC] = ShareStateTopic(self)
        return self._share_state_topic

    @property
    def share_persister(self) -> SharePersister:
        """How nodes reach share coordinators."""
        return self.share_state_topic.persister

    @property
    def controller_id(self) -> int:
        """The node that Metadata names as the controller: the first one that runs."""
        return next((node.id for node in self.nodes if node.running), self.nodes[0].id)

    @property
    def running_nodes(self) -> list[Node]:
        """The nodes that Metadata names."""
        return [node for node in self.nodes if node.running] if self.topics.placement.stopped_nodes else self.nodes

    def node(self, node_id: int) -> Node | None:
        """The node of that id."""
        number = node_id - self.nodes[0].id
        return self.nodes[number] if 0 <= number < len(self.nodes) else None

    def new_uuid(self) -> UUID:
        """A random UUID, from the one source of chance."""
        return UUID(int=self.random.getrandbits(128), version=4)

    def append(
        self, partition: Partition, batch: bytes, now_ms: int, remember: Callable[[int], None] | None = None
    ) -> int:
        """Writes a validated batch; returns its base offset. Fetches that wait for it are tried again.

        `remember` gets that offset before them: what is remembered of its producer decides what they may read.
        Raises OSError if it cannot be stored.
        """
        wall_ms = now_ms + self.clock.epoch_ms
        if self.broken is not None:
            raise OSError(*self.broken.args)
        base_offset = partition.log.append(batch, wall_ms=wall_ms, leader_epoch=partition.leader_epoch)
        if remember is not None:
            remember(base_offset)
        syncs = self.syncs
        if syncs is None:
            self.purgatory.check(partition, now_ms)
        else:
            syncs.appended(partition)
        return base_offset

    def ask_for_rights(self) -> None:
        """From now on APIs ask whether requests are allowed; without an authorizer only the laboratory denies any."""
        if self.access is None:
            from kohort.broker.cluster.access import Access

            self.access = Access(self)

    def storage_failed(self, what: str, problem: OSError) -> None:
        """A line in the log for what could not be written or read, and silence about the next ones for a while."""
        now_ms = self.clock.now_ms()
        if self._disk_troubled_ms is None or now_ms - self._disk_troubled_ms >= TROUBLE_LOGGED_EVERY_MS:
            self._disk_troubled_ms = now_ms
            log.warning(
                f"{what}: {problem.strerror or problem}; clients hear of a storage error, and what is stored is served",
                problem=str(problem),
            )

    def topic_deleted(self, topic: Topic, now_ms: int) -> Iterator[None]:
        """Groups forget what they have committed for a topic that is gone. Yields where others may be served."""
        if topic.name == OFFSETS_TOPIC:
            self.offsets_topic.deleted(now_ms)
        elif topic.name == TRANSACTION_TOPIC:
            self.transaction_topic.deleted(now_ms)
        elif self._share_state_topic is not None:
            if topic.name == SHARE_STATE_TOPIC:
                self._share_state_topic.deleted(now_ms)
            yield from self._share_state_topic.topic_deleted(topic.topic_id, now_ms)
        for node in self.nodes:
            node.share_partitions_lost(topic)
        for coordinator in self.coordinators:
            yield from topic_deleted(coordinator, topic.name, topic.topic_id, now_ms)


def _operation_failed(operation: DelayedOperation, problem: Exception) -> None:
    """Our bug. What else is due, or waits for the same event, goes on."""
    log.error(f"a waiting {type(operation).__name__} failed", problem)
    operation.abandon()


def _nobody_cares() -> None:
    """What a wakeup means to a cluster without a server, as tests have it."""
