"""AlterShareGroupOffsets and DeleteShareGroupOffsets: of groups without members (share-groups §16)."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple, TypeVar
from uuid import UUID

from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal, group_missing, not_of_kind
from kohort.coordinator.share.share_group import SHARE, ShareGroup
from kohort.coordinator.share.share_host import Outcome
from kohort.coordinator.share.share_initializing import Missing, note_outcome
from kohort.coordinator.share.share_values import ShareKind
from kohort.coordinator.share.state_partitions import StatePartitions, TopicIdPartition, by_topic
from kohort.coordinator.topic_info import TopicInfo
from kohort.protocol.errors import ErrorCode

KeyT = TypeVar("KeyT", TopicIdPartition, UUID)

NON_EMPTY = Refusal(ErrorCode.non_empty_group)


class Result(NamedTuple):
    """What became of a partition or a topic: NONE, or an error and perhaps what is said about it."""

    error: ErrorCode
    message: str | None = None


OnAltered = Callable[[Refusal | Mapping[TopicIdPartition, Result], int], None]
"""Gets a refusal of all, or what became of each partition; and the time."""

OnDeleted = Callable[[Refusal | Mapping[UUID, Result] | None, int], None]
"""Gets a refusal of all, or what became of each topic; and the time. None: the group has never had any states."""

Beginnings = Mapping[TopicIdPartition, tuple[int, int]]
"""The group's epoch, and the offset at which it is to begin, of each partition."""

DONE = Result(ErrorCode.none)


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
        wanted = {each: (group.epoch, offset) for each, offset in offsets.items()}
        changes.write(now_ms, Cause("offsets_altered"), partial(_initialize, group, wanted, then))


def _initialize(
    group: ShareGroup,
    wanted: Mapping[TopicIdPartition, tuple[int, int]],
    then: OnAltered,
    error: ErrorCode,
    now_ms: int,
) -> None:
    """It is written that the group begins these partitions: share coordinators hear at which offsets."""
    if error is not ErrorCode.none:
        then(Refusal(error), now_ms)
    elif wanted:
        initialized = partial(_initialized, group, then)
        group.coordinator.share_persister().initialize(group.group_id, wanted, initialized, now_ms)
    else:
        then({}, now_ms)


def _initialized(group: ShareGroup, then: OnAltered, outcomes: Mapping[TopicIdPartition, Outcome], now_ms: int) -> None:
    """Share coordinators have answered: what succeeded is written."""
    results = {each: Result(found.error_code, found.error_message) for each, found in outcomes.items()}
    note_outcome(group, outcomes, now_ms, partial(_answer, results, then))


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
        changes.make(ShareKind.STATE_PARTITIONS, None, group.states.delete(by_topic(wanted)))
        changes.write(now_ms, Cause("offsets_deleted"), partial(_delete, group, wanted, then))


def _delete(group: ShareGroup, wanted: set[TopicIdPartition], then: OnDeleted, error: ErrorCode, now_ms: int) -> None:
    """It is written that these partitions are being deleted: share coordinators hear of it."""
    if error is not ErrorCode.none:
        then(Refusal(error), now_ms)
    elif wanted:
        deleted = partial(_deleted, group, then)
        group.coordinator.share_persister().delete(group.group_id, sorted(wanted), deleted, now_ms)
    else:
        then({}, now_ms)


def _deleted(group: ShareGroup, then: OnDeleted, outcomes: Mapping[TopicIdPartition, Outcome], now_ms: int) -> None:
    """Share coordinators have answered: what is gone is written."""
    results = _by_topic(outcomes)
    gone = [topic_id for topic_id, result in results.items() if result == DONE]
    _forget_deleted(group, gone, now_ms, partial(_answer, results, then))


def _answer(
    results: Mapping[KeyT, Result],
    then: Callable[[Refusal | Mapping[KeyT, Result], int], None],
    error: ErrorCode,
    now_ms: int,
) -> None:
    """What became of each counts once it is written; if that fails, all are refused."""
    then(results if error is ErrorCode.none else Refusal(error), now_ms)


def _deletable(states: StatePartitions, topics: Iterable[TopicInfo]) -> set[TopicIdPartition]:
    """The partitions that are ready; and all of a topic whose states could not be deleted before."""
    wanted: set[TopicIdPartition] = set()
    for topic in topics:
        again = topic.topic_id in states.deleting and topic.topic_id not in states.initialized
        partitions = range(topic.partitions) if again else states.ready(topic.topic_id)
        wanted.update((topic.topic_id, partition) for partition in partitions)
    return wanted


def _by_topic(outcomes: Mapping[TopicIdPartition, Outcome]) -> dict[UUID, Result]:
    """For each topic NONE, or the first error of a partition."""
    results: dict[UUID, Result] = {}
    for (topic_id, _), outcome in outcomes.items():
        if results.get(topic_id, DONE) == DONE:
            results[topic_id] = Result(outcome.error_code, outcome.error_message)
    return results


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
    group = coordinator.share_groups.get(group_id)
    if group is not None:
        return group if group.is_empty else NON_EMPTY
    if coordinator.group(group_id) is not None:
        return not_of_kind(SHARE, group_id)
    error = coordinator.creatable(group_id) if creates else coordinator.availability(group_id)
    if error is not ErrorCode.none:
        return Refusal(error)
    return coordinator.new_share_group(group_id) if creates else group_missing(group_id)


def _changes_of(coordinator: GroupCoordinator, group: ShareGroup) -> GroupChanges:
    changes = GroupChanges(group)
    if not group.is_there:
        coordinator.share_groups[group.group_id] = group
        changes.creates = True
        changes.on_undo(lambda now_ms: coordinator.forget_share_group(group))
    return changes
