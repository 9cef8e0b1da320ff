"""Groups without members that a rejected join has hidden, and that are still in the log (consumer-groups §17.1).

Kafka removes such a group from memory and writes nothing. Requests that only read see it until the next write to its
partition, and the next group with its id gets its offsets. After a restart it is restored from its records.
"""

from collections.abc import Iterator

from kohort.coordinator.groups.group import Group
from kohort.coordinator.modern.modern_group import ModernGroup


class ForgottenGroups:
    """The hidden groups of a node, by id."""

    __slots__ = ("_groups", "_visible_ids")

    def __init__(self) -> None:
        self._groups: dict[str, ModernGroup] = {}
        # Ids of groups that are still visible, by partition of `__consumer_offsets`.
        self._visible_ids: dict[int, list[str]] = {}

    def forget(self, group: ModernGroup) -> None:
        """Hide a group."""
        group.vanish()
        self._groups[group.group_id] = group
        self._visible_ids.setdefault(group.partition, []).append(group.group_id)

    def find_visible(self, group_id: str) -> ModernGroup | None:
        """Return the group if nothing was written to its partition since it was hidden."""
        group = self._groups.get(group_id)
        return group if group is not None and group_id in self._visible_ids.get(group.partition, ()) else None

    def find_all_visible(self) -> Iterator[ModernGroup]:
        return (self._groups[group_id] for ids in self._visible_ids.values() for group_id in ids)

    def with_offsets(self) -> Iterator[ModernGroup]:
        return (group for group in self._groups.values() if group.offsets)

    def hand_over_offsets(self, group: Group) -> None:
        """Give a new group the offsets of the hidden group with its id. Both share them from now on."""
        old_group = self._groups.get(group.group_id)
        if old_group is not None:
            group.offsets = old_group.offsets

    def written(self, partition: int) -> None:
        """Hide the groups of a partition that was written to, and drop those without offsets."""
        for group_id in self._visible_ids.pop(partition, ()):
            group = self._groups.get(group_id)
            if group is not None and not group.offsets:
                del self._groups[group_id]

    def unload(self, partition: int) -> None:
        self._visible_ids.pop(partition, None)
        for group in [hidden for hidden in self._groups.values() if hidden.partition == partition]:
            del self._groups[group.group_id]
