"""OffsetDelete, DeleteGroups, deleted topics, and the sweep for what is old (classic-groups §7.5, §7.6, §8.3)."""

from collections.abc import Callable, Iterable
from uuid import UUID

from kohort.coordinator.classic.dissolving import dissolve_but_for_offsets
from kohort.coordinator.classic.group import CONSUMER, ClassicGroup
from kohort.coordinator.classic.states import DELETE, State
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause
from kohort.coordinator.offsets import CommittedOffset, tombstones
from kohort.coordinator.records import group_key
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

Done = Callable[[ErrorCode], None]
"""Told once the tombstones are written, or could not be."""


def offset_delete(
    coordinator: GroupCoordinator,
    group_id: str,
    offsets: Iterable[tuple[str, int]],
    now_ms: int,
    done: Callable[[ErrorCode, set[str]], None],
) -> ErrorCode:
    """Deletes the offsets of topics that nobody in the group subscribes to.

    Returns a refusal of the whole: INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND,
    NON_EMPTY_GROUP. With NONE, `done` is told the outcome, at once where there is nothing to delete, together with the
    topics that are in use and keep their offsets (GROUP_SUBSCRIBED_TO_TOPIC).
    """
    if not group_id:
        return ErrorCode.invalid_group_id
    group = coordinator.groups.get(group_id)
    if group is None:
        error = coordinator.availability(group_id)
        return ErrorCode.group_id_not_found if error is ErrorCode.none else error
    if group.state is not State.EMPTY and group.protocol_type != CONSUMER:
        return ErrorCode.non_empty_group
    wanted = list(offsets)
    in_use = {topic for topic, _ in wanted if group.state is not State.EMPTY and group.is_subscribed_to(topic)}
    free = [each for each in wanted if each[0] not in in_use]
    _delete_offsets(group, free, now_ms, lambda error: done(error, in_use))
    return ErrorCode.none


def delete_group(coordinator: GroupCoordinator, group_id: str, now_ms: int, done: Done) -> ErrorCode:
    """Deletes an empty group with all its offsets. NONE: `done` will be told the outcome; else a refusal.

    NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND or what `states.DELETE` says. The empty group id
    is allowed.
    """
    group = coordinator.groups.get(group_id)
    if group is None:
        error = coordinator.availability(group_id)
        return ErrorCode.group_id_not_found if error is ErrorCode.none else error
    error = DELETE[group.state]
    if error is ErrorCode.none:
        _delete_group(group, now_ms, done)
    return error


def topic_deleted(coordinator: GroupCoordinator, topic: str, topic_id: UUID | None, now_ms: int) -> None:
    """Deletes a topic's offsets in all groups; those committed for another topic of that name stay, and the groups."""
    for group in list(coordinator.groups.values()):
        partitions = group.offsets.topics.get(topic) if group.offsets is not None else None
        if partitions is not None:
            gone = [(topic, p) for p, committed in partitions.items() if committed.topic_id in (None, topic_id)]
            _delete_offsets(group, gone, now_ms)


class Sweep(DelayedOperation):
    """Every `offsets.retention.check.interval.ms`: deletes offsets that are too old, and empty groups without any."""

    __slots__ = ("coordinator",)

    def __init__(self, coordinator: GroupCoordinator, now_ms: int) -> None:
        super().__init__(now_ms + coordinator.settings.offsets_retention_check_interval_ms)
        self.coordinator = coordinator

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Waits for the next time, which comes even if this one fails, and sweeps."""
        self.coordinator.purgatory.wait(Sweep(self.coordinator, now_ms))
        sweep(self.coordinator, now_ms)


def sweep(coordinator: GroupCoordinator, now_ms: int) -> None:
    """One sweep over all groups (KIP-211; classic-groups §7.6)."""
    wall_ms = coordinator.wall_ms(now_ms)
    for group in list(coordinator.groups.values()):
        if group.commits_in_flight or group.pending_offsets is not None:
            continue  # what is being committed must not be deleted behind it; the next sweep will see
        old = _expired(group, wall_ms)
        count = sum(map(len, group.offsets.topics.values())) if group.offsets is not None else 0
        if group.state is State.EMPTY and len(old) == count:
            _delete_group(group, now_ms)
        elif old:
            _delete_offsets(group, old, now_ms, _tell_expired(group, len(old)))


def _tell_expired(group: ClassicGroup, partitions: int) -> Done:
    def written(error: ErrorCode) -> None:
        if error is ErrorCode.none:
            group.coordinator.observer.offsets_expired(group, partitions)

    return written


def _expired(group: ClassicGroup, wall_ms: int) -> list[tuple[str, int]]:
    if group.offsets is None or not _may_expire(group):
        return []
    retention_ms = group.coordinator.settings.offsets_retention_ms
    by_state = group.state is State.EMPTY and group.protocol_type is not None and group.state_timestamp_ms >= 0
    return [
        (topic, partition)
        for topic, partition, committed in group.offsets
        if not (group.state is State.STABLE and group.is_subscribed_to(topic))
        and _is_old(
            committed, group.state_timestamp_ms if by_state else committed.commit_timestamp_ms, wall_ms, retention_ms
        )
    ]


def _may_expire(group: ClassicGroup) -> bool:
    if group.state is State.EMPTY:
        return True
    return group.state is State.STABLE and group.protocol_type == CONSUMER and group.subscribed_topics is not None


def _is_old(committed: CommittedOffset, since_ms: int, wall_ms: int, retention_ms: int) -> bool:
    if committed.expire_timestamp_ms >= 0:
        return wall_ms >= committed.expire_timestamp_ms
    return wall_ms - since_ms >= retention_ms


def _delete_offsets(group: ClassicGroup, offsets: list[tuple[str, int]], now_ms: int, done: Done | None = None) -> None:
    """Those that exist; they are forgotten once their tombstones are written."""
    kept = group.offsets
    pending = group.pending_offsets
    there = [
        each
        for each in offsets
        if (kept is not None and kept.get(*each) is not None) or (pending is not None and each in pending)
    ]
    if not there:
        if done is not None:
            done(ErrorCode.none)
        return

    def written(error: ErrorCode, _: int) -> None:
        if error is ErrorCode.none:
            _forget(group, there)
        if done is not None:
            done(error)

    records = EncodedRecords(b"".join(tombstones(group.group_id, there)), len(there))
    group.coordinator.append(group.partition, records, now_ms, written)


def _forget(group: ClassicGroup, offsets: list[tuple[str, int]]) -> None:
    """Offsets whose tombstones are written, those of open transactions too."""
    for topic, partition in offsets:
        if group.offsets is not None:
            group.offsets.remove(topic, partition)
        if group.pending_offsets is not None:
            group.pending_offsets.remove((topic, partition))
    if not group.pending_offsets:
        group.pending_offsets = None


def _delete_group(group: ClassicGroup, now_ms: int, done: Done | None = None) -> None:
    """The group and all its offsets. What begins while this is being written lives on: members, newer offsets.

    So does a group that has had members meanwhile and is empty again: the log holds its newer generation behind this.
    Kafka 4 takes the group away at once, and who joins then begins a new one (`GroupMetadataManager.replay`).
    """
    coordinator = group.coordinator
    offsets = [] if group.offsets is None else [(topic, partition) for topic, partition, _ in group.offsets]
    if group.pending_offsets is not None:
        offsets += [place for place in group.pending_offsets if place not in offsets]
    generation_id = group.generation_id
    bodies = [*tombstones(group.group_id, offsets), encode_record(group_key(group.group_id), None, len(offsets))]

    def written(error: ErrorCode, now_ms: int) -> None:
        if error is ErrorCode.none:
            _forget(group, offsets)
            if group.state is State.EMPTY and group.generation_id == generation_id:
                dissolve_but_for_offsets(group, error, Cause("group_deleted"), now_ms)
        if done is not None:
            done(error)

    coordinator.append(group.partition, EncodedRecords(b"".join(bodies), len(bodies)), now_ms, written)
