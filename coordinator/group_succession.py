"""A group takes the place of another one that had its id, with its offsets; the other is back if that is not written.

Consumer groups: consumer-groups §17.1. Streams groups: streams-groups §3, §13.
"""

from kohort.coordinator.classic import sessions
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.dissolving import dissolve
from kohort.coordinator.classic.persisting import group_entry
from kohort.coordinator.classic.rebalancing import prepare_rebalance, unattended
from kohort.coordinator.classic.states import CLASSIC, State
from kohort.coordinator.consumer.consumer_group import CONSUMER, ConsumerGroup
from kohort.coordinator.consumer.request_changes import ChangeSet, Conversion
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause, Transition
from kohort.coordinator.group import Group
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.offsets_topic_records import group_key
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.protocol.errors import ErrorCode

MIGRATION = Cause("protocol_migration")


def make_streams_group(
    coordinator: GroupCoordinator, classic: ClassicGroup, now_ms: int
) -> tuple[StreamsGroup, GroupChanges]:
    """A streams group in place of a classic one without members (streams-groups §3). Its offsets stay."""
    group = coordinator.new_streams_group(classic.group_id)
    changes = GroupChanges(group)
    changes.creates = changes.replaces = True
    take_over(classic, group, changes, now_ms)
    return group, changes


def replace_empty_group(coordinator: GroupCoordinator, group: ConsumerGroup | StreamsGroup, now_ms: int) -> None:
    """Gives the place of a group without members, and its offsets, to a new classic one.

    The topology of a streams group is lost.

    The one's tombstones and the other's record are one batch (Kafka: `classicGroupJoinToClassicGroup`). If it cannot be
    written, the group is back, and whoever has joined the classic one meanwhile hears of the failure.
    """
    classic = coordinator.create_group(group.group_id, now_ms)
    changes = GroupChanges(group)
    if isinstance(group, ConsumerGroup):
        changes = ChangeSet(group)
        changes.converts = Conversion(classic, CONSUMER, CLASSIC, 0, 0)
    changes.write_last([*((key, None) for key in group.record_keys()), group_entry(classic)])
    group.vanish()
    move_offsets(group, classic)
    give_back_unless_written(coordinator, group, classic, changes)
    changes.write(now_ms, MIGRATION, _ignored)


def forget_empty_group(coordinator: GroupCoordinator, group: ModernGroup) -> None:
    """Takes a group without members away, and writes nothing. Nobody is told: its records are still there."""
    if coordinator.forgotten is None:
        from kohort.coordinator.forgotten_groups import ForgottenGroups  # for whoever comes with an id that nobody has

        coordinator.forgotten = ForgottenGroups()
    coordinator.forgotten.forget(group)


def take_over(classic: ClassicGroup, group: ModernGroup, changes: GroupChanges, now_ms: int) -> None:
    """A group of another protocol has the id and the offsets of a classic one from now on.

    Joins and syncs that wait are sent away at once, as in Kafka. If this cannot be written, the classic group is back.
    """
    was_stable = classic.state in (State.STABLE, State.EMPTY)
    dissolve(classic, ErrorCode.rebalance_in_progress, MIGRATION, now_ms)
    group.appear()
    move_offsets(classic, group)
    changes.delete_first(group_key(classic.group_id))

    def undo(now_ms: int) -> None:
        group.vanish()
        move_offsets(group, classic)
        _revive(classic, now_ms, rebalance=not was_stable)

    changes.on_undo(undo)


def move_offsets(before: Group, after: Group) -> None:
    """Offsets belong to the group that has the id."""
    after.offsets, after.pending_offsets = before.offsets, before.pending_offsets


def give_back_unless_written(
    coordinator: GroupCoordinator, group: ModernGroup, classic: ClassicGroup, changes: GroupChanges
) -> None:
    """If changes cannot be written the group is back, in place of the classic one.

    What the classic one has decided meanwhile is not written, either (`modern/writing.py`).
    """

    def undo(now_ms: int) -> None:
        move_offsets(classic, group)
        if classic.state is not State.DEAD:
            dissolve(classic, ErrorCode.not_coordinator, MIGRATION, now_ms)
        coordinator.groups.pop(group.group_id, None)
        group.appear()

    changes.on_undo(undo)


def _revive(classic: ClassicGroup, now_ms: int, *, rebalance: bool) -> None:
    """A classic group that was dissolved is back with its members and what they had.

    `rebalance`: it was in the middle of one, and nobody waits for that any more.
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
    """Nothing waits for this write: the next member that joins the classic group hears of a failure."""
