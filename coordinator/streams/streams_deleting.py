"""Deletion of a streams group with its topology and offsets (streams-groups §13). Its internal topics stay."""

from kohort.coordinator.context import OnWritten
from kohort.coordinator.modern.group_deleting import delete_modern_group
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import NO_DESCRIPTION
from kohort.protocol.errors import ErrorCode


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
            delete_modern_group(group, now_ms, report)
        else:
            report(error, now_ms)

    if descriptions is None or group.stored_description == NO_DESCRIPTION:
        delete_modern_group(group, now_ms, report)
    else:
        descriptions.delete(group, now_ms, continue_deletion)


def _ignore_result(error: ErrorCode, now_ms: int) -> None:
    """Ignore a failed write: a later expiration deletes the group."""
