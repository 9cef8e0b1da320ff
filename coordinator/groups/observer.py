"""Interface through which a coordinator reports changes of groups of all types. No decision depends on it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mypy_extensions import mypyc_attr

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.groups.group import Group
    from kohort.coordinator.shared_values import Protocols

# The classes of this name. Importing them would be circular, because groups report to their coordinator's observer.
ClassicGroup: TypeAlias = Any
Member: TypeAlias = Any
GroupChanges: TypeAlias = Any


@mypyc_attr(allow_interpreted_subclasses=True)
class Observer:
    """Observer that does nothing, used when no events are needed. `event_tracer.py` has one that creates events."""

    # Members

    def member_id_issued(self, group: ClassicGroup, member_id: str, ticket: object) -> None:
        """Report that a new client was sent back to join with this id (KIP-394)."""

    def member_added(self, group: ClassicGroup, member: Member, cause: Cause, ticket: object) -> None:
        pass

    def member_rejoined(self, group: ClassicGroup, member: Member, reason: str) -> None:
        pass

    def member_replaced(
        self, group: ClassicGroup, member: Member, old_id: str, rebalance: bool, ticket: object, reason: str
    ) -> None:
        pass

    def metadata_changed(self, group: ClassicGroup, member: Member, protocols: "Protocols", timeouts: bool) -> None:
        """Report the protocols of a member that joins again. Called before they replace the old ones.

        Args:
            timeouts: Whether the member changes one of its timeouts, too.
        """

    def member_removed(
        self, group: ClassicGroup, member: Member, cause: str, reason: str = "", *, has_joined: bool = False
    ) -> None:
        pass

    def member_fenced(self, group: ClassicGroup, member_id: str, instance_id: str) -> None:
        """Report a request with an instance id that now belongs to another member."""

    def member_id_discarded(self, group: ClassicGroup, member_id: str) -> None:
        """Report that a client has not joined with the member id issued to it; the group waited for it (KIP-394)."""

    # Rebalances

    def rebalance_started(self, group: ClassicGroup, cause: Cause) -> None:
        pass

    def barrier_raised(self, group: ClassicGroup, timeout_ms: int, now_ms: int) -> None:
        """Report that the group waits for members to join, for at most `timeout_ms`."""

    def join_completed(self, group: ClassicGroup, missing: Collection[Member], timeout_ms: int) -> None:
        pass

    def assignment_received(
        self, group: ClassicGroup, leader: Member, assignments: dict[str, bytes]
    ) -> Callable[[ErrorCode], None]:
        """Report the leader's SyncGroup. The returned function is called with the result of writing the assignment."""
        return _ignored

    def member_synced(self, group: ClassicGroup, member: Member) -> None:
        pass

    def sync_timeout(self, group: ClassicGroup, late_ids: list[str]) -> None:
        pass

    def rebalance_completed(self, group: ClassicGroup) -> None:
        pass

    def emptied(self, group: ClassicGroup) -> OnWritten | None:
        """Report that the group has no more members.

        The returned function is called with the result of writing its record.
        """
        return None

    def heartbeat_gap(self, group: ClassicGroup, member: Member, gap_ms: int) -> None:
        """Report that a member was silent for more than half of its session timeout."""

    # Groups of the newer protocols

    def changed(self, changes: GroupChanges, cause: Cause) -> OnWritten | None:
        """Report changes that are about to be written; return a callback for the result of the write."""
        return None

    def taken_back(self, group: "Group") -> None:
        """Report that changes, and all later ones that depend on them, were undone after a failed write."""

    def refused(
        self, group: "Group", member_id: str, instance_id: str | None, epoch: int, error: ErrorCode, ticket: object
    ) -> None:
        """Report a rejected heartbeat."""

    def heartbeat_received(self, group: "Group", member: Any, now_ms: int) -> None:
        """Report a heartbeat. Called only for members of consumer groups with `stats`."""

    # Groups of all types, their commits and their partitions

    def committed(self, group: "Group | None", member_id: str, partitions: int) -> None:
        """Report an accepted commit."""

    def commit_rejected(
        self, group: "Group", member_id: str, epoch: int, error: ErrorCode, ticket: object | None
    ) -> None:
        """Report a rejected commit. Commits of transactional producers are reported without a ticket.

        Args:
            epoch: Generation or member epoch of the commit.
        """

    def access_denied(self, group_id: str, ticket: object, detail: Mapping[str, str]) -> None:
        pass

    def group_created(self, group: ClassicGroup, cause: str | None = None) -> None:
        """Report a new classic group. Without a cause it has only offsets."""

    def group_gone(self, group: "Group", cause: str) -> None:
        """Report that a group was deleted, was replaced, or that its coordinator has moved."""

    def offsets_expired(self, group: "Group", partitions: int) -> None:
        """Report that expired offsets were deleted."""

    def measured_from_us(self) -> int | None:
        """Return the start time of a load, an unload or an assignor, or None if nothing is measured."""
        return None

    def measured_us(self, began_us: int | None) -> int:
        """Return the time since `measured_from_us`."""
        return 0

    def elected(self, partition: int, groups: Iterable["Group"], began_us: int | None) -> None:
        pass

    def resigned(self, partition: int, began_us: int | None) -> None:
        pass

    def stopping(self) -> None:
        pass


def _ignored(_: ErrorCode) -> None:
    pass


UNOBSERVED: Final = Observer()
