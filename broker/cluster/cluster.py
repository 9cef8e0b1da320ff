"""Everything the nodes share: topics, purgatory, clock, chance, settings. Knows no socket and no event loop."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from kohort.broker.clock import Clock
from kohort.broker.cluster.group_events import GroupEvents
from kohort.broker.cluster.interference import NO_INTERFERENCE
from kohort.broker.cluster.long_work import LongWork
from kohort.broker.cluster.node import Node
from kohort.broker.cluster.offsets_topic import OffsetsTopic
from kohort.broker.cluster.replay import Replays
from kohort.broker.cluster.topic_view import ClusterTopics
from kohort.broker.cluster.transaction_topic import TransactionTopic
from kohort.broker.logs import log
from kohort.broker.settings.broker_settings import Settings
from kohort.broker.settings.group_configs import GroupConfigs
from kohort.broker.settings.topic_defaults import topic_defaults
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.deleting import Sweep, topic_deleted
from kohort.coordinator.effects import OFFSETS_TOPIC, TRANSACTION_TOPIC
from kohort.coordinator.settings import GroupSettings
from kohort.coordinator.transactions.coordinator import TransactionCoordinator
from kohort.coordinator.transactions.expiring import AbortTimedOut, RemoveExpired
from kohort.coordinator.transactions.settings import TransactionSettings
from kohort.purgatory import DelayedOperation, Purgatory
from kohort.storage.topics import Partition, Topic, Topics

if TYPE_CHECKING:
    from kohort.broker.cluster.syncing import Syncs
    from kohort.storage.disk.directory import DataDirectory


TROUBLE_TOLD_EVERY_MS = 10_000
"""How often the log tells that the disk fails: every request may."""


class Coordinated(Protocol):
    """A topic that keeps what its partitions' leaders coordinate."""

    def resigned(self, partition: Partition, now_ms: int) -> None:
        """The partition's leader is about to lose it, and forgets."""
        ...

    def elected(self, partition: Partition, now_ms: int) -> None:
        """The partition has another leader, which takes over, or none."""
        ...


class Cluster:
    """One or several nodes in one process."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        nodes: int = 1,
        seed: int | None = None,
        advertise: str = "",
        directory: DataDirectory | None = None,
    ) -> None:
        """`seed`: of everything that is left to chance; None takes one from the system.

        `directory`: where logs are kept, and what it holds is taken over; None: in memory. Raises DataDirectoryError.
        """
        self.settings = settings
        self.clock = clock
        self.advertise = advertise
        """The host that clients are told; empty: the one each has dialled."""
        self.random = Random(seed)
        self.cluster_id = urlsafe_b64encode(self.random.randbytes(16)).decode()[:22]
        self.on_wakeup_changed: Callable[[], None] = _nobody_cares
        """Called when `purgatory.next_wakeup_ms` may have become earlier; the server sets its timer then."""
        now_ms = clock.now_ms()
        self.purgatory = Purgatory(now_ms, lambda: self.on_wakeup_changed(), _operation_failed)
        self.long_work = LongWork(self)
        self.directory = directory
        self.syncs: Syncs | None = None
        """What lets nothing be acknowledged that is not synced; None: nobody waits for the disk."""
        self.broken: OSError | None = None
        """Why nothing may be written any more: a sync has failed."""
        self.interference = NO_INTERFERENCE
        """What may come between the brokers and what they do: the laboratory's."""
        self.nodes = [self._node(settings.node_id + number) for number in range(nodes)]
        self.coordinators = [node.coordinator for node in self.nodes]
        self.balancing: DelayedOperation | None = None
        """What lets preferred leaders lead again, if that is to come (moving.py)."""
        self.topics = Topics(
            [node.id for node in self.nodes],
            self.new_uuid,
            topic_defaults(settings),
            num_partitions=settings.num_partitions,
            replication_factor=settings.default_replication_factor,
            producer_expiration_ms=settings.producer_id_expiration_ms,
            retention_check_interval_ms=settings.log_retention_check_interval_ms,
            cleaner_backoff_ms=settings.log_cleaner_backoff_ms,
            storage=directory,
        )
        self.group_configs = GroupConfigs(settings.given, None if directory is None else directory.group_changed)
        topic_view = ClusterTopics(self.topics, settings.broker_rack)
        for coordinator in self.coordinators:
            coordinator.topics = topic_view
            coordinator.consumer_config = self.group_configs.consumer_config
        self.replays = Replays(clock, self.purgatory, lambda replay: self.interference.holds_load(replay))
        self.offsets_topic = OffsetsTopic(self)
        self.transaction_topic = TransactionTopic(self)
        self.group_events = GroupEvents(self)
        self.coordinated: dict[str, Coordinated] = {
            OFFSETS_TOPIC: self.offsets_topic,
            TRANSACTION_TOPIC: self.transaction_topic,
        }
        """Topics whose leaders are coordinators too, by name: what is told when leadership moves."""
        for coordinator in self.coordinators:
            self.purgatory.wait(Sweep(coordinator, now_ms))
        for each in self.nodes:
            self.purgatory.wait(AbortTimedOut(each.transactions, now_ms))
            self.purgatory.wait(RemoveExpired(each.transactions, now_ms))
        self._disk_troubled_ms: int | None = None
        if directory is not None:
            from kohort.broker.cluster.taking_over import take_over

            take_over(self, directory, now_ms)
        _Upkeep(self).wait(now_ms)

    @property
    def controller_id(self) -> int:
        """The node that clients are told is the controller: the first one that runs."""
        return next((node.id for node in self.nodes if node.running), self.nodes[0].id)

    @property
    def running_nodes(self) -> list[Node]:
        """Those that clients are told of."""
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

        `remember` is told that offset before them: what is remembered of its producer decides what they may read.
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

    def storage_failed(self, what: str, problem: OSError) -> None:
        """A line in the log for what could not be written or read, and silence about the next ones for a while."""
        now_ms = self.clock.now_ms()
        if self._disk_troubled_ms is None or now_ms - self._disk_troubled_ms >= TROUBLE_TOLD_EVERY_MS:
            self._disk_troubled_ms = now_ms
            log.warning(
                f"{what}: {problem.strerror or problem}; clients hear of a storage error, and what is stored is served",
                problem=str(problem),
            )

    def topic_deleted(self, topic: Topic, now_ms: int) -> None:
        """Groups forget what they have committed for a topic that is gone."""
        if topic.name == OFFSETS_TOPIC:
            self.offsets_topic.deleted(now_ms)
        elif topic.name == TRANSACTION_TOPIC:
            self.transaction_topic.deleted(now_ms)
        for coordinator in self.coordinators:
            topic_deleted(coordinator, topic.name, topic.topic_id, now_ms)

    def _node(self, node_id: int) -> Node:
        coordinator = self._coordinator()
        transactions = TransactionCoordinator(
            transaction_settings(self.settings),
            self.purgatory,
            lambda: self.topics.next_producer_id(),
            partitions=self.settings.transaction_state_log_num_partitions,
            epoch_ms=self.clock.epoch_ms,
            effects=coordinator.effects,
        )
        return Node(self, node_id, coordinator, transactions)

    def _coordinator(self) -> GroupCoordinator:
        return GroupCoordinator(
            group_settings(self.settings),
            self.purgatory,
            lambda: str(self.new_uuid()),
            partitions=self.settings.offsets_topic_num_partitions,
            epoch_ms=self.clock.epoch_ms,
        )


class _Upkeep(DelayedOperation):
    """Lets the topics drop what is old and compact what is to be compacted, now and then, for as long as they live."""

    __slots__ = ("_cluster",)

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(0)
        self._cluster = cluster

    def wait(self, now_ms: int) -> None:
        # At least a millisecond, even when there is more to do at once: requests come between.
        pause_ms = max(self._maintain(now_ms), 1)
        self.deadline_ms = now_ms + pause_ms
        self.completed = False
        self._cluster.purgatory.wait(self)

    def _maintain(self, now_ms: int) -> int:
        cluster = self._cluster
        try:
            return cluster.topics.maintain(now_ms + cluster.clock.epoch_ms)
        except OSError as problem:
            cluster.storage_failed("making room in logs", problem)
        except Exception:  # other logs are to be looked after all the same
            log.error("making room in logs failed")
        return cluster.settings.log_cleaner_backoff_ms

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self.wait(now_ms)


def group_settings(settings: Settings) -> GroupSettings:
    """What of the broker's settings the coordinators are told."""
    return GroupSettings(
        group_min_session_timeout_ms=settings.group_min_session_timeout_ms,
        group_max_session_timeout_ms=settings.group_max_session_timeout_ms,
        group_initial_rebalance_delay_ms=settings.group_initial_rebalance_delay_ms,
        group_max_size=settings.group_max_size,
        offset_metadata_max_bytes=settings.offset_metadata_max_bytes,
        offsets_retention_ms=settings.offsets_retention_minutes * 60_000,
        offsets_retention_check_interval_ms=settings.offsets_retention_check_interval_ms,
        group_consumer_max_size=settings.group_consumer_max_size,
        group_consumer_assignors=settings.group_consumer_assignors,
        group_consumer_migration_policy=settings.group_consumer_migration_policy,
        group_consumer_regex_refresh_interval_ms=settings.group_consumer_regex_refresh_interval_ms,
        group_coordinator_rebalance_protocols=settings.group_coordinator_rebalance_protocols,
    )


def transaction_settings(settings: Settings) -> TransactionSettings:
    """The same for the transaction coordinators."""
    return TransactionSettings(**{name: getattr(settings, name) for name in TransactionSettings.__dataclass_fields__})


def _operation_failed(operation: DelayedOperation, problem: Exception) -> None:
    """Our bug. What else is due, or waits for the same event, goes on."""
    log.error(f"a waiting {type(operation).__name__} failed", problem)
    operation.abandon()


def _nobody_cares() -> None:
    """What a wakeup means to a cluster without a server, as tests have it."""
