"""Checks of the member epoch when a member commits or fetches offsets (streams-groups §12; KIP-1251)."""

from collections.abc import Iterable, Mapping
from math import inf

from kohort.coordinator.modern.modern_values import CommittedPartition
from kohort.coordinator.streams.streams_group_values import StreamsAssignment
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_values import Subtopology
from kohort.protocol.errors import ErrorCode


def check_commit(
    members: Mapping[str, StreamsMember],
    sources: Mapping[str, Subtopology],
    member_id: str,
    epoch: int,
    partitions: Iterable[CommittedPartition],
    *,
    knows_epochs: bool = True,
) -> ErrorCode:
    """Check a commit: NONE, UNKNOWN_MEMBER_ID, UNSUPPORTED_VERSION or STALE_MEMBER_EPOCH.

    An older epoch is valid if the member has owned the active tasks of all partitions since then. The session is not
    extended.

    Args:
        sources: The subtopology that reads a topic, by topic.
        knows_epochs: Whether the version of the request has member epochs.
    """
    if epoch < 0 and not members:
        return ErrorCode.none
    member = members.get(member_id)
    if member is None:
        return ErrorCode.unknown_member_id
    if not knows_epochs:
        return ErrorCode.unsupported_version
    current = member.current
    if epoch == current.epoch:
        return ErrorCode.none
    if epoch < current.epoch and all(
        _owned_since(sources.get(name), current, partition) <= epoch for name, _, partition in partitions
    ):
        return ErrorCode.none
    return ErrorCode.stale_member_epoch


def _owned_since(subtopology: Subtopology | None, current: StreamsAssignment, partition: int) -> float:
    """Return the epoch of the assignment that added a partition's task, or infinity if the member does not own it."""
    epoch = None if subtopology is None else current.given_at(subtopology.subtopology_id, partition)
    return inf if epoch is None else epoch


def check_fetch(members: Mapping[str, StreamsMember], member_id: str | None, epoch: int) -> ErrorCode:
    """Check an offset fetch: NONE, UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH.

    An epoch without a member id is UNKNOWN_SERVER_ERROR: Kafka looks up a null id, and fails.
    """
    if member_id is None:
        return ErrorCode.none if epoch < 0 else ErrorCode.unknown_server_error
    member = members.get(member_id)
    if member is None:
        return ErrorCode.unknown_member_id
    return ErrorCode.none if epoch == member.current.epoch else ErrorCode.stale_member_epoch
