"""Whether a member may commit or fetch offsets with the epoch it names (streams-groups §12; KIP-1251)."""

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
    """NONE, UNKNOWN_MEMBER_ID, UNSUPPORTED_VERSION, STALE_MEMBER_EPOCH.

    An older epoch is right as long as the member has had the active tasks of all these partitions since then. No
    session is extended. `sources`: by topic, the subtopology that reads it. `knows_epochs`: whether the request has a
    place for member epochs.
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
    if epoch < current.epoch and all(_since(sources.get(name), current, each) <= epoch for name, _, each in partitions):
        return ErrorCode.none
    return ErrorCode.stale_member_epoch


def _since(subtopology: Subtopology | None, current: StreamsAssignment, partition: int) -> float:
    """The epoch of the assignment that gave the task which reads a partition; beyond all epochs if none did."""
    epoch = None if subtopology is None else current.given_at(subtopology.subtopology_id, partition)
    return inf if epoch is None else epoch


def check_fetch(members: Mapping[str, StreamsMember], member_id: str | None, epoch: int) -> ErrorCode:
    """NONE for who does not say who it is; UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.

    An epoch without a member id is UNKNOWN_SERVER_ERROR: Kafka looks for a member under null, and fails.
    """
    if member_id is None:
        return ErrorCode.none if epoch < 0 else ErrorCode.unknown_server_error
    member = members.get(member_id)
    if member is None:
        return ErrorCode.unknown_member_id
    return ErrorCode.none if epoch == member.current.epoch else ErrorCode.stale_member_epoch
