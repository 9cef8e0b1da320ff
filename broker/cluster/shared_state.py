"""The state of a cluster that is independent of its nodes: settings, clock, random numbers, purgatory, topics, disk."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kohort.base.clock import Clock
from kohort.base.logs import log
from kohort.broker.cluster.broker_hooks import NO_HOOKS
from kohort.broker.cluster.replay import Replays
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


# minimum interval of log lines about a failing disk, which every request may find
TROUBLE_LOGGED_EVERY_MS: Final = 10_000
MAX_WARNINGS: Final = 1_000  # last warnings that are kept, so that each is logged once


class SharedState:
    """The lower half of `BrokerCluster`, for its parts."""

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
        # called when `purgatory.next_wakeup_ms` may be earlier than before, to set the server's timer
        self.on_wakeup_changed: Callable[[], None] = _ignore_wakeup
        # Calls a function after other requests have been handled (`Server.act`). Without a server it is called
        # immediately.
        self.soon: Callable[[Callable[[int], None]], None] = lambda action: action(clock.now_ms())
        self.purgatory = Purgatory(clock.now_ms(), lambda: self.on_wakeup_changed(), _operation_failed)
        self.worker = Worker(clock)
        self.directory = directory
        self.syncs: Syncs | None = None  # delays responses until writes are synced; None if they don't wait
        self.broken: OSError | None = None  # the error of a failed sync, after which nothing may be written
        self.unread_bytes = 0  # bytes of responses to clients that are not served because they do not read
        self.hooks = NO_HOOKS  # hooks of the laboratory
        # periodic work that may be late; a clock that jumps skips what it misses
        self.housekeeping: list[DelayedOperation] = []
        self.topics = self._no_topics(node_ids)
        note = None if directory is None else directory.group_changed
        self.group_configs = GroupConfigs(settings.changed, note, settings.kohort_as_kafka)
        self._features: FinalizedFeatures | None = None
        self.replays = Replays(clock, self.purgatory, lambda replay: self.hooks.holds_load(replay))
        self._warnings: dict[str, tuple[str, int]] = {}  # last warning by subject, and its time
        self._disk_troubled_ms: int | None = None

    def _no_topics(self, node_ids: Sequence[int]) -> Topics:
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
        if self._features is None:
            from kohort.broker.cluster.finalized_features import FinalizedFeatures

            note = None if self.directory is None else self.directory.feature_changed
            self._features = FinalizedFeatures(self.settings.kohort_as_kafka, note)
        return self._features

    def new_uuid(self) -> UUID:
        """Return a random UUID that depends on the seed."""
        return UUID(int=self.random.getrandbits(128), version=4)

    def append(
        self, partition: Partition, batch: bytes, now_ms: int, remember: Callable[[int], None] | None = None
    ) -> int:
        """Write a validated batch, complete fetches that wait for it, and return its base offset.

        Args:
            remember: Called with the base offset before that, since producer state decides what fetches may read.

        Raises:
            OSError: If it cannot be stored.
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

    def warn(self, subject: str, text: str, **values: object) -> None:
        """Log a warning about a group or partition, unless the same one was logged a moment ago."""
        now_ms = self.clock.now_ms()
        last_text, logged_ms = self._warnings.get(subject, ("", now_ms))
        if text == last_text and now_ms - logged_ms < TROUBLE_LOGGED_EVERY_MS:
            return
        if len(self._warnings) >= MAX_WARNINGS:
            self._warnings.clear()
        self._warnings[subject] = text, now_ms
        log.warning(f"{subject}: {text}", **values)

    def forget_warning(self, subject: str) -> None:
        """Log the next warning about a subject at once, even if it is the same as the last one."""
        self._warnings.pop(subject, None)

    def storage_failed(self, operation: str, error: OSError) -> None:
        """Log a failed read or write, at most once in a while."""
        now_ms = self.clock.now_ms()
        if self._disk_troubled_ms is None or now_ms - self._disk_troubled_ms >= TROUBLE_LOGGED_EVERY_MS:
            self._disk_troubled_ms = now_ms
            log.warning(
                f"{operation}: {error.strerror or error}; clients get a storage error, stored data is served",
                problem=str(error),
            )


def _operation_failed(operation: DelayedOperation, error: Exception) -> None:
    """Log a bug. Other operations that are due, or that wait for the same event, are completed."""
    log.error(f"a waiting {type(operation).__name__} failed", error)
    operation.abandon()


def _ignore_wakeup() -> None:
    """Ignore a wakeup, in a cluster without a server, as in tests."""
