"""What one request changes in a consumer group, which may be the group's protocol, too."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kohort.coordinator.modern.group_changes import GroupChanges

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.coordinator.consumer.consumer_member import ConsumerMember


class Conversion(NamedTuple):
    """A group that changes its protocol with a batch, for whoever makes events of it."""

    classic: "ClassicGroup"
    """What it was before, or is from now on."""
    from_protocol: str
    to_protocol: str
    members: int
    carried_over: int
    """How many changes only say what was so before."""


class ChangeSet(GroupChanges):
    """The records of one request, in order."""

    __slots__ = ("converts", "leaving")

    def __init__(self, group: "ConsumerGroup") -> None:
        super().__init__(group)
        self.converts: Conversion | None = None
        self.leaving: Iterable[ConsumerMember] = ()
        """Members that go with the group's protocol, so that no change says it."""
