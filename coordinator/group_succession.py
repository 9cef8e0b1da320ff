"""Replacement of a group by one of another type, with its offsets; undone if the write fails.

Consumer groups: consumer-groups §17.1. Streams groups: streams-groups §3, §13.
"""

from kohort.coordinator.classic import sessions
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.dissolving import dissolve
from kohort.coordinator.classic.persisting import group_entry
from kohort.coordinator.classic.rebalancing import prepare_rebalance, unattended
from kohort.coordinator.classic.states import State
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause, Transition
from kohort.coordinator.groups.group import CLASSIC, STREAMS, Group
from kohort.coordinator.modern.group_changes import Conversion, GroupChanges
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.offsets.offsets_topic_records import group_key
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.protocol.errors import ErrorCode

MIGRATION = Cause("protocol_migration")


def make_streams_group(
    coordinator: GroupCoordinator, classic: ClassicGroup, now_ms: int
) -> tuple[StreamsGroup, GroupChanges]:
    group = coordinator.new_group(STREAMS, classic.group_id)
    changes = GroupChanges(group)
    changes.creates = changes.replaces = True
    take_over(classic, group, changes, now_ms)
    return group, changes


def replace_empty_group(coordinator: GroupCoordinator, group: ModernGroup, now_ms: int) -> None:
    """Replace a group without members by a new classic one, which gets its offsets.

    The topology of a streams group is lost. The tombstones of the one and the record of the other are one batch (Kafka:
    `classicGroupJoinToClassicGroup`). If it cannot be written, the old group is restored, and members that joined the
    classic group receive an error.
    """
    classic = coordinator.create_group(group.group_id, now_ms)
    changes = GroupChanges(group)
    if isinstance(group, StreamsGroup) and coordinator.topology_descriptions is not None:
        coordinator.topology_descriptions.discard(group)
    changes.converts = Conversion(classic, group.group_type, CLASSIC, 0, 0)
    changes.write_last([*((key, None) for key in group.record_keys()), group_entry(classic)])
    group.vanish()
    move_offsets(group, classic)
    give_back_unless_written(group, classic, changes)
    changes.write(now_ms, MIGRATION, _ignored)


def forget_empty_group(coordinator: GroupCoordinator, group: ModernGroup) -> None:
    """Hide a group without members, whose records stay in the log. No event is reported."""
    if coordinator.forgotten is None:
        from kohort.coordinator.groups.forgotten_groups import ForgottenGroups  # loaded for unknown member ids only

        coordinator.forgotten = ForgottenGroups()
    coordinator.forgotten.forget(group)


def take_over(classic: ClassicGroup, group: ModernGroup, changes: GroupChanges, now_ms: int) -> None:
    """Replace a classic group by one of another type, which gets its id and offsets.

    As in Kafka, waiting joins and syncs are rejected at once. The classic group is restored if the write fails.
    """
    was_stable = classic.state in (State.STABLE, State.EMPTY)
    issued_ids = dict(classic.pending_joins or {})
    dissolve(classic, ErrorCode.rebalance_in_progress, MIGRATION, now_ms)
    group.appear()
    move_offsets(classic, group)
    changes.delete_first(group_key(classic.group_id))

    def undo(now_ms: int) -> None:
        group.vanish()
        move_offsets(group, classic)
        _revive(classic, now_ms, rebalance=not was_stable)
        for member_id, session in issued_ids.items():
            sessions.hand_out(classic, member_id, session.deadline_ms - now_ms, now_ms)

    changes.on_undo(undo)


def move_offsets(source: Group, target: Group) -> None:
    target.offsets, target.pending_offsets = source.offsets, source.pending_offsets


def give_back_unless_written(group: ModernGroup, classic: ClassicGroup, changes: GroupChanges) -> None:
    """Restore the group in place of the classic one if the changes cannot be written.

    Then the classic group's own changes since are not written either (`modern/group_changes.py`).
    """

    def undo(now_ms: int) -> None:
        move_offsets(classic, group)
        restore(group, now_ms)

    changes.on_undo(undo)


def restore(group: ModernGroup, now_ms: int) -> None:
    """Restore a group whose removal was not written. Members of a classic group that has its id now receive an error.

    A group of a newer protocol does not have its id: its creation was not written either, and is undone before.
    """
    successor = group.coordinator.groups.get(group.group_id)
    if isinstance(successor, ClassicGroup):
        dissolve(successor, ErrorCode.not_coordinator, Cause("group_store_failed"), now_ms)
    group.appear()


def _revive(classic: ClassicGroup, now_ms: int, *, rebalance: bool) -> None:
    """Restore a classic group with its members and their assignments.

    Args:
        rebalance: Whether the group was rebalancing. A new rebalance is started then.
    """
    coordinator = classic.coordinator
    classic.state = State.STABLE if classic.members else State.EMPTY
    coordinator.groups[classic.group_id] = classic
    cause = Cause("group_store_failed")
    count = len(classic.members)
    coordinator.effects.append(
        Transition(
            classic.group_id,
            classic.partition,
            State.DEAD.value,
            classic.state.value,
            classic.generation_id,
            count,
            cause,
        )
    )
    for member in classic.members.values():
        sessions.extend(classic, member, now_ms)
    if rebalance and classic.members:
        unattended(classic, lambda: prepare_rebalance(classic, cause, now_ms))


def _ignored(error: ErrorCode, now_ms: int) -> None:
    pass
