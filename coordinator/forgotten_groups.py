"""Groups without members that a refused join took away, and that the log still has (consumer-groups §17.1).

Kafka forgets such a group in memory and writes nothing. Whoever only reads sees it until something else is written to
its partition, and the next group of its id has its offsets. After a restart its records make it anew.
"""

from collections.abc import Iterator

from kohort.coordinator.group import Group
from kohort.coordinator.modern.modern_group import ModernGroup


class ForgottenGroups:
    """Those of one node, by id."""

    __slots__ = ("_groups", "_shown")

    def __init__(self) -> None:
        self._groups: dict[str, ModernGroup] = {}
        self._shown: dict[int, list[str]] = {}
        """Ids of those that are still seen, by partition of `__consumer_offsets`."""

    def forget(self, group: ModernGroup) -> None:
        """A group that is there no more."""
        group.vanish()
        self._groups[group.group_id] = group
        self._shown.setdefault(group.partition, []).append(group.group_id)

    def shown(self, group_id: str) -> ModernGroup | None:
        """The group of that id, if nothing was written to its partition since it was forgotten."""
        group = self._groups.get(group_id)
        return group if group is not None and group_id in self._shown.get(group.partition, ()) else None

    def all_shown(self) -> Iterator[ModernGroup]:
        """Those that are still seen."""
        return (self._groups[group_id] for ids in self._shown.values() for group_id in ids)

    def with_offsets(self) -> Iterator[ModernGroup]:
        """Those that have committed something."""
        return (group for group in self._groups.values() if group.offsets)

    def bequeath(self, group: Group) -> None:
        """Gives a new group the offsets of the one that had its id; what becomes of them is so for both."""
        before = self._groups.get(group.group_id)
        if before is not None:
            group.offsets = before.offsets

    def written(self, partition: int) -> None:
        """Something is written to a partition: its groups are not seen any more. Of some only the offsets are kept."""
        for group_id in self._shown.pop(partition, ()):
            group = self._groups.get(group_id)
            if group is not None and not group.offsets:
                del self._groups[group_id]

    def unload(self, partition: int) -> None:
        """Another node reads the log of a partition now."""
        self._shown.pop(partition, None)
        for group in [each for each in self._groups.values() if each.partition == partition]:
            del self._groups[group.group_id]
