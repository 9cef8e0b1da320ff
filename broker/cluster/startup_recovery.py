"""A cluster takes over what a data directory holds: topics, then the groups and transactions that are in the logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kohort.broker.logs import log
from kohort.coordinator.effects import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_TOPIC
from kohort.storage.disk.ownership import DataDirectoryError
from kohort.storage.refusal import Refusal
from kohort.storage.topic_configs import TOPIC_CONFIGS

if TYPE_CHECKING:
    from kohort.broker.cluster.coordinated_topic import CoordinatedTopic
    from kohort.broker.cluster.shared_state import SharedState
    from kohort.storage.disk.directory import DataDirectory

UNKNOWN_PRODUCER_IDS = 1_000_000
"""Ids that may have been handed out when that is noted nowhere: producers that have written nothing are not seen."""


Internal = Callable[[str], "CoordinatedTopic[Any] | None"]
"""Finds the topic of a name in which coordinators keep what they know."""

INTERNAL = (OFFSETS_TOPIC, TRANSACTION_TOPIC, SHARE_STATE_TOPIC)
"""Their names, in the order in which they are loaded."""


def take_over(state: SharedState, internal: Internal, directory: DataDirectory, now_ms: int) -> None:
    """Opens all logs. Every partition begins a leader epoch, as when a broker of Kafka's comes back.

    Raises DataDirectoryError.
    """
    try:
        _take_over(state, internal, directory, now_ms)
        _report_lost_states(internal)
    except OSError as problem:
        raise DataDirectoryError(
            f"{directory.path} cannot be written: {problem.strerror or problem}; see to the disk, and start again"
        ) from None


def _take_over(state: SharedState, internal: Internal, directory: DataDirectory, now_ms: int) -> None:
    topics, saved = state.topics, directory.saved
    if directory.cluster_id is not None:
        state.cluster_id = directory.cluster_id
    _refuse_bad_settings(directory)
    for topic in saved.topics.values():
        for partition in topic.partitions:
            partition.leader_epoch += 1
        partitions = [(each.replicas, each.leader_epoch) for each in topic.partitions]
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
            f"{directory.path}: {len(directory.adopted)} topics were made of the folders that are there; their "
            "settings are not known, so they keep all records (retention.ms=-1) until you set what they had; "
            "partitions that never had a record have no folder"
        )
    directory.begun(state.cluster_id, state.settings.node_id)
    for warning in directory.warnings:
        log.warning(warning)
    for name in INTERNAL:
        if name in topics and (kept := internal(name)) is not None:
            kept.create(now_ms)
    state.replays.run_at_once()
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

    Nothing else notices: as in Kafka, offsets are described as -1 then, and share fetches fail.
    """
    kept = internal(OFFSETS_TOPIC)
    assert kept is not None, "it exists before the topic does"
    groups = [group for coordinator in kept.coordinators.values() for group in coordinator.share_groups.values()]
    if any(group.states.initialized for group in groups):
        from kohort.broker.cluster.share_state_topic import ShareStateTopic  # not for brokers without share groups

        states = internal(SHARE_STATE_TOPIC)
        assert isinstance(states, ShareStateTopic)
        for group in groups:
            states.report_lost(group)


def _refuse_bad_settings(directory: DataDirectory) -> None:
    """A setting that cannot be read must not end in a log that is kept otherwise. Unknown names are passed over."""
    for topic in directory.saved.topics.values():
        for name, value in topic.configs.items():
            problem = TOPIC_CONFIGS[name].problem(value) if name in TOPIC_CONFIGS else None
            if problem is not None:
                from kohort.storage.disk.journal import JOURNAL  # not for a broker that keeps its logs in memory

                raise DataDirectoryError(
                    f"{directory.path / JOURNAL}, topic {topic.name}: {problem}; mend that line; nothing has been "
                    "changed"
                )


def _usable_group_configs(state: SharedState, directory: DataDirectory) -> dict[str, dict[str, str]]:
    """What was set for groups, but for what may not be set any more: the broker's limits may be others now."""
    usable = {}
    for group_id, configs in directory.saved.group_configs.items():
        problem = state.group_configs.problem_of(configs)
        if problem is None:
            usable[group_id] = configs
        else:
            log.warning(f"what was set for the group {group_id} does not count: {problem}", group=group_id)
    return usable


def _largest_producer_id(state: SharedState) -> int:
    """The largest in any batch; -1: there is none."""
    known = [part.producers for topic in state.topics for part in topic.partitions if part.producers is not None]
    return max((each.producer_id for producers in known for each in producers.described()), default=-1)


def _forget_old_producers(state: SharedState, now_ms: int) -> None:
    """After a restart only record timestamps are known: a producer that writes old timestamps expires at once.

    Source: Kafka's `ProducerStateManager.truncateAndReload`.
    """
    for topic in state.topics:
        for partition in topic.partitions:
            if partition.producers is not None:
                partition.producers.expire(now_ms + state.clock.epoch_ms)


def _adopt(state: SharedState, internal: Internal, directory: DataDirectory, name: str, count: int) -> None:
    """Makes a topic of folders that the journal does not name; internal topics have a fixed number."""
    topic_id = directory.id_of(name)
    kept = internal(name)
    if kept is not None:
        there = kept.make(count, topic_id)
    else:
        # Nobody knows for how long its records were to be kept.
        there = state.topics.create(name, count, 1, {"retention.ms": "-1"}, topic_id=topic_id)
    if isinstance(there, Refusal):
        log.warning(f"the folders of {name} are left alone: {there.message}")
    else:
        log.info(f"{name}: taken over with {len(there.partitions)} partitions from folders that were here")
