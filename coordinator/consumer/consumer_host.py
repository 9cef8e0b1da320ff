"""What a consumer group asks of its coordinator."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.modern_host import ModernHost

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.coordinator.consumer.consumer_member import ConsumerMember
    from kohort.coordinator.consumer.consumer_observer import ConsumerObserver
    from kohort.coordinator.modern.group_changes import GroupChanges


class ConsumerConfig(NamedTuple):
    """Settings that a single group may have; lengths in milliseconds."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000


class ConsumerHost(ModernHost, Protocol):
    """Met by `GroupCoordinator`."""

    consumer_groups: "dict[str, ConsumerGroup]"
    groups: "dict[str, ClassicGroup]"
    consumer_config: Callable[[str], ConsumerConfig]
    """The settings of a group, by its id."""
    consumer_observer: "ConsumerObserver"

    def resume_timers(self, group: "ConsumerGroup", before: "Mapping[str, ConsumerMember]", now_ms: int) -> None:
        """Members have the timers that they would have without what was taken back; see rollback.py."""
        ...

    def downgrade_if_classic(
        self,
        group: "ConsumerGroup",
        changes: "GroupChanges",
        cause: Cause,
        now_ms: int,
        on_written: OnWritten,
        leaving: "Iterable[ConsumerMember]",
    ) -> bool:
        """Makes a group classic if only classic members are left; see group_conversion.py."""
        ...

    def may_downgrade_without(self, group: "ConsumerGroup", replaced: "ConsumerMember") -> bool:
        """Whether only classic members are left when one of them replaces this member; see group_conversion.py."""
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
    ) -> bool:
        """Makes a group classic whose last consumer member was replaced; see group_conversion.py."""
        ...
