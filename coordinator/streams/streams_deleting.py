"""Deletion of a streams group with its topology and offsets (streams-groups §13). Its internal topics stay."""

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.offsets.offsets_topic_records import offset_key
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import NO_DESCRIPTION
from kohort.protocol.errors import ErrorCode
from kohort.protocol.topic_partition import TopicPartition


def delete_streams_group(group: StreamsGroup, now_ms: int, on_written: OnWritten | None) -> None:
    """Delete an empty group, and before it the description of its topology (KIP-1331).

    Args:
        on_written: Called with NONE, with the error of the write, or with GROUP_DELETION_FAILED if the plugin cannot
            delete the description.
    """
    descriptions, report = group.coordinator.topology_descriptions, on_written or _ignore_result

    def continue_deletion(error: ErrorCode, now_ms: int) -> None:
        if error is ErrorCode.none:
            error = group.refuses_delete() if group.is_there else ErrorCode.group_id_not_found
        if error is ErrorCode.none:
            _delete(group, now_ms, report)
        else:
            report(error, now_ms)

    if descriptions is None or group.stored_description == NO_DESCRIPTION:
        _delete(group, now_ms, report)
    else:
        descriptions.delete(group, now_ms, continue_deletion)


def _delete(group: StreamsGroup, now_ms: int, on_written: OnWritten) -> None:
    """Delete a group at once, like Kafka: a member that joins now needs a topology and creates a new group.

    If the write fails, the group is restored.
    """
    changes = GroupChanges(group)
    offsets = [offset_key(group.group_id, *partition) for partition in _offsets(group)]
    changes.write_last((key, None) for key in (*offsets, *group.record_keys()))
    group.vanish()
    changes.on_undo(lambda now_ms: group.appear())

    def written(error: ErrorCode, now_ms: int) -> None:
        if error is ErrorCode.none:
            group.coordinator.observer.group_gone(group, "group_deleted")
        on_written(error, now_ms)

    changes.write(now_ms, Cause("group_deleted"), written)


def _offsets(group: StreamsGroup) -> list[TopicPartition]:
    committed = [] if group.offsets is None else [(topic, partition) for topic, partition, _ in group.offsets]
    committed_set = set(committed)
    return committed + [pending for pending in group.pending_offsets or () if pending not in committed_set]


def _ignore_result(error: ErrorCode, now_ms: int) -> None:
    """Ignore a failed write: a later expiration deletes the group."""
