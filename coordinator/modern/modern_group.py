"""What a group of any newer protocol is: members, epochs, a target (Kafka: `ModernGroup`).

`apply` takes over one record, when it is written as well as when a log is replayed. Nothing else changes the state.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

from mypy_extensions import mypyc_attr

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.group import Group
from kohort.coordinator.modern.modern_member import ModernMember
from kohort.coordinator.modern.modern_values import Change, GroupEpoch, Record, TargetEpoch
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.events.event_state import EpochEventState
    from kohort.coordinator.modern.group_changes import GroupChanges
    from kohort.coordinator.modern.modern_host import ModernHost
    from kohort.coordinator.modern.preparation import Preparation

FIRST_EPOCH = 1
"""The group epoch and target epoch of a group before anything was written (Kafka 4.3)."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ModernGroup(Group):
    """The part that does not depend on the protocol."""

    __slots__ = (
        "checked_version",
        "coordinator",
        "epoch",
        "event_state",
        "members",
        "metadata_hash",
        "most_members",
        "preparation",
        "target_epoch",
        "target_timestamp_ms",
    )

    epoch_kind: ClassVar[IntEnum]
    """The kind of record that says the group's epoch."""
    group_type: ClassVar[str]
    """The name of its kind, which is that of its protocol, too."""

    def __init__(self, coordinator: "ModernHost", group_id: str, partition: int) -> None:
        super().__init__(group_id, partition)
        self.coordinator = coordinator
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.target_epoch = FIRST_EPOCH
        self.target_timestamp_ms = 0
        """Wall clock at the end of the last computation; 0: the next one need not wait."""
        self.members: dict[str, Any] = {}
        """By id; of which class is its protocol's matter."""
        self.checked_version: int | None = None
        """The version of the topics when the group last looked at its own; None: it must look again."""
        self.most_members = 0
        """How many there have been at one time, which decides in which order Kafka walks over them."""
        self.event_state: EpochEventState | None = None
        """What somebody who listens has to remember of it."""
        self.preparation: Preparation | None = None
        """A target that is computed beside heartbeats."""

    @property
    def state(self) -> Enum:
        """Follows from members and epochs; its value is the name that clients are told."""
        raise NotImplementedError

    @property
    def siblings(self) -> dict[str, Any]:
        """Its coordinator's groups of its kind, by id."""
        raise NotImplementedError

    @property
    def is_there(self) -> bool:
        """Whether it is the group of its id now: neither deleted, nor taken back, nor with another coordinator."""
        return self.siblings.get(self.group_id) is self

    def appear(self) -> None:
        """It is the group of its id from now on."""
        self.siblings[self.group_id] = self

    def vanish(self) -> None:
        """It was never written, is deleted, has become a group of another kind, or has another coordinator now."""
        if self.is_there:
            del self.siblings[self.group_id]

    def subscribed_names(self) -> Iterable[str]:
        """The topics that its epoch depends on."""
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not self.members

    @property
    def version(self) -> int:
        """Its epoch."""
        return self.epoch

    def refuses_delete(self) -> ErrorCode:
        """NON_EMPTY_GROUP while it has members."""
        return ErrorCode.non_empty_group if self.members else ErrorCode.none

    # What records do

    def apply(self, change: Change) -> object:
        """Takes over a record. Returns the value that it replaces; None: there was none."""
        raise NotImplementedError

    def record_of(self, change: Change) -> Record:
        """The record that says a change."""
        raise NotImplementedError

    def _set_epoch(self, value: GroupEpoch | None) -> GroupEpoch:
        before = GroupEpoch(self.epoch, self.metadata_hash)
        self.epoch, self.metadata_hash = value or GroupEpoch(FIRST_EPOCH)
        return before

    def _set_target_epoch(self, value: TargetEpoch | None) -> TargetEpoch:
        before = TargetEpoch(self.target_epoch, self.target_timestamp_ms)
        self.target_epoch, self.target_timestamp_ms = value or TargetEpoch(-1)
        return before

    # What follows a batch of changes

    def changed(self, changes: "GroupChanges", cause: Cause) -> OnWritten | None:
        """Hears that changes are about to be written. What is returned is called when they are, or cannot be."""
        return None

    def taken_back(self, before: Mapping[str, ModernMember], now_ms: int) -> None:
        """Hears that changes were taken back: members have the timers that they would have without them.

        `before`: those there were until then.
        """
        raise NotImplementedError

    # How long an assignor takes, if somebody listens

    def measured_from_us(self) -> int | None:
        """Where a measurement begins; None: nobody listens."""
        return None

    def measured_us(self, began_us: int | None) -> int:
        """Microseconds since then."""
        return 0


def add_to(counter: Counter[str], name: str, by: int) -> None:
    """Counts a name; one that nobody has is not in the counter."""
    counter[name] += by
    if not counter[name]:
        del counter[name]


def set_value(values: dict[str, Any], name: str, value: Any) -> Any:
    """Takes a value over, or forgets the one there was if it is None. Returns the one there was."""
    if value is None:
        return values.pop(name, None)
    before = values.get(name)
    values[name] = value
    return before
