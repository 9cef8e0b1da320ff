"""Loading of a data directory: topics, then the first of the groups and transactions in the logs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.base.logs import log
from kohort.coordinator.effects import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_TOPIC
from kohort.coordinator.groups.group import SHARE
from kohort.storage.disk.ownership import DataDirectoryError
from kohort.storage.refusal import Refusal
from kohort.storage.topic_configs import TOPIC_CONFIGS

if TYPE_CHECKING:
    from kohort.broker.cluster.coordinated_topic import CoordinatedTopic
    from kohort.broker.cluster.shared_state import SharedState
    from kohort.storage.disk.directory import DataDirectory

# producer ids skipped if the last one is not stored, since producers that have written nothing are unknown
UNKNOWN_PRODUCER_IDS = 1_000_000

# Bytes of the coordinators' logs that are loaded before the listeners open, so that clients of a broker with short logs
# don't receive COORDINATOR_LOAD_IN_PROGRESS and wait. The rest is loaded in slices, as by a new leader.
BYTES_BEFORE_READY = 256 << 10

Internal = Callable[[str], "CoordinatedTopic[Any] | None"]  # returns the coordinated topic of a name

INTERNAL = (OFFSETS_TOPIC, TRANSACTION_TOPIC, SHARE_STATE_TOPIC)  # names in the order in which they are loaded


def take_over(state: SharedState, internal: Internal, directory: DataDirectory, now_ms: int) -> None:
    """Open all logs, and load the beginning of those of coordinators.

    Every partition begins a leader epoch, as after a restart of Kafka.

    Raises:
        DataDirectoryError: If the directory cannot be used.
    """
    try:
        _take_over(state, internal, directory, now_ms)
        state.replays.run_at_once(BYTES_BEFORE_READY)
    except OSError as error:
        raise DataDirectoryError(
            f"{directory.path} cannot be written: {error.strerror or error}; check the disk and restart the broker"
        ) from None


def _take_over(state: SharedState, internal: Internal, directory: DataDirectory, now_ms: int) -> None:
    topics, saved = state.topics, directory.saved
    if directory.cluster_id is not None:
        state.cluster_id = directory.cluster_id
    _refuse_bad_settings(directory)
    for topic in saved.topics.values():
        for partition in topic.partitions:
            partition.leader_epoch += 1
        partitions = [(partition.replicas, partition.leader_epoch) for partition in topic.partitions]
        topics.restore(topic.name, topic.topic_id, topic.configs, partitions)
    if saved.features:
        state.features.restore(saved.features, saved.features_epoch)
    state.group_configs.restore(_usable_group_configs(state, directory))
    topics.producer_ids_from(saved.next_producer_id)
    _forget_old_producers(state, now_ms)
    directory.begin()
    for name, count in directory.adopted.items():
        _adopt(state, internal, directory, name, count)
    if directory.adopted:
        topics.producer_ids_beyond(_largest_producer_id(state) + UNKNOWN_PRODUCER_IDS)
        log.warning(
            f"{directory.path}: {len(directory.adopted)} topics were restored from existing folders; their "
            "settings are unknown, so they keep all records (retention.ms=-1) until you set retention.ms; "
            "partitions without records have no folder"
        )
    directory.begun(state.cluster_id, state.settings.node_id)
    for warning in directory.warnings:
        log.warning(warning)
    for name in INTERNAL:
        if name in topics and (kept := internal(name)) is not None:
            kept.create(now_ms)
    state.replays.when_loaded(partial(_report_lost_states, internal))
    if len(topics):
        partitions_there = sum(len(topic.partitions) for topic in topics)
        size = sum(partition.log.size_bytes for topic in topics for partition in topic.partitions)
        took_ms = state.clock.now_ms() - now_ms
        log.info(
            f"{directory.path}: {len(topics):,} topics with {partitions_there:,} partitions and {size:,} bytes taken "
            f"over in {took_ms:,} ms",
            topics=len(topics),
            partitions=partitions_there,
            bytes=size,
            ms=took_ms,
        )


def _report_lost_states(internal: Internal) -> None:
    """Log share groups whose states are lost. Their segments need not be named by an index (`storage/disk/missing.py`).

    Nothing else reports them: as in Kafka, offsets are then described as -1, and share fetches fail.
    """
    kept = internal(OFFSETS_TOPIC)
    assert kept is not None, "it exists before the topic does"
    coordinators = kept.coordinators.values()
    groups = [group for coordinator in coordinators for group in coordinator.of_type(SHARE)]
    if any(group.states.initialized for group in groups):
        from kohort.broker.cluster.share_state_topic import ShareStateTopic  # imported only for share groups

        states = internal(SHARE_STATE_TOPIC)
        assert isinstance(states, ShareStateTopic)
        for group in groups:
            states.report_lost(group.group_id, group.states.initialized)


def _refuse_bad_settings(directory: DataDirectory) -> None:
    """Reject invalid topic settings, which would change the retention of a log. Unknown names are skipped."""
    for topic in directory.saved.topics.values():
        for name, value in topic.configs.items():
            error = TOPIC_CONFIGS[name].problem(value) if name in TOPIC_CONFIGS else None
            if error is not None:
                from kohort.storage.disk.journal import JOURNAL  # imported only with a data directory

                raise DataDirectoryError(
                    f"{directory.path / JOURNAL}, topic {topic.name}: {error}; correct that line; nothing has been "
                    "changed"
                )


def _usable_group_configs(state: SharedState, directory: DataDirectory) -> dict[str, dict[str, str]]:
    """Return stored group settings that are still valid, since the broker's limits may have changed."""
    usable = {}
    for group_id, configs in directory.saved.group_configs.items():
        error = state.group_configs.problem_of(configs)
        if error is None:
            usable[group_id] = configs
        else:
            log.warning(f"ignoring invalid settings of group {group_id}: {error}", group=group_id)
    return usable


def _largest_producer_id(state: SharedState) -> int:
    all_producers = [
        part.producers for topic in state.topics for part in topic.partitions if part.producers is not None
    ]
    return max((producer.producer_id for producers in all_producers for producer in producers.described()), default=-1)


def _forget_old_producers(state: SharedState, now_ms: int) -> None:
    """Expire producers by their record timestamps, because nothing else is known after a restart.

    Source: Kafka's `ProducerStateManager.truncateAndReload`.
    """
    for topic in state.topics:
        for partition in topic.partitions:
            if partition.producers is not None:
                partition.producers.expire(now_ms + state.clock.epoch_ms)


def _adopt(state: SharedState, internal: Internal, directory: DataDirectory, name: str, count: int) -> None:
    """Create a topic from folders that the journal does not list; internal topics have a fixed number of partitions."""
    topic_id = directory.id_of(name)
    kept = internal(name)
    if kept is not None:
        topic = kept.make(count, topic_id)
    else:
        # The topic's retention is unknown.
        topic = state.topics.create(name, count, 1, {"retention.ms": "-1"}, topic_id=topic_id)
    if isinstance(topic, Refusal):
        log.warning(f"the folders of {name} are ignored: {topic.message}")
    else:
        log.info(f"{name}: taken over with {len(topic.partitions)} partitions from existing folders")
