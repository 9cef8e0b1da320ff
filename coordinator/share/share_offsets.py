"""AlterShareGroupOffsets and DeleteShareGroupOffsets requests, for groups without members (share-groups §16)."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TypeVar
from uuid import UUID

from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause
from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.java_order import hash_of_id, in_map_order
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal, group_missing, not_of_type
from kohort.coordinator.share.persister import OnOutcomes
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_initializing import Missing, note_outcome
from kohort.coordinator.share.share_values import ShareKind
from kohort.coordinator.share.state_calls import SUCCESS, Result, StateCall, call_in_slices
from kohort.coordinator.share.state_partitions import StatePartitions, TopicIdPartition
from kohort.coordinator.share_state.share_partition_key import in_base64
from kohort.coordinator.topic_info import TopicInfo
from kohort.protocol.errors import ErrorCode

KeyT = TypeVar("KeyT", TopicIdPartition, UUID)

NON_EMPTY = Refusal(ErrorCode.non_empty_group)


# callback for an error of the request, or the result of each partition, and for the time
OnAltered = Callable[[Refusal | Mapping[TopicIdPartition, Result], int], None]

# Callback for an error of the request, or the result of each topic, and for the time. None: the group never had states.
OnDeleted = Callable[[Refusal | Mapping[UUID, Result] | None, int], None]


def alter_offsets(
    coordinator: GroupCoordinator,
    group_id: str,
    topics: Missing,
    offsets: Mapping[TopicIdPartition, int],
    on_altered: OnAltered,
    now_ms: int,
) -> None:
    """Set the start offsets of a group without members, and drop its in-flight records.

    A group that does not exist is created if `topics` is not empty. Errors: NOT_COORDINATOR,
    COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND for a group of another type, NON_EMPTY_GROUP.

    Args:
        topics: The existing topics of the request with their existing partitions, which may be none.
        offsets: Start offsets, which are not checked against the log. With a negative partition, nothing is altered
            and the error is UNKNOWN_SERVER_ERROR, but the partitions are written as initializing (observed on 4.4.0).
    """
    group = _find_empty(coordinator, group_id, creates=True)
    if isinstance(group, Refusal):
        on_altered(group, now_ms)
    elif not topics:
        on_altered({}, now_ms)
    else:
        changes = GroupChanges(group)
        if not group.is_there:
            changes.create()
        changes.make(ShareKind.STATE_PARTITIONS, None, group.states.begin(topics, now_ms))
        beginnings = group.epoch, offsets
        changes.write(now_ms, Cause("offsets_altered"), partial(_initialize, group, beginnings, on_altered))


def _initialize(
    group: ShareGroup,
    beginnings: tuple[int, Mapping[TopicIdPartition, int]],
    on_altered: OnAltered,
    error: ErrorCode,
    now_ms: int,
) -> None:
    """Call the share coordinators after the write.

    Args:
        beginnings: The group epoch, and the start offset of each partition.
    """
    if error is not ErrorCode.none:
        on_altered(Refusal(error), now_ms)
        return
    epoch, offsets = beginnings
    if not offsets:
        on_altered({}, now_ms)
        return
    invalid = _first_negative(offsets)
    if invalid is not None:
        topic_id, partition = invalid
        message = (
            "Initialize share group parameters has invalid partitionId - "
            f"{group.group_id} {in_base64(topic_id)} {partition}"
        )
        on_altered(Refusal(ErrorCode.unknown_server_error, message), now_ms)
        return
    persister = group.coordinator.share_persister()

    def initialize(partitions: list[TopicIdPartition], on_outcomes: OnOutcomes, now_ms: int) -> None:
        epochs_and_offsets = {partition: (epoch, offsets[partition]) for partition in partitions}
        persister.initialize(group.group_id, epochs_and_offsets, on_outcomes, now_ms)

    call_in_slices(group, StateCall(offsets, initialize, partial(_initialized, group, on_altered)), now_ms)


def _first_negative(offsets: Mapping[TopicIdPartition, int]) -> TopicIdPartition | None:
    """Return the first partition with a negative number, in the order of Kafka's hash maps, or None."""
    if all(partition >= 0 for _, partition in offsets):
        return None
    partitions_by_topic: dict[UUID, list[int]] = {}
    for topic_id, partition in offsets:
        partitions_by_topic.setdefault(topic_id, []).append(partition)
    return next(
        (topic_id, partition)
        for topic_id in in_map_order(partitions_by_topic, hash_of_id, computed=True)
        for partition in in_map_order(partitions_by_topic[topic_id], int)
        if partition < 0
    )


def _initialized(group: ShareGroup, on_altered: OnAltered, call: StateCall, now_ms: int) -> None:
    note_outcome(group, call, now_ms, partial(_answer, call.results, on_altered))


def delete_offsets(
    coordinator: GroupCoordinator, group_id: str, topics: Iterable[TopicInfo], on_deleted: OnDeleted, now_ms: int
) -> None:
    """Delete the states of topics, so that a group without members starts where its settings say.

    Topics without states are not in the result. Like Kafka, write a record even if no topic has states. Errors:
    NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP. A topic whose states could not
    be deleted can be named again.
    """
    group = _find_empty(coordinator, group_id, creates=False)
    if isinstance(group, Refusal):
        on_deleted(group, now_ms)
    elif not group.has_states:
        on_deleted(None, now_ms)
    else:
        partitions_by_topic = _deletable(group.states, topics)
        changes = GroupChanges(group)
        changes.make(ShareKind.STATE_PARTITIONS, None, group.states.delete(partitions_by_topic))
        changes.write(now_ms, Cause("offsets_deleted"), partial(_delete, group, partitions_by_topic, on_deleted))


def _delete(
    group: ShareGroup,
    partitions_by_topic: Mapping[UUID, Iterable[int]],
    on_deleted: OnDeleted,
    error: ErrorCode,
    now_ms: int,
) -> None:
    if error is not ErrorCode.none:
        on_deleted(Refusal(error), now_ms)
    elif partitions_by_topic:
        call_in_slices(group, delete_call(group, partitions_by_topic, partial(_deleted, group, on_deleted)), now_ms)
    else:
        on_deleted({}, now_ms)


def delete_call(
    group: ShareGroup, topics: Mapping[UUID, Iterable[int]], on_done: Callable[[StateCall, int], None]
) -> StateCall:
    partitions = ((topic_id, partition) for topic_id, numbers in topics.items() for partition in sorted(numbers))
    return StateCall(partitions, partial(group.coordinator.share_persister().delete, group.group_id), on_done)


def _deleted(group: ShareGroup, on_deleted: OnDeleted, call: StateCall, now_ms: int) -> None:
    deleted_ids = [topic_id for topic_id, result in call.topics.items() if result == SUCCESS]
    _forget_deleted(group, deleted_ids, now_ms, partial(_answer, call.topics, on_deleted))


def _answer(
    results: Mapping[KeyT, Result],
    on_results: Callable[[Refusal | Mapping[KeyT, Result], int], None],
    error: ErrorCode,
    now_ms: int,
) -> None:
    on_results(results if error is ErrorCode.none else Refusal(error), now_ms)


def _deletable(states: StatePartitions, topics: Iterable[TopicInfo]) -> dict[UUID, Collection[int]]:
    partitions_by_topic: dict[UUID, Collection[int]] = {}
    for topic in sorted(topics, key=_id_of):
        is_retry = topic.topic_id in states.deleting and topic.topic_id not in states.initialized
        partitions = range(topic.partitions) if is_retry else states.ready(topic.topic_id)
        if partitions:
            partitions_by_topic[topic.topic_id] = partitions
    return partitions_by_topic


def _id_of(topic: TopicInfo) -> int:
    return topic.topic_id.int


def _forget_deleted(group: ShareGroup, topic_ids: list[UUID], now_ms: int, on_written: OnWritten) -> None:
    """Write that states are deleted. If the write fails, the topics stay in deletion and can be deleted again."""
    if not group.is_there:
        on_written(ErrorCode.not_coordinator, now_ms)
        return
    changes = GroupChanges(group)
    if topic_ids:
        changes.make(ShareKind.STATE_PARTITIONS, None, group.states.deleted(topic_ids))
    changes.write(now_ms, Cause("offsets_deleted"), on_written)


def _find_empty(coordinator: GroupCoordinator, group_id: str, *, creates: bool) -> ShareGroup | Refusal:
    group = coordinator.share_group(group_id)
    if group is not None:
        return group if group.is_empty else NON_EMPTY
    if group_id in coordinator.groups:
        return not_of_type(SHARE, group_id)
    error = coordinator.creatable(group_id) if creates else coordinator.availability(group_id)
    if error is not ErrorCode.none:
        return Refusal(error)
    return coordinator.new_group(SHARE, group_id) if creates else group_missing(group_id)
