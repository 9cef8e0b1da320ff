"""OffsetDelete, DeleteGroups, topic deletion, and expiry of offsets and groups (classic-groups §7.5, §7.6, §8.3)."""

from collections.abc import Callable, Iterable, Iterator
from uuid import UUID

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.dissolving import dissolve_but_for_offsets
from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause
from kohort.coordinator.groups.group import Group
from kohort.coordinator.groups.group_types import GROUP_TYPES, MODERN_TYPES, import_code
from kohort.coordinator.offsets.offsets import CommittedOffset, tombstones
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode
from kohort.protocol.topic_partition import TopicPartition
from kohort.purgatory import DelayedOperation

TOMBSTONES_AT_ONCE = 256  # offsets of a deleted topic deleted in a step: some milliseconds

GROUPS_AT_ONCE = 500  # groups checked in a step for offsets of a deleted topic

PORTION = 1_000  # cost of a sweep's step, measured in checked offsets: some milliseconds

PAUSE_MS = 50  # pause between steps, longer than a step takes on a busy machine

DELETED_OFFSET, DELETED_GROUP = 5, 30  # cost of deleting an offset or a group, in checked offsets


def offset_delete(
    coordinator: GroupCoordinator,
    group_id: str,
    offsets: Iterable[TopicPartition],
    now_ms: int,
    on_written: Callable[[ErrorCode, set[str]], None],
) -> ErrorCode:
    """Delete the offsets of topics to which no member subscribes.

    Returns:
        An error of the whole request: INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
        GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP. With NONE, `on_written` is called when the tombstones are written, at once
        without any, with the result and the subscribed topics, which keep their offsets (GROUP_SUBSCRIBED_TO_TOPIC).
    """
    if not group_id:
        return ErrorCode.invalid_group_id
    group = coordinator.groups.get(group_id)
    if group is None:
        error = coordinator.availability(group_id)
        return ErrorCode.group_id_not_found if error is ErrorCode.none else error
    error = group.refuses_offset_delete()
    if error is not ErrorCode.none:
        return error
    requested = list(offsets)
    in_use = {topic for topic, _ in requested if group.is_in_use(topic)}
    free = [topic_partition for topic_partition in requested if topic_partition[0] not in in_use]
    _delete_offsets(coordinator, group, free, now_ms, lambda error, _: on_written(error, in_use))
    return ErrorCode.none


def delete_group(coordinator: GroupCoordinator, group_id: str, now_ms: int, on_written: OnWritten) -> ErrorCode:
    """Delete an empty group with its offsets. Return an error, or NONE, after which `on_written` is called.

    Errors: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP. The empty group id is
    allowed.
    """
    group = coordinator.groups.get(group_id)
    if group is None:
        error = coordinator.availability(group_id)
        return ErrorCode.group_id_not_found if error is ErrorCode.none else error
    error = group.refuses_delete()
    if error is ErrorCode.none:
        _delete_group(coordinator, group, now_ms, on_written)
    return error


def topic_deleted(coordinator: GroupCoordinator, topic: str, topic_id: UUID | None, now_ms: int) -> Iterator[None]:
    """Delete a topic's offsets in all groups. Offsets of an earlier topic with that name stay, and so do the groups.

    Yields where other requests may be served.
    """
    for number, group in enumerate(_groups_with_offsets(coordinator), 1):
        partitions = group.offsets.topics.get(topic) if group.offsets is not None else None
        if partitions is not None:
            offsets = [(topic, p) for p, committed in partitions.items() if committed.topic_id in (None, topic_id)]
            for start in range(0, len(offsets), TOMBSTONES_AT_ONCE):
                _delete_offsets(coordinator, group, offsets[start : start + TOMBSTONES_AT_ONCE], now_ms)
                yield
        elif not number % GROUPS_AT_ONCE:
            yield
    for group_type in MODERN_TYPES:
        if topic_id is not None and group_type.forget_topic is not None and coordinator.of_type(group_type.name):
            yield from import_code(group_type.forget_topic)(coordinator, topic_id, now_ms)


def _groups_with_offsets(coordinator: GroupCoordinator) -> list[Group]:
    groups = list(coordinator.groups.values())
    if coordinator.forgotten is not None:
        groups += [group for group in coordinator.forgotten.with_offsets() if group.group_id not in coordinator.groups]
    return groups


class Sweep(DelayedOperation):
    """Task that deletes expired offsets and groups every `offsets.retention.check.interval.ms`."""

    __slots__ = ("coordinator",)

    def __init__(self, coordinator: GroupCoordinator, now_ms: int) -> None:
        super().__init__(now_ms + coordinator.settings.offsets_retention_check_interval_ms)
        self.coordinator = coordinator

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        # The next run comes first: it must happen even if this one fails.
        self.coordinator.purgatory.wait(Sweep(self.coordinator, now_ms))
        _Portion(self.coordinator, sweep(self.coordinator, now_ms), now_ms).on_complete(now_ms, expired=True)


class _Portion(DelayedOperation):
    """A step of a sweep, after which other requests are served."""

    __slots__ = ("_coordinator", "_portions")

    def __init__(self, coordinator: GroupCoordinator, portions: Iterator[None], due_ms: int) -> None:
        super().__init__(due_ms)
        self._coordinator = coordinator
        self._portions = portions

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        for _ in self._portions:
            self._coordinator.purgatory.wait(_Portion(self._coordinator, self._portions, now_ms + PAUSE_MS))
            return


def sweep(coordinator: GroupCoordinator, now_ms: int) -> Iterator[None]:
    """Delete expired offsets and groups (KIP-211; classic-groups §7.6). Yield where other requests may be served."""
    budget = PORTION
    for group in list(coordinator.groups.values()):
        if coordinator.groups.get(group.group_id) is group:
            budget -= _sweep(coordinator, group, now_ms)
        if budget <= 0:
            budget = PORTION
            yield


def _sweep(coordinator: GroupCoordinator, group: Group, now_ms: int) -> int:
    """Delete expired offsets of a group, and the group if it has no others. Return the cost in checked offsets."""
    if group.commits_in_flight or group.pending_offsets is not None:
        return 1  # a commit that is being written must not be deleted after it; the next sweep checks again
    expired = _expired(group, coordinator.wall_ms(now_ms), coordinator.settings.offsets_retention_ms)
    count = sum(map(len, group.offsets.topics.values())) if group.offsets is not None else 0
    if group.is_empty and len(expired) == count and group.may_expire:
        _delete_group(coordinator, group, now_ms)
        return count + DELETED_GROUP + DELETED_OFFSET * count
    if expired:
        _delete_offsets(coordinator, group, expired, now_ms, _report_expired(coordinator, group, len(expired)))
    return 1 + count + DELETED_OFFSET * len(expired)


def _report_expired(coordinator: GroupCoordinator, group: Group, partitions: int) -> OnWritten:
    def written(error: ErrorCode, _: int) -> None:
        if error is ErrorCode.none:
            coordinator.observer.offsets_expired(group, partitions)

    return written


def _expired(group: Group, wall_ms: int, retention_ms: int) -> list[TopicPartition]:
    if group.offsets is None:
        return []
    return [
        (topic, partition)
        for topic, partition, committed in group.offsets
        if (since_ms := group.ages_since_ms(topic, committed)) is not None
        and _is_old(committed, since_ms, wall_ms, retention_ms)
    ]


def _is_old(committed: CommittedOffset, since_ms: int, wall_ms: int, retention_ms: int) -> bool:
    if committed.expire_timestamp_ms >= 0:
        return wall_ms >= committed.expire_timestamp_ms
    return wall_ms - since_ms >= retention_ms


def _delete_offsets(
    coordinator: GroupCoordinator,
    group: Group,
    offsets: list[TopicPartition],
    now_ms: int,
    on_written: OnWritten | None = None,
) -> None:
    """Write tombstones of the offsets that exist, and remove the offsets once they are written."""
    stored = group.offsets
    pending = group.pending_offsets
    existing = [
        topic_partition
        for topic_partition in offsets
        if (stored is not None and stored.get(*topic_partition) is not None)
        or (pending is not None and topic_partition in pending)
    ]
    if not existing:
        if on_written is not None:
            on_written(ErrorCode.none, now_ms)
        return

    def written(error: ErrorCode, now_ms: int) -> None:
        if error is ErrorCode.none:
            _remove(group, existing)
        if on_written is not None:
            on_written(error, now_ms)

    records = EncodedRecords(b"".join(tombstones(group.group_id, existing)), len(existing))
    coordinator.append(group.partition, records, now_ms, written)


def _remove(group: Group, offsets: list[TopicPartition]) -> None:
    """Remove offsets whose tombstones are written, also from open transactions."""
    for topic, partition in offsets:
        if group.offsets is not None:
            group.offsets.remove(topic, partition)
        if group.pending_offsets is not None:
            group.pending_offsets.remove((topic, partition))
    if not group.pending_offsets:
        group.pending_offsets = None


def _delete_group(
    coordinator: GroupCoordinator, group: Group, now_ms: int, on_written: OnWritten | None = None
) -> None:
    """Delete the group and its offsets. Members and offsets that a classic group gets during the write are kept.

    A group that has had members since and is empty again is kept, too: its newer generation follows in the log. Kafka 4
    removes the group at once, and the next join creates a new one (`GroupMetadataManager.replay`).
    """
    delete = GROUP_TYPES[group.group_type].delete
    if delete is not None:
        import_code(delete)(group, now_ms, on_written)
        return
    assert isinstance(group, ClassicGroup), "other types have their own deletion"
    offsets = group.all_offsets()
    version = group.version
    bodies = [*tombstones(group.group_id, offsets)]
    for key in group.record_keys():
        bodies.append(encode_record(key, None, len(bodies)))

    def written(error: ErrorCode, now_ms: int) -> None:
        if error is ErrorCode.none:
            _remove(group, offsets)
            if group.is_empty and group.version == version:
                dissolve_but_for_offsets(group, ErrorCode.none, Cause("group_deleted"), now_ms)
        if on_written is not None:
            on_written(error, now_ms)

    records = EncodedRecords(b"".join(bodies), len(bodies))
    coordinator.append(group.partition, records, now_ms, written, group_id=group.group_id)
