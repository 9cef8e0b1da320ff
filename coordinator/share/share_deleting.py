"""Deletion of a share group and of its share-group states (share-groups §16)."""

from collections.abc import Mapping
from functools import partial
from uuid import UUID

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_deleting import delete_modern_group
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_offsets import delete_call
from kohort.coordinator.share.share_values import ShareKind
from kohort.coordinator.share.state_calls import StateCall, call_in_slices
from kohort.coordinator.share.state_partitions import StatePartitions
from kohort.protocol.errors import ErrorCode


def delete_share_group(group: ShareGroup, now_ms: int, on_written: OnWritten) -> None:
    """Delete an empty group: first its states, then the group itself.

    If a share coordinator fails, the group stays and its deletion can be retried.

    Args:
        on_written: Called with NONE, or with the error of a share coordinator or of the write.
    """
    if not group.has_states:
        _delete_group(group, now_ms, on_written)
        return
    candidates = _candidates(group)
    changes = GroupChanges(group)
    names = {topic_id: name for topic_id, (name, _) in candidates.items()}
    changes.make(ShareKind.STATE_PARTITIONS, None, StatePartitions(deleting=names))
    partitions_by_topic = {topic_id: partitions for topic_id, (_, partitions) in candidates.items() if partitions}
    changes.write(now_ms, Cause("group_deleted"), partial(_delete_states, group, partitions_by_topic, on_written))


def _delete_states(
    group: ShareGroup,
    partitions_by_topic: Mapping[UUID, frozenset[int]],
    on_written: OnWritten,
    error: ErrorCode,
    now_ms: int,
) -> None:
    if error is not ErrorCode.none or not group.is_there:
        on_written(error if error is not ErrorCode.none else ErrorCode.not_coordinator, now_ms)
    elif any(min(partitions) < 0 for partitions in partitions_by_topic.values()):
        # A client has altered offsets of a negative partition; Kafka then deletes no state (observed on 4.4.0).
        on_written(ErrorCode.unknown_server_error, now_ms)
    elif partitions_by_topic:
        call_in_slices(
            group, delete_call(group, partitions_by_topic, partial(_states_deleted, group, on_written)), now_ms
        )
    else:
        _delete_group(group, now_ms, on_written)


def _states_deleted(group: ShareGroup, on_written: OnWritten, call: StateCall, now_ms: int) -> None:
    if call.failure is not None:
        on_written(call.failure.error, now_ms)
    elif not group.is_there:
        on_written(ErrorCode.not_coordinator, now_ms)
    else:
        _delete_group(group, now_ms, on_written)


def _candidates(group: ShareGroup) -> dict[UUID, tuple[str, frozenset[int]]]:
    topics = group.states.all_topics()
    for topic_id in group.states.deleting:
        topic = group.coordinator.topics.by_id(topic_id)
        if topic is not None:
            topics[topic_id] = topic.name, frozenset(range(topic.partitions))
    return topics


def _delete_group(group: ShareGroup, now_ms: int, on_written: OnWritten) -> None:
    """Delete the group, unless it has members again."""
    refusal = group.refuses_delete()
    if refusal is not ErrorCode.none:
        on_written(refusal, now_ms)
        return
    delete_modern_group(group, now_ms, on_written)
