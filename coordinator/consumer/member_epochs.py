"""Validation of member epochs in offset commits and fetches (consumer-groups §15; KIP-1251)."""

from collections.abc import Iterable, Mapping
from math import inf
from uuid import UUID

from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.values import CurrentAssignment
from kohort.coordinator.modern.modern_values import CommittedPartition
from kohort.protocol.errors import ErrorCode


def check_commit(
    members: Mapping[str, ConsumerMember],
    member_id: str,
    epoch: int,
    partitions: Iterable[CommittedPartition],
    *,
    knows_epochs: bool = True,
) -> ErrorCode:
    """Return NONE, UNKNOWN_MEMBER_ID, UNSUPPORTED_VERSION, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION (classic members).

    An older epoch is accepted if the member has had each of the partitions since then. No session is extended.

    Args:
        knows_epochs: Whether the version of the request has member epochs.
    """
    if epoch < 0 and not members:
        return ErrorCode.none
    member = members.get(member_id)
    if member is None:
        return ErrorCode.unknown_member_id
    if not knows_epochs and not member.is_classic:
        return ErrorCode.unsupported_version
    current = member.current
    if epoch == current.epoch:
        return ErrorCode.none
    if epoch < current.epoch and all(
        _since(current, topic_id, partition) <= epoch for _, topic_id, partition in partitions
    ):
        return ErrorCode.none
    return ErrorCode.illegal_generation if member.is_classic else ErrorCode.stale_member_epoch


def _since(current: CurrentAssignment, topic_id: UUID | None, partition: int) -> float:
    """Return the epoch of the assignment that added the partition, or infinity if the member does not own it."""
    epoch = None if topic_id is None else current.given_at(topic_id, partition)
    return inf if epoch is None else epoch


def check_fetch(members: Mapping[str, ConsumerMember], member_id: str | None, epoch: int) -> ErrorCode:
    """Return NONE (also without a member), UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION.

    An epoch without a member ID is UNKNOWN_SERVER_ERROR: Kafka looks up the member null, and fails.
    """
    if member_id is None:
        return ErrorCode.none if epoch < 0 else ErrorCode.unknown_server_error
    member = members.get(member_id)
    if member is None:
        return ErrorCode.unknown_member_id
    if epoch == member.current.epoch:
        return ErrorCode.none
    return ErrorCode.illegal_generation if member.is_classic else ErrorCode.stale_member_epoch
