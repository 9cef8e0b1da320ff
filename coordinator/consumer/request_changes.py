"""The changes that one request makes to a consumer group, which can include a conversion."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kohort.coordinator.modern.group_changes import GroupChanges

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.coordinator.consumer.consumer_member import ConsumerMember


class Conversion(NamedTuple):
    """A change of a group's protocol, for the event source."""

    classic: "ClassicGroup"  # the classic group before or after the conversion
    from_protocol: str
    to_protocol: str
    members: int
    carried_over: int  # number of changes that only repeat the previous state


class ChangeSet(GroupChanges):
    """The records of one request, in order."""

    __slots__ = ("converts", "leaving")

    def __init__(self, group: "ConsumerGroup") -> None:
        super().__init__(group)
        self.converts: Conversion | None = None
        # Members that are removed by the conversion, without a change of their own.
        self.leaving: Iterable[ConsumerMember] = ()
