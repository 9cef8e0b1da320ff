"""`__share_group_state`: created on first use, written for the share coordinators, and pruned.

Its policy is `delete` without a limit: records that later snapshots replace are deleted from the log's start.
Source: Kafka's `ShareCoordinatorService`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kohort.base.logs import log
from kohort.broker.cluster.coordinated_topic import CoordinatedTopic
from kohort.broker.cluster.share_persister import SharePersister
from kohort.coordinator.effects import SHARE_STATE_TOPIC
from kohort.coordinator.share_state.share_coordinator import ShareCoordinator
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.share_state import NO_EPOCH
from kohort.coordinator.share_state.share_state_loading import ShareStateLoading
from kohort.coordinator.share_state.state_upkeep import redundant_before, snapshot_cold, topic_deleted_in_states
from kohort.protocol.errors import ErrorCode
from kohort.protocol.releases import rules_of
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from uuid import UUID

    from kohort.broker.cluster.shared_state import SharedState
    from kohort.coordinator.effects import Effect
    from kohort.protocol.batches import EncodedRecords
    from kohort.storage.topic import Partition

UPKEEP_EVERY_MS: Final = 300_000  # `share.coordinator.state.topic.prune.interval.ms`


def new_share_coordinator(state: SharedState, effects: list[Effect]) -> ShareCoordinator:
    """Create a coordinator without partitions.

    Args:
        effects: Effects of its node's group coordinator.
    """
    settings = state.settings

    def has_partition(topic_id: UUID, index: int) -> bool:
        return state.topics.partition(topic_id, index) is not None

    return ShareCoordinator(
        state.purgatory,
        has_partition,
        updates_per_snapshot=settings.share_coordinator_snapshot_update_records_per_snapshot,
        partitions=settings.share_coordinator_state_topic_num_partitions,
        epoch_ms=state.clock.epoch_ms,
        effects=effects,
        rules=rules_of(settings.kohort_as_kafka),
    )


class ShareStateTopic(CoordinatedTopic[ShareCoordinator]):
    """The topic of share partitions' state, and the coordinators of its partitions."""

    name = SHARE_STATE_TOPIC
    keeps = "share group"

    def __init__(self, state: SharedState, coordinators: Mapping[int, ShareCoordinator]) -> None:
        super().__init__(state, coordinators)
        self.persister = SharePersister(self, state.purgatory)

    def create(self, now_ms: int) -> None:
        """Create the topic, and start pruning it."""
        existed = self.exists
        super().create(now_ms)
        if self.exists and not existed:
            upkeep = _Upkeep(self, self._state, now_ms)
            self._state.housekeeping.append(upkeep)
            self._state.purgatory.wait(upkeep)

    def _shape(self) -> tuple[int, int, dict[str, str]]:
        settings = self._state.settings
        configs = {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "min.insync.replicas": str(settings.share_coordinator_state_topic_min_isr),
            "retention.ms": "-1",
            "segment.bytes": str(settings.share_coordinator_state_topic_segment_bytes),
        }
        return (
            settings.share_coordinator_state_topic_num_partitions,
            settings.share_coordinator_state_topic_replication_factor,
            configs,
        )

    def _set_partitions(self, coordinator: ShareCoordinator, count: int) -> None:
        coordinator.partitions = count

    def _loading(self, leader: ShareCoordinator, partition: Partition) -> ShareStateLoading:
        return ShareStateLoading(leader, partition.index)

    def _unload(self, leader: ShareCoordinator, partition: Partition, now_ms: int) -> None:
        leader.unload(partition.index, now_ms)

    def append(
        self, number: int, records: EncodedRecords, timestamp_ms: int, now_ms: int
    ) -> tuple[ErrorCode, int | None]:
        topic = self._topic
        if topic is None:
            return ErrorCode.unknown_topic_or_partition, None
        batch = records.batch(timestamp_ms)
        if len(batch) > topic.log_config.max_message_bytes:
            return ErrorCode.message_too_large, None
        base_offset = self._state.append(topic.partitions[number], batch, now_ms)
        return ErrorCode.none, base_offset + records.count - 1

    def report_lost(self, group_id: str, initialized: Mapping[UUID, Any]) -> None:
        """Log the share partitions that a group has initialized, by topic id, and of which no state was loaded."""
        lost = [
            f"{topic.name}-{partition}"
            for topic_id, topic in initialized.items()
            if self._state.topics.by_id(topic_id) is not None
            for partition in sorted(topic.partitions)
            if self._is_missing(SharePartitionKey(group_id, topic_id, partition))
        ]
        if lost:
            more = f" and {len(lost) - 1:,} others" if lost[1:] else ""
            log.warning(
                f"{group_id}: the state of {lost[0]}{more} is missing in {self.name}: records of that topic "
                "are lost. Share fetches of these partitions fail with UNKNOWN_SERVER_ERROR, and their start offset is "
                "unknown (-1), as in Kafka, until you reset the group's offsets (kafka-share-groups --reset-offsets) "
                "or restore the topic's files from a copy",
                group=group_id,
                partitions=len(lost),
            )

    def _is_missing(self, key: SharePartitionKey) -> bool:
        coordinator = self.coordinator_of(key.text)
        if coordinator is None:
            return not self.exists
        states = coordinator.states_of(key)
        if isinstance(states, ErrorCode):
            return False
        state = states.get(key)
        return state is None or state.state_epoch == NO_EPOCH  # updates are left, and the snapshot before them is lost

    def topic_deleted(self, topic_id: UUID, now_ms: int) -> Iterator[None]:
        """Delete the state of a deleted topic. Yields where other requests may be handled."""
        if self.exists:
            for coordinator in self.coordinators.values():
                yield from topic_deleted_in_states(coordinator, topic_id, now_ms)

    def upkeep(self, now_ms: int) -> Iterator[None]:
        """Delete redundant records, and write new snapshots of old state.

        Yields where other requests may be handled.
        """
        cold_after_ms = self._state.settings.share_coordinator_cold_partition_snapshot_interval_ms
        for node_id, coordinator in self.coordinators.items():
            for partition in self._led_by(node_id):
                _prune(coordinator, partition)
                yield
            yield from snapshot_cold(coordinator, cold_after_ms, now_ms)

    def _led_by(self, node_id: int) -> list[Partition]:
        partitions = [] if self._topic is None else self._topic.partitions
        return [partition for partition in partitions if partition.leader == node_id and partition.log.log_end_offset]


def _prune(coordinator: ShareCoordinator, partition: Partition) -> None:
    records = partition.log
    start = redundant_before(coordinator, partition.index, records.high_watermark)
    if start is not None and records.log_start_offset < start <= records.high_watermark:
        records.delete_before(start)


class _Upkeep(DelayedOperation):
    """The periodic pruning of the topic, in steps."""

    __slots__ = ("_state", "_steps", "_topic")

    def __init__(self, topic: ShareStateTopic, state: SharedState, now_ms: int) -> None:
        super().__init__(now_ms + UPKEEP_EVERY_MS)
        self._topic = topic
        self._state = state
        self._steps: Iterator[None] | None = None

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        if not self._topic.exists:
            self._state.housekeeping.remove(self)
            return
        self.completed = False
        # Based on the current time: what is due before it would run in this same turn.
        self.deadline_ms = self._state.clock.now_ms() + (1 if self._goes_on(now_ms) else UPKEEP_EVERY_MS)
        self._state.purgatory.wait(self)

    def _goes_on(self, now_ms: int) -> bool:
        """Run the next step, and return whether there are more."""
        steps = self._steps or self._topic.upkeep(now_ms)
        self._steps = None
        try:
            next(steps)
        except StopIteration:
            return False
        except OSError as problem:
            self._state.storage_failed(f"making room in {SHARE_STATE_TOPIC}", problem)
            return False
        self._steps = steps
        return True
