"""A group of a newer protocol whose members subscribe to topics and are assigned partitions."""

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
    """State that consumer groups and share groups have, but streams groups don't."""

    __slots__ = ("names", "targets")

    def __init__(self, coordinator: "ModernHost", group_id: str, partition: int) -> None:
        super().__init__(coordinator, group_id, partition)
        self.targets: dict[str, Target] = {}
        self.names: Counter[str] = Counter()  # number of subscribers by topic name

    def target_of(self, member_id: str) -> Target:
        return self.targets.get(member_id, NO_TARGET)

    def subscribed_names(self) -> Iterable[str]:
        return self.names

    def _count_names(self, names: Iterable[str], by: int) -> None:
        for name in names:
            add_to(self.names, name, by)
