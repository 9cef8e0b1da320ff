"""Deletion of an empty group of a newer protocol with its offsets."""

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.offsets.offsets_topic_records import offset_key
from kohort.protocol.errors import ErrorCode


def delete_modern_group(group: ModernGroup, now_ms: int, on_written: OnWritten | None) -> None:
    """Delete a group at once, like Kafka: a member that joins now creates a new group.

    If the write fails, the group is restored, and the new group's changes fail, too.
    """
    changes = GroupChanges(group)
    offsets = [offset_key(group.group_id, *partition) for partition in group.all_offsets()]
    changes.write_last((key, None) for key in (*offsets, *group.record_keys()))
    group.vanish()

    def undo(now_ms: int) -> None:
        from kohort.coordinator.group_succession import restore  # rarely needed

        restore(group, now_ms)

    changes.on_undo(undo)

    def written(error: ErrorCode, now_ms: int) -> None:
        if error is ErrorCode.none:
            group.coordinator.observer.group_gone(group, "group_deleted")
        if on_written is not None:
            on_written(error, now_ms)

    changes.write(now_ms, Cause("group_deleted"), written)
