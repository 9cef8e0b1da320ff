"""TxnOffsetCommit in the group coordinator (classic-groups §7.3)."""

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.states import State
from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.offsets.offsets import NO_EXPIRY, CommittedOffset
from kohort.coordinator.offsets.offsets_topic_records import EXPIRING_OFFSET_VALUE, expiring_offset_value, offset_key
from kohort.coordinator.offsets.pending_offsets import PendingOffsets
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.coordinator.modern.modern_group import ModernGroup


class PendingCommit(NamedTuple):
    """Offset of a partition."""

    topic: str
    topic_id: UUID | None
    partition: int
    offset: int
    leader_epoch: int
    metadata: str


class Committer(NamedTuple):
    """Sender of the commit: the producer of the transaction, and the member of the group."""

    producer_id: int
    producer_epoch: int
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    knows_epochs: bool = False  # whether the version has member epochs (from 6 on)


class PendingRecords(NamedTuple):
    """The offsets that a transaction commits, and their records, which are written together."""

    commits: list[PendingCommit]
    offsets: dict[TopicPartition, CommittedOffset]
    records: EncodedRecords


def records_of(
    coordinator: GroupCoordinator, group_id: str, commits: list[PendingCommit], now_ms: int
) -> Generator[None, None, PendingRecords]:
    """Create the records of commits. Yield where other requests may be served: the records do not depend on them."""
    wall_ms, settings = coordinator.wall_ms(now_ms), coordinator.settings
    version, expire_ms = settings.offset_value_version, NO_EXPIRY
    if version == EXPIRING_OFFSET_VALUE:
        expire_ms = wall_ms + settings.offsets_retention_ms
    offsets = {}
    records = []
    for position, commit in enumerate(commits):
        committed = CommittedOffset(commit.metadata, commit.topic_id)
        if expire_ms == NO_EXPIRY:
            records.append(
                committed.record(
                    group_id,
                    commit.topic,
                    commit.partition,
                    position,
                    commit.offset,
                    commit.leader_epoch,
                    wall_ms,
                    version,
                )
            )
        else:
            value = expiring_offset_value(commit.offset, commit.metadata, wall_ms, expire_ms)
            records.append(encode_record(offset_key(group_id, commit.topic, commit.partition), value, position))
        committed.take(commit.offset, commit.leader_epoch, wall_ms, expire_ms)
        offsets[commit.topic, commit.partition] = committed
        yield
    return PendingRecords(commits, offsets, EncodedRecords(b"".join(records), len(records)))


def txn_offset_commit(
    coordinator: GroupCoordinator,
    committer: Committer,
    pending: PendingRecords,
    now_ms: int,
    on_written: OnWritten,
) -> None:
    """Store offsets until their transaction ends. `on_written` is called at once with an error, or after the write.

    Errors: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
    INVALID_PRODUCER_EPOCH.
    """
    commits = pending.commits
    error = check_committer(coordinator, committer, commits)
    _report(coordinator, committer, len(commits), error)
    if error is not ErrorCode.none or not commits:
        return on_written(error, now_ms)

    def written(error: ErrorCode, now_ms: int) -> None:
        if error is ErrorCode.none:
            group = coordinator.groups.get(committer.group_id)
            if group is None:
                simple = group = coordinator.create_group(committer.group_id, now_ms)
                coordinator.observer.group_created(simple)
            if group.pending_offsets is None:
                group.pending_offsets = PendingOffsets()
            group.pending_offsets.put_all(committer.producer_id, pending.offsets)
            transaction = group.partition, committer.producer_id
            coordinator.open_transactions.setdefault(transaction, set()).add(group.group_id)
        on_written(error, now_ms)

    coordinator.append(
        coordinator.partition_of(committer.group_id),
        pending.records,
        now_ms,
        written,
        producer=(committer.producer_id, committer.producer_epoch),
    )
    return None


def _report(coordinator: GroupCoordinator, committer: Committer, partitions: int, error: ErrorCode) -> None:
    group = coordinator.groups.get(committer.group_id)
    if error is ErrorCode.none:
        coordinator.observer.committed(group, committer.member_id, partitions)
    elif group is not None:
        coordinator.observer.commit_rejected(group, committer.member_id, committer.generation_id, error, None)


def check_committer(
    coordinator: GroupCoordinator, committer: Committer, commits: Iterable[PendingCommit] = ()
) -> ErrorCode:
    """Return whether the member may commit. A producer that sends no member may always do so."""
    group = coordinator.classic_group(committer.group_id)
    modern = coordinator.committing_group(committer.group_id)
    if modern is not None:
        return _check_epoch(modern, committer, commits)
    if group is None:
        error = coordinator.creatable(committer.group_id)
        if error is ErrorCode.none and committer.generation_id >= 0:
            return ErrorCode.group_id_not_found if committer.knows_epochs else ErrorCode.illegal_generation
        return error
    return _check_member(group, committer)


def _check_epoch(group: "ModernGroup", committer: Committer, commits: Iterable[PendingCommit]) -> ErrorCode:
    epoch, member_id = committer.generation_id, committer.member_id
    if epoch < 0 and not member_id and committer.group_instance_id is None:
        return ErrorCode.none
    partitions = ((commit.topic, commit.topic_id, commit.partition) for commit in commits)
    return group.check_commit(member_id, epoch, partitions)


def _check_member(group: ClassicGroup, committer: Committer) -> ErrorCode:
    generation_id, member_id = committer.generation_id, committer.member_id
    if generation_id < 0 and (group.state is State.EMPTY or (not member_id and committer.group_instance_id is None)):
        return ErrorCode.none
    error = group.check_member(member_id, committer.group_instance_id)
    if error is ErrorCode.none and generation_id != group.generation_id:
        return ErrorCode.illegal_generation
    return error
