"""A group of a newer protocol whose members subscribe to topics, and are given partitions of them."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mypy_extensions import mypyc_attr

from kohort.coordinator.modern.modern_group import ModernGroup, add_to
from kohort.coordinator.modern.modern_values import NO_TARGET, Target

if TYPE_CHECKING:
    from kohort.coordinator.modern.modern_host import ModernHost


@mypyc_attr(allow_interpreted_subclasses=True)
class SubscribingGroup(ModernGroup):
    """What consumer groups and share groups have in common, and streams groups have not."""

    __slots__ = ("names", "targets")

    def __init__(self, coordinator: "ModernHost", group_id: str, partition: int) -> None:
        super().__init__(coordinator, group_id, partition)
        self.targets: dict[str, Target] = {}
        self.names: Counter[str] = Counter()
        """How many members name a topic."""

    def target_of(self, member_id: str) -> Target:
        """What a member is to have; nothing for one that the target does not name."""
        return self.targets.get(member_id, NO_TARGET)

    def subscribed_names(self) -> Iterable[str]:
        """The topics that somebody subscribes to."""
        return self.names

    def _count_names(self, names: Iterable[str], by: int) -> None:
        for name in names:
            add_to(self.names, name, by)
