"""AlterShareGroupOffsets and DeleteShareGroupOffsets: of groups without members (share-groups §16)."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TypeVar
from uuid import UUID

from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause
from kohort.coordinator.group import SHARE
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal, group_missing, not_of_kind
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_host import OnOutcomes
from kohort.coordinator.share.share_initializing import Missing, note_outcome
from kohort.coordinator.share.share_values import ShareKind
from kohort.coordinator.share.state_calls import DONE, Result, StateCall, call_in_slices
from kohort.coordinator.share.state_partitions import StatePartitions, TopicIdPartition
from kohort.coordinator.topic_info import TopicInfo
from kohort.protocol.errors import ErrorCode

KeyT = TypeVar("KeyT", TopicIdPartition, UUID)

NON_EMPTY = Refusal(ErrorCode.non_empty_group)


OnAltered = Callable[[Refusal | Mapping[TopicIdPartition, Result], int], None]
"""Gets a refusal of all, or what became of each partition; and the time."""

OnDeleted = Callable[[Refusal | Mapping[UUID, Result] | None, int], None]
"""Gets a refusal of all, or what became of each topic; and the time. None: the group has never had any states."""


def alter_offsets(
    coordinator: GroupCoordinator,
    group_id: str,
    topics: Missing,
    offsets: Mapping[TopicIdPartition, int],
    then: OnAltered,
    now_ms: int,
) -> None:
    """A group without members is to begin there, at any offsets; what it had in flight is forgotten.

    `topics`: those that were named and exist, each with the partitions of it that do, be it none. A group that does not
    exist is made, if there is any topic. Refusals: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND
    for one of another kind, NON_EMPTY_GROUP.
    """
    group = _find_empty(coordinator, group_id, creates=True)
    if isinstance(group, Refusal):
        then(group, now_ms)
    elif not topics:
        then({}, now_ms)
    else:
        changes = _changes_of(coordinator, group)
        changes.make(ShareKind.STATE_PARTITIONS, None, group.states.begin(topics, now_ms))
        beginnings = group.epoch, offsets
        changes.write(now_ms, Cause("offsets_altered"), partial(_initialize, group, beginnings, then))


def _initialize(
    group: ShareGroup,
    beginnings: tuple[int, Mapping[TopicIdPartition, int]],
    then: OnAltered,
    error: ErrorCode,
    now_ms: int,
) -> None:
    """Call share coordinators after it is written that the group begins these partitions.

    beginnings: The group's epoch, and the offset at which each partition is to begin.
    """
    if error is not ErrorCode.none:
        then(Refusal(error), now_ms)
        return
    epoch, offsets = beginnings
    if not offsets:
        then({}, now_ms)
        return
    persister = group.coordinator.share_persister()

    def initialize(partitions: list[TopicIdPartition], on_outcomes: OnOutcomes, now_ms: int) -> None:
        some = {each: (epoch, offsets[each]) for each in partitions}
        persister.initialize(group.group_id, some, on_outcomes, now_ms)

    call_in_slices(group, StateCall(offsets, initialize, partial(_initialized, group, then)), now_ms)


def _initialized(group: ShareGroup, then: OnAltered, call: StateCall, now_ms: int) -> None:
    """Write what succeeded after share coordinators have answered."""
    note_outcome(group, call, now_ms, partial(_answer, call.results, then))


def delete_offsets(
    coordinator: GroupCoordinator, group_id: str, topics: Iterable[TopicInfo], then: OnDeleted, now_ms: int
) -> None:
    """What share coordinators know of topics is deleted, and a group without members begins where its settings say.

    Topics of which nothing is known are not in the result. It is written that topics are being deleted even if there
    are none, as in Kafka. Refusals: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND,
    NON_EMPTY_GROUP. A topic whose states could not be deleted may be named again.
    """
    group = _find_empty(coordinator, group_id, creates=False)
    if isinstance(group, Refusal):
        then(group, now_ms)
    elif not group.has_states:
        then(None, now_ms)
    else:
        wanted = _deletable(group.states, topics)
        changes = GroupChanges(group)
        changes.make(ShareKind.STATE_PARTITIONS, None, group.states.delete(wanted))
        changes.write(now_ms, Cause("offsets_deleted"), partial(_delete, group, wanted, then))


def _delete(
    group: ShareGroup, wanted: Mapping[UUID, Iterable[int]], then: OnDeleted, error: ErrorCode, now_ms: int
) -> None:
    """Call share coordinators after it is written that these partitions of each topic are being deleted."""
    if error is not ErrorCode.none:
        then(Refusal(error), now_ms)
    elif wanted:
        call_in_slices(group, delete_call(group, wanted, partial(_deleted, group, then)), now_ms)
    else:
        then({}, now_ms)


def delete_call(
    group: ShareGroup, topics: Mapping[UUID, Iterable[int]], on_done: Callable[[StateCall, int], None]
) -> StateCall:
    """Return the call that deletes the states of these partitions of each topic."""
    partitions = ((topic_id, partition) for topic_id, numbers in topics.items() for partition in sorted(numbers))
    return StateCall(partitions, partial(group.coordinator.share_persister().delete, group.group_id), on_done)


def _deleted(group: ShareGroup, then: OnDeleted, call: StateCall, now_ms: int) -> None:
    """Write what is gone after share coordinators have answered."""
    gone = [topic_id for topic_id, result in call.topics.items() if result == DONE]
    _forget_deleted(group, gone, now_ms, partial(_answer, call.topics, then))


def _answer(
    results: Mapping[KeyT, Result],
    then: Callable[[Refusal | Mapping[KeyT, Result], int], None],
    error: ErrorCode,
    now_ms: int,
) -> None:
    """What became of each counts once it is written; if that fails, all are refused."""
    then(results if error is ErrorCode.none else Refusal(error), now_ms)


def _deletable(states: StatePartitions, topics: Iterable[TopicInfo]) -> dict[UUID, Collection[int]]:
    """Return the partitions that are ready; and all of a topic whose states could not be deleted before."""
    wanted: dict[UUID, Collection[int]] = {}
    for topic in sorted(topics, key=_id_of):
        again = topic.topic_id in states.deleting and topic.topic_id not in states.initialized
        partitions = range(topic.partitions) if again else states.ready(topic.topic_id)
        if partitions:
            wanted[topic.topic_id] = partitions
    return wanted


def _id_of(topic: TopicInfo) -> int:
    return topic.topic_id.int


def _forget_deleted(group: ShareGroup, topic_ids: list[UUID], now_ms: int, on_written: OnWritten) -> None:
    """If that cannot be written the topics are still being deleted, as far as the group knows, and may be again."""
    if not group.is_there:
        on_written(ErrorCode.not_coordinator, now_ms)
        return
    changes = GroupChanges(group)
    if topic_ids:
        changes.make(ShareKind.STATE_PARTITIONS, None, group.states.deleted(topic_ids))
    changes.write(now_ms, Cause("offsets_deleted"), on_written)


def _find_empty(coordinator: GroupCoordinator, group_id: str, *, creates: bool) -> ShareGroup | Refusal:
    """A share group without members, or one that nobody knows yet."""
    group = coordinator.share_group(group_id)
    if group is not None:
        return group if group.is_empty else NON_EMPTY
    if group_id in coordinator.groups:
        return not_of_kind(SHARE, group_id)
    error = coordinator.creatable(group_id) if creates else coordinator.availability(group_id)
    if error is not ErrorCode.none:
        return Refusal(error)
    return coordinator.new_share_group(group_id) if creates else group_missing(group_id)


def _changes_of(coordinator: GroupCoordinator, group: ShareGroup) -> GroupChanges:
    changes = GroupChanges(group)
    if not group.is_there:
        group.appear()
        changes.creates = True
        changes.on_undo(lambda now_ms: coordinator.remove(group))
    return changes
