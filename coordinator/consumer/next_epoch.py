"""Update of a member that already has the partitions of its target and only needs the new epoch."""

from typing import Final

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.consumer_states import MemberState
from kohort.coordinator.consumer.steady_assignment import SteadyAssignment
from kohort.coordinator.consumer.values import CurrentAssignment, Kind, Owned
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_values import Target

_STABLE: Final = MemberState.STABLE


class NextEpoch(GroupChanges):
    """Moves a member to the epoch of its group and changes nothing else."""

    __slots__ = ("_record",)

    def __init__(self, group: ConsumerGroup, member: ConsumerMember, steady: SteadyAssignment) -> None:
        super().__init__(group)
        epoch, current = group.target_epoch, member.current
        self._record = steady.record(epoch, current.epoch)
        following = CurrentAssignment(epoch, current.epoch, _STABLE, current.assigned)
        self.make(Kind.CURRENT, member.member_id, following)

    def encoded(self, at: int) -> bytes:
        return super().encoded(at) if at else self._record


def steady_assignment(group: ConsumerGroup, member: ConsumerMember) -> SteadyAssignment | None:
    """Return the cached values of a member that only needs the group epoch, or None if it has to change partitions."""
    current, metadata = member.current, member.metadata
    if current.state is not _STABLE:
        return None
    assigned, target, subscribed = current.assigned, group.target_of(member.member_id), group.topic_ids(metadata)
    steady = member.steady_assignment
    if steady is None or not steady.is_of(assigned, metadata, target, subscribed):
        if not _is_equal(target, assigned) or not target.keys() <= subscribed:
            return None
        steady = SteadyAssignment(group.group_id, member.member_id, assigned, metadata, target, subscribed)
        member.steady_assignment = steady
    return steady


def _is_equal(target: Target, assigned: Owned) -> bool:
    return len(target) == len(assigned) and all(
        topic_id in assigned and assigned[topic_id].keys() == partitions for topic_id, partitions in target.items()
    )
