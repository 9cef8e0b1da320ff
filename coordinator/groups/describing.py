"""DescribeGroups and ListGroups (classic-groups §8.1, §8.2; consumer-groups §16.2, §16.3)."""

from collections.abc import Generator, Iterable, Set
from typing import Any

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.states import State
from kohort.coordinator.context import Shard
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.groups.group import CLASSIC
from kohort.coordinator.groups.group_placement import java_hash
from kohort.coordinator.java_order import hash_of_partition, in_map_order, in_table_order
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from kohort.protocol.messages.list_groups import ListedGroup


def describe_group(coordinator: GroupCoordinator, group_id: str) -> DescribedGroup:
    """Return a group with its members. If it does not exist, the API maps GROUP_ID_NOT_FOUND by version."""
    group = coordinator.classic_group(group_id)
    if group is not None:
        return _described(group)
    error = coordinator.availability(group_id)
    if error is ErrorCode.none:
        reason = "not found" if coordinator.described_group(group_id) is None else "is not a classic group"
        return _missing(group_id, ErrorCode.group_id_not_found, f"Group {group_id} {reason}.", State.DEAD.value)
    return _missing(group_id, error, None, "")


def as_answered(coordinator: GroupCoordinator, group_ids: Iterable[str]) -> Generator[None, None, list[str]]:
    """Sort groups in the order in which Kafka describes them: by partition of the offsets topic, then as requested.

    Yields after each group. Partitions are in the order of a Java HashMap (Kafka:
    `GroupCoordinatorService.describeGroups`), whose `computeIfAbsent` inserts a new one before the others of its
    bucket.
    """
    by_partition: dict[int, list[str]] = {}
    for group_id in group_ids:
        by_partition.setdefault(coordinator.partition_of(group_id), []).append(group_id)
        yield
    ordered = in_map_order(reversed(by_partition), _hash_of_partition)
    return [group_id for partition in ordered for group_id in by_partition[partition]]


_TOPIC_HASH = java_hash(OFFSETS_TOPIC)


def _hash_of_partition(partition: int) -> int:
    return hash_of_partition(_TOPIC_HASH, partition)


def groups_by_partition(coordinator: GroupCoordinator) -> list[list[ClassicGroup | ModernGroup]] | ErrorCode:
    """Return the groups of this node by partition of the offsets topic, in Kafka's order of iteration.

    While a partition is loading, the result is COORDINATOR_LOAD_IN_PROGRESS.
    """
    if Shard.LOADING in coordinator.shards.values():
        return ErrorCode.coordinator_load_in_progress
    shards = in_map_order(sorted(coordinator.shards), _hash_of_partition, concurrent=True)
    groups: dict[int, list[Any]] = {partition: [] for partition in shards}
    for group in coordinator.groups.values():
        groups[group.partition].append(group)
    for hidden in () if coordinator.forgotten is None else coordinator.forgotten.find_all_visible():
        groups[hidden.partition].append(hidden)
    return list(groups.values())


def to_list(
    groups: Iterable[ClassicGroup | ModernGroup], states: Set[str], types: Set[str]
) -> list[ClassicGroup | ModernGroup]:
    """Return the groups of a partition in these states and of these types. Empty filters match every group.

    States and types are in lower case, states without blanks; an unknown name matches nothing. The groups are in the
    order of a Kafka table of their number; a table that has been larger keeps its size in Kafka, but not here.
    """
    return [
        group
        for group in in_table_order(groups, _hash_of_id)
        if (not types or group.group_type in types) and (not states or _spelling(group) in states)
    ]


def _hash_of_id(group: ClassicGroup | ModernGroup) -> int:
    return java_hash(group.group_id)


def _spelling(group: ClassicGroup | ModernGroup) -> str:
    """Return the state as written in filters: NotReady, a state of the newer protocols, is not_ready there."""
    return group.state.name.lower() if isinstance(group, ModernGroup) else group.state.value.lower()


def listed(group: ClassicGroup | ModernGroup) -> ListedGroup:
    if isinstance(group, ModernGroup):
        return _listed_modern(group)
    return _listed_classic(group)


def _listed_classic(group: ClassicGroup) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state.value,
        group_type=CLASSIC,
    )


def _listed_modern(group: ModernGroup) -> ListedGroup:
    group_type = group.group_type
    return ListedGroup(
        group_id=group.group_id, protocol_type=group_type, group_state=group.state.value, group_type=group_type
    )


def _described(group: ClassicGroup) -> DescribedGroup:
    """Return the group with its metadata, if it is stable, and the stored assignments, even if they are obsolete."""
    stable = group.state is State.STABLE
    return DescribedGroup(
        error_code=ErrorCode.none,
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if stable else "",
        members=tuple(
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol_name) if stable else b"",
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ),
    )


def _missing(group_id: str, error: ErrorCode, message: str | None, state: str) -> DescribedGroup:
    return DescribedGroup(
        error_code=error,
        error_message=message,
        group_id=group_id,
        group_state=state,
        protocol_type="",
        protocol_data="",
        members=(),
    )
