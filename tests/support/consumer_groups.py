"""State of consumer groups in a coordinator, for comparison, and its invariants."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.modern.modern_group import FIRST_EPOCH
from kohort.whatif.clients.consumer_group_member import ConsumerMember


def one_owner_each(coordinator: GroupCoordinator) -> None:
    """Assert that each partition has one owner, and epochs are in order."""
    for group in coordinator.of_type("consumer"):
        owners: dict[object, str] = {}
        for member_id, member in group.members.items():
            for owned in (member.current.assigned, member.current.revoking):
                for topic_id, partitions in owned.items():
                    for partition in partitions:
                        assert owners.setdefault((topic_id, partition), member_id) == member_id, "two owners"
        assert owners == {
            (topic, number): name for topic, each in group.owners.items() for number, name in each.items()
        }
        assert group.target_epoch <= group.epoch
        assert all(member.current.epoch <= group.target_epoch for member in group.members.values())
        assert group.targets.keys() <= group.members.keys(), "target of an unknown member"


def vote_alike(group: ConsumerGroup | None, members: Iterable[ConsumerMember]) -> None:
    """Let all members with a vote vote for one assignor in their next heartbeat.

    That ends a tie, in which each heartbeat of an assignor's only voter raises the group epoch (`changes_assignor`).
    A classic member keeps the vote of the static member that it has replaced or replaces later, so the others vote
    like it.
    """
    members = list(members)
    instances = {member.instance for member in members}
    kept = [
        member.metadata.assignor
        for member in (() if group is None else group.members.values())
        if member.metadata.assignor and (member.is_classic or member.metadata.instance_id not in {None, *instances})
    ]
    for member in members:
        if member.assignor:
            member.assignor, member.is_full = kept[0] if kept else "range", True


def left_to_nobody(group: ConsumerGroup, partitions: set[tuple[UUID, int]]) -> set[tuple[UUID, int]]:
    """Return the partitions that Kafka, too, leaves without an owner until the group's next epoch.

    These are partitions assigned to a new member that does not subscribe to the topic (consumer-groups §10 rule 4), and
    partitions without an owner when the group became a consumer group, if that did not change the epoch: no target was
    computed then (consumer-groups §17.2 rule 5).
    """
    has_target = {
        (topic_id, number): topic_id in group.topic_ids(member.metadata)
        for member_id, member in group.members.items()
        for topic_id, numbers in group.target_of(member_id).items()
        for number in numbers
    }
    never_computed = not group.target_timestamp_ms
    return {at for at in partitions if (never_computed if at not in has_target else not has_target[at])}


def may_be_forgotten(coordinator: GroupCoordinator, state: dict[str, Any] | None) -> bool:
    """Return whether the group may exist only in the log.

    That is the case if a request was rejected while the group was empty (consumer-groups §17.1).
    """
    return coordinator.forgotten is not None and state is not None and not state["members"]


def outdated_in_log(coordinator: GroupCoordinator, state: dict[str, Any] | None) -> set[str]:
    """Return the parts of a group's state for which the log may have a hidden group's records (consumer-groups §17.1).

    A new group writes its epochs when they change. Until then, the log has those of the hidden group with its id.
    """
    if coordinator.forgotten is None or state is None or "epoch" not in state:
        return set()
    parts = {"hash", "epoch"} if state["epoch"] == FIRST_EPOCH else set()
    return parts | ({"target epoch", "state", "counts"} if state["target epoch"][0] == FIRST_EPOCH else set())


def picture(coordinator: GroupCoordinator) -> dict[str, Any]:
    """Return the state that the log must contain, by group id; None for a classic group during a rebalance."""
    groups: dict[str, Any] = {}
    for group in coordinator.of_type("consumer"):
        groups[group.group_id] = {
            "epoch": group.epoch,
            "hash": group.metadata_hash,
            "target epoch": (group.target_epoch, group.target_timestamp_ms),
            "members": {name: (each.metadata, each.current) for name, each in group.members.items()},
            "targets": {name: {t: p for t, p in each.items() if p} for name, each in group.targets.items()},
            "regexes": dict(group.regexes),
            "owners": {topic_id: dict(owners) for topic_id, owners in group.owners.items()},
            "static": dict(group.static_members),
            "state": group.state,
            "counts": (group.names, group.regex_counts, group.assignors, group.classic_count, group.settled),
        }
    for classic in coordinator.of_type("classic"):
        group_id = classic.group_id
        if classic.state.value == "Stable":
            members = {name: (each.group_instance_id, each.assignment) for name, each in classic.members.items()}
            groups[group_id] = {"generation": classic.generation_id, "members": members}
        elif classic.state.value == "Empty" and not classic.pending_joins:
            groups[group_id] = {"generation": classic.generation_id, "members": {}}
        else:
            groups[group_id] = None
    return groups
