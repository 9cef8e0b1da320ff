"""State that the groups of all newer protocols share: members, epochs and a target (Kafka's `ModernGroup`).

`apply` applies one record, both when it is written and when a log is replayed. Nothing else changes the state.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

from mypy_extensions import mypyc_attr

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.groups.group import Group
from kohort.coordinator.modern.modern_member import ModernMember
from kohort.coordinator.modern.modern_values import Change, GroupEpoch, Record, TargetEpoch
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.events.event_state import EpochEventState
    from kohort.coordinator.modern.group_changes import GroupChanges
    from kohort.coordinator.modern.modern_host import ModernHost
    from kohort.coordinator.modern.preparation import Preparation

FIRST_EPOCH = 1  # group epoch and target epoch before any record was written (Kafka 4.3)


@mypyc_attr(allow_interpreted_subclasses=True)
class ModernGroup(Group):
    """Base class of these groups, independent of the protocol."""

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

    epoch_kind: ClassVar[IntEnum]  # type of the record that holds the group epoch
    target_epoch_kind: ClassVar[IntEnum]  # type of the record that holds the epoch of the target

    def __init__(self, coordinator: "ModernHost", group_id: str, partition: int) -> None:
        super().__init__(group_id, partition)
        self.coordinator = coordinator
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.target_epoch = FIRST_EPOCH
        # Wall clock at the end of the last computation; 0 if the next one may run at any time.
        self.target_timestamp_ms = 0
        self.members: dict[str, Any] = {}  # by member ID; the protocol defines their class
        # Version of the topics when the group last checked its own; None if it must check again.
        self.checked_version: int | None = None
        self.most_members = 0  # maximum number of members so far: it determines Kafka's iteration order
        self.event_state: EpochEventState | None = None  # state that the event source keeps for the group
        self.preparation: Preparation | None = None  # target that is being computed in the background

    @property
    def state(self) -> Enum:
        """State derived from members and epochs; its value is the name in responses."""
        raise NotImplementedError

    @property
    def state_name(self) -> str:
        return str(self.state.value)

    @property
    def is_there(self) -> bool:
        """Whether this is the current group of its ID: neither deleted, nor undone, nor on another coordinator."""
        return self.coordinator.groups.get(self.group_id) is self

    def appear(self) -> None:
        self.coordinator.groups[self.group_id] = self

    def vanish(self) -> None:
        self.coordinator.remove(self)

    def subscribed_names(self) -> Iterable[str]:
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def version(self) -> int:
        return self.epoch

    def refuses_delete(self) -> ErrorCode:
        return ErrorCode.non_empty_group if self.members else ErrorCode.none

    # Records

    def apply(self, change: Change) -> object:
        """Apply a record and return the value that it replaces, or None."""
        raise NotImplementedError

    def record_of(self, change: Change) -> Record:
        raise NotImplementedError

    def _set_epoch(self, value: GroupEpoch | None) -> GroupEpoch:
        old_epoch = GroupEpoch(self.epoch, self.metadata_hash)
        self.epoch, self.metadata_hash = value or GroupEpoch(FIRST_EPOCH)
        return old_epoch

    def _set_target_epoch(self, value: TargetEpoch | None) -> TargetEpoch:
        old_epoch = TargetEpoch(self.target_epoch, self.target_timestamp_ms)
        self.target_epoch, self.target_timestamp_ms = value or TargetEpoch(-1)
        return old_epoch

    # Hooks of a batch of changes

    def changed(self, changes: "GroupChanges", cause: Cause) -> OnWritten | None:
        """Prepare for changes that are about to be written; return a callback for the result of the write."""
        return None

    def taken_back(self, old_members: Mapping[str, ModernMember], now_ms: int) -> None:
        """Restore the timers after changes were undone.

        Args:
            old_members: Members before the changes were undone.
        """
        raise NotImplementedError

    # Duration of an assignor, if there is an observer

    def measured_from_us(self) -> int | None:
        return None

    def measured_us(self, began_us: int | None) -> int:
        return 0


def add_to(counter: Counter[str], name: str, by: int) -> None:
    """Add `by` to a count; remove it from the counter when it reaches zero."""
    counter[name] += by
    if not counter[name]:
        del counter[name]


def set_value(values: dict[str, Any], name: str, value: Any) -> Any:
    """Store a value, or delete the entry for None; return the previous value."""
    if value is None:
        return values.pop(name, None)
    old_value = values.get(name)
    values[name] = value
    return old_value
