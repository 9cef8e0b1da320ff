"""DescribeGroups and ListGroups (classic-groups §8.1, §8.2; consumer-groups §16.2, §16.3)."""

from collections.abc import Generator, Iterable, Set

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.states import CLASSIC, State
from kohort.coordinator.context import Shard
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.group_placement import java_hash
from kohort.coordinator.java_order import hash_of_partition, in_map_order, in_table_order
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from kohort.protocol.messages.list_groups import ListedGroup


def describe_group(coordinator: GroupCoordinator, group_id: str) -> DescribedGroup:
    """One group with its members. GROUP_ID_NOT_FOUND: there is none; which versions say so is the API file's matter."""
    group = coordinator.groups.get(group_id)
    if group is not None:
        return _described(group)
    error = coordinator.availability(group_id)
    if error is ErrorCode.none:
        what = "not found" if coordinator.described_group(group_id) is None else "is not a classic group"
        return _missing(group_id, ErrorCode.group_id_not_found, f"Group {group_id} {what}.", State.DEAD.value)
    return _missing(group_id, error, None, "")


def as_answered(coordinator: GroupCoordinator, group_ids: Iterable[str]) -> Generator[None, None, list[str]]:
    """Sort groups in the order in which Kafka describes them: by their partition of the offsets topic, then as asked.

    Yields after each group.

    Partitions come as Java's hash map has them (Kafka: `GroupCoordinatorService.describeGroups`). Its `computeIfAbsent`
    puts a new one before the others of its bucket.
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
    """The groups that this node coordinates, by their partition of the offsets topic, as Kafka walks these.

    While one partition is loading: COORDINATOR_LOAD_IN_PROGRESS.
    """
    if Shard.LOADING in coordinator.shards.values():
        return ErrorCode.coordinator_load_in_progress
    shards = in_map_order(sorted(coordinator.shards), _hash_of_partition, concurrent=True)
    found: dict[int, list[ClassicGroup | ModernGroup]] = {partition: [] for partition in shards}
    for group in coordinator.groups.values():
        found[group.partition].append(group)
    for modern in coordinator.modern_groups():
        found[modern.partition].append(modern)
    for forgotten in () if coordinator.forgotten is None else coordinator.forgotten.all_shown():
        found[forgotten.partition].append(forgotten)
    return list(found.values())


def to_list(
    groups: Iterable[ClassicGroup | ModernGroup], states: Set[str], types: Set[str]
) -> list[ClassicGroup | ModernGroup]:
    """Return the groups of one partition that are in these states and of these types; all if none are given.

    States and types are in lower case, states without blanks; a name that does not exist matches nothing. Groups are
    in the order of a Kafka table of their number; one that has been larger keeps its size there, but not here.
    """
    return [
        group
        for group in in_table_order(groups, _hash_of_id)
        if (not types or _type_of(group) in types) and (not states or _spelling(group) in states)
    ]


def _hash_of_id(group: ClassicGroup | ModernGroup) -> int:
    return java_hash(group.group_id)


def _spelling(group: ClassicGroup | ModernGroup) -> str:
    """Its state as filters spell it: NotReady, which only groups of the newer protocols are, as not_ready."""
    return group.state.name.lower() if isinstance(group, ModernGroup) else group.state.value.lower()


def _type_of(group: ClassicGroup | ModernGroup) -> str:
    return group.group_type if isinstance(group, ModernGroup) else CLASSIC


def listed(group: ClassicGroup | ModernGroup) -> ListedGroup:
    """A group as a list of groups names it."""
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
    kind = group.group_type
    return ListedGroup(group_id=group.group_id, protocol_type=kind, group_state=group.state.value, group_type=kind)


def _described(group: ClassicGroup) -> DescribedGroup:
    """Metadata only while the group is stable; shares are shown as they are stored, old ones too."""
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
