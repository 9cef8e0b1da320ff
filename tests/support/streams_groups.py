"""State of streams groups in a coordinator, for comparison, and its invariants."""

from collections import Counter
from typing import Any

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_owners import Role


def picture_of(group: StreamsGroup) -> Any:
    """Return the state of a group in the log, and values derived from it."""
    return {
        "epoch": (group.epoch, group.metadata_hash, group.validated_topology_epoch, group.configs),
        "target epoch": (group.target_epoch, group.target_timestamp_ms),
        "members": {member.member_id: (member.metadata, member.current) for member in group.members.values()},
        "targets": dict(group.targets),
        "topology": group.topology,
        "state": (group.state, group.settled),
    }


def one_active_owner_each(coordinator: GroupCoordinator) -> None:
    """Assert that each task is active once, no process has a task twice, and epochs are in order."""
    for group in coordinator.of_type("streams"):
        _check_owners(group)
        assert group.target_epoch <= group.epoch
        assert all(member.current.epoch <= group.target_epoch for member in group.members.values())
        assert group.targets.keys() <= group.members.keys(), "target of an unknown member"


def _check_owners(group: StreamsGroup) -> None:
    active: Counter[tuple[str, int]] = Counter()
    held: Counter[tuple[str, str, int]] = Counter()
    for member in group.members.values():
        process_id = member.metadata.process_id
        roles = (*member.current.assigned.roles, *member.current.revoking.roles)
        # Since 4.4 a member gets a task as a standby task while it still has to revoke it as an active one.
        held.update({(process_id, name, item) for tasks in roles for name in tasks for item in tasks[name]})
        for tasks in (member.current.assigned, member.current.revoking):
            active.update((name, item) for name in tasks.active for item in tasks.active[name])
    assert set(active.values()) <= {1}, f"active twice: {active.most_common(1)}"
    assert set(held.values()) <= {1}, f"twice in one process: {held.most_common(1)}"
    assert all(group.owners.is_active(*task) for task in active), "an owner is not known"
    assert all(group.owners.holds(process_id, name, each, *Role) for process_id, name, each in held), (
        "a process is not known"
    )
