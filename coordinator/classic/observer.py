"""Interface through which a coordinator reports changes of classic groups. No group depends on it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.classic.classic_member import Member
    from kohort.coordinator.groups.group import Group
    from kohort.coordinator.shared_values import Protocols


@mypyc_attr(allow_interpreted_subclasses=True)
class Observer:
    """Observer that does nothing, used when no events are needed. `classic_event_source.py` creates events."""

    # Members

    def member_id_issued(self, group: "ClassicGroup", member_id: str, ticket: object) -> None:
        """Report that a new client was sent back to join with this id (KIP-394)."""

    def member_added(self, group: "ClassicGroup", member: "Member", cause: Cause, ticket: object) -> None:
        pass

    def member_rejoined(self, group: "ClassicGroup", member: "Member", reason: str) -> None:
        pass

    def member_replaced(
        self, group: "ClassicGroup", member: "Member", old_id: str, rebalance: bool, ticket: object, reason: str
    ) -> None:
        pass

    def metadata_changed(self, group: "ClassicGroup", member: "Member", protocols: "Protocols", timeouts: bool) -> None:
        """Report the protocols of a member that joins again. Called before they replace the old ones.

        Args:
            timeouts: Whether the member changes one of its timeouts, too.
        """

    def member_removed(
        self, group: "ClassicGroup", member: "Member", cause: str, reason: str = "", *, has_joined: bool = False
    ) -> None:
        pass

    def member_fenced(self, group: "ClassicGroup", member_id: str, instance_id: str) -> None:
        """Report a request with an instance id that now belongs to another member."""

    def member_id_discarded(self, group: "ClassicGroup", member_id: str) -> None:
        """Report that a client has not joined with the member id issued to it; the group waited for it (KIP-394)."""

    # Rebalances

    def rebalance_started(self, group: "ClassicGroup", cause: Cause) -> None:
        pass

    def barrier_raised(self, group: "ClassicGroup", timeout_ms: int, now_ms: int) -> None:
        """Report that the group waits for members to join, for at most `timeout_ms`."""

    def join_completed(self, group: "ClassicGroup", missing: Collection["Member"], timeout_ms: int) -> None:
        pass

    def assignment_received(
        self, group: "ClassicGroup", leader: "Member", assignments: dict[str, bytes]
    ) -> Callable[[ErrorCode], None]:
        """Report the leader's SyncGroup. The returned function is called with the result of writing the assignment."""
        return _ignored

    def member_synced(self, group: "ClassicGroup", member: "Member") -> None:
        pass

    def sync_timeout(self, group: "ClassicGroup", late: list[str]) -> None:
        pass

    def rebalance_completed(self, group: "ClassicGroup") -> None:
        pass

    def emptied(self, group: "ClassicGroup") -> OnWritten | None:
        """Report that the group has no more members.

        The returned function is called with the result of writing its record.
        """
        return None

    # Heartbeats and commits

    def heartbeat_gap(self, group: "ClassicGroup", member: "Member", gap_ms: int) -> None:
        """Report that a member was silent for more than half of its session timeout."""

    def committed(self, group: "ClassicGroup | None", member_id: str, partitions: int) -> None:
        pass

    def commit_rejected(
        self, group: "ClassicGroup", member_id: str, generation_id: int, error: ErrorCode, ticket: object | None
    ) -> None:
        """Report a rejected commit. Commits of transactional producers are reported without a ticket."""

    def access_denied(self, group_id: str, ticket: object, detail: Mapping[str, str]) -> None:
        pass

    # Groups and their partitions

    def group_created(self, group: "ClassicGroup", cause: str | None = None) -> None:
        """Report a new group. Without a cause it has only offsets."""

    def group_gone(self, group: "ClassicGroup", cause: str) -> None:
        pass

    def offsets_expired(self, group: "ClassicGroup", partitions: int) -> None:
        pass

    def measured_from_us(self) -> int | None:
        """Return the start time of a load or unload, for `elected` and `resigned`. By default it is not measured."""
        return None

    def elected(self, partition: int, groups: Iterable["Group"], began_us: int | None) -> None:
        pass

    def resigned(self, partition: int, began_us: int | None) -> None:
        pass

    def stopping(self) -> None:
        pass


def _ignored(_: ErrorCode) -> None:
    pass


UNOBSERVED: Final = Observer()
