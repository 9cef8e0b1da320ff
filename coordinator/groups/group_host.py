"""The interface that groups of all types need from their coordinator."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator_settings import GroupSettings
from kohort.coordinator.effects import Cause, Effect
from kohort.coordinator.groups.group import Group
from kohort.coordinator.groups.observer import ClassicGroup, Observer
from kohort.coordinator.topic_info import TopicView
from kohort.protocol.batches import EncodedRecords
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation, Purgatory

if TYPE_CHECKING:
    from kohort.coordinator.share.persister import Persister


class GroupHost(Protocol):
    """The parts of `GroupCoordinator` that groups use."""

    settings: GroupSettings
    groups: dict[str, Group]  # of all types, by id
    configs: dict[str, Callable[[str], Any]]  # returns the settings of a group by its id, for each group type
    observer: Observer
    topics: TopicView
    purgatory: Purgatory
    background: deque[DelayedOperation]  # background work in the order of its turns
    new_uuid: Callable[[], str]
    effects: list[Effect]
    unwritten: dict[str, Any]  # `WriteQueue` by group id, also of groups that have changed their type meanwhile
    appended_offset: int | None
    share_persister: "Callable[[], Persister]"
    topology_descriptions: Any  # `TopologyDescriptions` of streams groups, or None without a plugin

    def wall_ms(self, now_ms: int) -> int: ...

    def remove(self, group: Group) -> None: ...

    def create_group(self, group_id: str, now_ms: int) -> ClassicGroup: ...

    def append(
        self,
        partition: int,
        records: EncodedRecords,
        now_ms: int,
        on_written: OnWritten | None = None,
        producer: tuple[int, int] | None = None,
        group_id: str | None = None,
    ) -> int:
        """Request a write of records. Return the token of the `Append`.

        Args:
            group_id: The records are written after the unfinished writes of this group, and fail with them.
        """
        ...

    def after(self, token: int, on_written: OnWritten) -> None:
        """Call `on_written`, too, when the result of the write with that token is reported."""
        ...

    def conclude(self, token: int, error: ErrorCode, now_ms: int) -> None:
        """Report the result of the write with that token."""
        ...

    # Conversions to a classic group. The types are `ConsumerGroup` and its parts; importing them would be circular.

    def downgrade_if_classic(
        self, group: Any, changes: Any, cause: Cause, now_ms: int, on_written: OnWritten, leaving: Iterable[Any]
    ) -> bool:
        """Convert a group to the classic protocol if only classic members are left; return whether that is the case."""
        ...

    def may_downgrade_without(self, group: Any, replaced: Any) -> bool:
        """Return whether only classic members are left when one of them replaces this member."""
        ...

    def downgrade_after_replacing(
        self,
        group: Any,
        changes: Any,
        cause: Cause,
        now_ms: int,
        on_written: OnWritten,
        *,
        generation_id: int,
        rebalance: bool,
    ) -> None: ...
