"""What the nodes of a cluster share and what knows no node: settings, clock, chance, waiting, topics, the disk."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kohort.broker.clock import Clock
from kohort.broker.cluster.broker_hooks import NO_HOOKS
from kohort.broker.cluster.replay import Replays
from kohort.broker.logs import log
from kohort.broker.scheduling.worker_thread import Worker
from kohort.broker.settings.broker_settings import Settings
from kohort.broker.settings.group_configs import GroupConfigs
from kohort.broker.settings.topic_defaults import topic_defaults
from kohort.purgatory import DelayedOperation, Purgatory
from kohort.storage.topic import Partition
from kohort.storage.topics import Topics

if TYPE_CHECKING:
    from kohort.broker.cluster.disk_syncing import Syncs
    from kohort.broker.cluster.finalized_features import FinalizedFeatures
    from kohort.storage.disk.directory import DataDirectory


TROUBLE_LOGGED_EVERY_MS: Final = 10_000
"""How often the log says that the disk fails: every request may find it."""


class SharedState:
    """The lower half of `BrokerCluster`, for the parts that it is made of."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        node_ids: Sequence[int],
        seed: int | None,
        directory: DataDirectory | None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.random = Random(seed)
        self.cluster_id = urlsafe_b64encode(self.random.randbytes(16)).decode()[:22]
        self.on_wakeup_changed: Callable[[], None] = _nobody_cares
        """Called when `purgatory.next_wakeup_ms` may have become earlier; the server sets its timer then."""
        self.soon: Callable[[Callable[[int], None]], None] = lambda action: action(clock.now_ms())
        """Does something after others have been served (`Server.act`). Without a server it is done at once."""
        self.purgatory = Purgatory(clock.now_ms(), lambda: self.on_wakeup_changed(), _operation_failed)
        self.worker = Worker(clock)
        self.directory = directory
        self.syncs: Syncs | None = None
        """What lets nothing be acknowledged that is not synced; None: nobody waits for the disk."""
        self.broken: OSError | None = None
        """Why nothing may be written any more: a sync has failed."""
        self.unread_bytes = 0
        """What was written to clients that do not read it, those to whom nothing more is said before they do."""
        self.hooks = NO_HOOKS
        """What may come between the brokers and what they do: the laboratory's."""
        self.housekeeping: list[DelayedOperation] = []
        """What comes again and again, and may come late: a clock that jumps passes over what it misses."""
        self.topics = self._no_topics(node_ids)
        self.group_configs = GroupConfigs(settings.changed, None if directory is None else directory.group_changed)
        self._features: FinalizedFeatures | None = None
        self.replays = Replays(clock, self.purgatory, lambda replay: self.hooks.holds_load(replay))
        self._disk_troubled_ms: int | None = None

    def _no_topics(self, node_ids: Sequence[int]) -> Topics:
        """None yet, with the defaults that the broker's settings give them."""
        settings = self.settings
        return Topics(
            list(node_ids),
            self.new_uuid,
            topic_defaults(settings),
            num_partitions=settings.num_partitions,
            replication_factor=settings.default_replication_factor,
            producer_expiration_ms=settings.producer_id_expiration_ms,
            retention_check_interval_ms=settings.log_retention_check_interval_ms,
            cleaner_backoff_ms=settings.log_cleaner_backoff_ms,
            storage=self.directory,
        )

    @property
    def features(self) -> FinalizedFeatures:
        """Levels of features; made when somebody asks for the first time."""
        if self._features is None:
            from kohort.broker.cluster.finalized_features import FinalizedFeatures

            note = None if self.directory is None else self.directory.feature_changed
            self._features = FinalizedFeatures(note)
        return self._features

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

    def storage_failed(self, what: str, problem: OSError) -> None:
        """A line in the log for what could not be written or read, and silence about the next ones for a while."""
        now_ms = self.clock.now_ms()
        if self._disk_troubled_ms is None or now_ms - self._disk_troubled_ms >= TROUBLE_LOGGED_EVERY_MS:
            self._disk_troubled_ms = now_ms
            log.warning(
                f"{what}: {problem.strerror or problem}; clients hear of a storage error, and what is stored is served",
                problem=str(problem),
            )


def _operation_failed(operation: DelayedOperation, problem: Exception) -> None:
    """Our bug. What else is due, or waits for the same event, goes on."""
    log.error(f"a waiting {type(operation).__name__} failed", problem)
    operation.abandon()


def _nobody_cares() -> None:
    """What a wakeup means to a cluster without a server, as tests have it."""
