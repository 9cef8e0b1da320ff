"""A streams group is deleted, with its topology and its offsets (streams-groups §13). Its internal topics stay."""

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.offsets_topic_records import offset_key
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.protocol.errors import ErrorCode
from kohort.protocol.topic_partition import TopicPartition


def delete_streams_group(group: StreamsGroup, now_ms: int, on_written: OnWritten | None) -> None:
    """Takes an empty group away at once, as Kafka does: who joins meanwhile brings a topology, and begins a new one.

    It is back if that cannot be written. `on_written` gets NONE, or the error of the write.
    """
    changes = GroupChanges(group)
    offsets = [offset_key(group.group_id, *each) for each in _offsets(group)]
    changes.write_last((key, None) for key in (*offsets, *group.record_keys()))
    group.vanish()
    changes.on_undo(lambda now_ms: group.appear())

    def written(error: ErrorCode, now_ms: int) -> None:
        if error is ErrorCode.none:
            group.coordinator.streams_observer.group_gone(group, "group_deleted")
        (on_written or _nobody_waits)(error, now_ms)

    changes.write(now_ms, Cause("group_deleted"), written)


def _offsets(group: StreamsGroup) -> list[TopicPartition]:
    """The partitions it has offsets of, those of open transactions too."""
    committed = [] if group.offsets is None else [(topic, partition) for topic, partition, _ in group.offsets]
    known = set(committed)
    return committed + [each for each in group.pending_offsets or () if each not in known]


def _nobody_waits(error: ErrorCode, now_ms: int) -> None:
    """A group that has expired goes with a later sweep, if its end could not be written."""
