"""Interface of the coordinator for consumer groups."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.modern_host import ModernHost

if TYPE_CHECKING:
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.coordinator.consumer.consumer_member import ConsumerMember
    from kohort.coordinator.consumer.consumer_observer import ConsumerObserver
    from kohort.coordinator.modern.group_changes import GroupChanges


class ConsumerConfig(NamedTuple):
    """Settings that can be configured per group."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000


class ConsumerHost(ModernHost, Protocol):
    """The parts of `GroupCoordinator` that consumer groups use."""

    consumer_config: Callable[[str], ConsumerConfig]  # returns the settings of a group by its ID
    consumer_observer: "ConsumerObserver"

    def resume_timers(
        self, group: "ConsumerGroup", old_members: "Mapping[str, ConsumerMember]", now_ms: int
    ) -> None: ...

    def downgrade_if_classic(
        self,
        group: "ConsumerGroup",
        changes: "GroupChanges",
        cause: Cause,
        now_ms: int,
        on_written: OnWritten,
        leaving: "Iterable[ConsumerMember]",
    ) -> bool:
        """Convert a group to the classic protocol if only classic members are left; return whether it was converted."""
        ...

    def may_downgrade_without(self, group: "ConsumerGroup", replaced: "ConsumerMember") -> bool:
        """Return whether only classic members are left when one of them replaces this member."""
        ...

    def downgrade_after_replacing(
        self,
        group: "ConsumerGroup",
        changes: "GroupChanges",
        cause: Cause,
        now_ms: int,
        on_written: OnWritten,
        *,
        generation_id: int,
        rebalance: bool,
    ) -> bool: ...
