"""What happens to classic groups, as an observer hears of it while it happens. No group decides anything by it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.classic.classic_member import Member
    from kohort.coordinator.group import Group
    from kohort.coordinator.shared_values import Protocols


@mypyc_attr(allow_interpreted_subclasses=True)
class Observer:
    """Does nothing: so it is while nobody listens to a coordinator. `classic_event_source.py` makes events of it."""

    # Members

    def member_id_issued(self, group: "ClassicGroup", member_id: str, ticket: object) -> None:
        """A newcomer was sent back to join with this id (KIP-394)."""

    def member_added(self, group: "ClassicGroup", member: "Member", cause: Cause, ticket: object) -> None:
        """A member is new in the group; its join waits."""

    def member_rejoined(self, group: "ClassicGroup", member: "Member", reason: str) -> None:
        """A member has come back while a rebalance goes on."""

    def member_replaced(
        self, group: "ClassicGroup", member: "Member", old_id: str, rebalance: bool, ticket: object, reason: str
    ) -> None:
        """A static member came back under a new id (KIP-345)."""

    def metadata_changed(self, group: "ClassicGroup", member: "Member", protocols: "Protocols", timeouts: bool) -> None:
        """A member joins again with these protocols, perhaps with other timeouts. Called before they are taken over."""

    def member_removed(
        self, group: "ClassicGroup", member: "Member", cause: str, reason: str = "", *, has_joined: bool = False
    ) -> None:
        """A member is gone."""

    def member_fenced(self, group: "ClassicGroup", member_id: str, instance_id: str) -> None:
        """A request names an instance id that another member has by now."""

    def member_id_discarded(self, group: "ClassicGroup", member_id: str) -> None:
        """A new client did not join with the member id that it had received; the group waited for it (KIP-394)."""

    # Rebalances

    def rebalance_started(self, group: "ClassicGroup", cause: Cause) -> None:
        """The group has just gone to PreparingRebalance."""

    def barrier_raised(self, group: "ClassicGroup", timeout_ms: int, now_ms: int) -> None:
        """Members are waited for, at most for `timeout_ms`."""

    def join_completed(self, group: "ClassicGroup", missing: Collection["Member"], timeout_ms: int) -> None:
        """The join phase is over: the group has its next generation, with members or without."""

    def assignment_received(
        self, group: "ClassicGroup", leader: "Member", assignments: dict[str, bytes]
    ) -> Callable[[ErrorCode], None]:
        """The leader has synced. What is returned is called when its assignment was written, or could not be."""
        return _ignored

    def member_synced(self, group: "ClassicGroup", member: "Member") -> None:
        """A member has got its share."""

    def sync_timeout(self, group: "ClassicGroup", late: list[str]) -> None:
        """Members have not synced within the rebalance timeout; they are removed."""

    def rebalance_completed(self, group: "ClassicGroup") -> None:
        """Everybody who waited has its share: the group is Stable."""

    def emptied(self, group: "ClassicGroup") -> OnWritten | None:
        """Nobody is left. What is returned is called when the record that says so was written, or could not be."""
        return None

    # Heartbeats and commits

    def heartbeat_gap(self, group: "ClassicGroup", member: "Member", gap_ms: int) -> None:
        """A member was silent for more than half of its session timeout."""

    def committed(self, group: "ClassicGroup | None", member_id: str, partitions: int) -> None:
        """A commit was accepted."""

    def commit_rejected(
        self, group: "ClassicGroup", member_id: str, generation_id: int, error: ErrorCode, ticket: object | None
    ) -> None:
        """A commit was refused. `ticket`: None if it is a producer that commits for the member."""

    def access_denied(self, group_id: str, ticket: object, detail: Mapping[str, str]) -> None:
        """A request about the group was refused for want of a right. The group need not be there."""

    # Groups and their partitions

    def group_created(self, group: "ClassicGroup", cause: str | None = None) -> None:
        """A group that was not there before; without a cause it is a simple one."""

    def group_gone(self, group: "ClassicGroup", cause: str) -> None:
        """It was deleted, its coordinator has moved, or it is a consumer group now."""

    def offsets_expired(self, group: "ClassicGroup", partitions: int) -> None:
        """Offsets that are too old have been deleted."""

    def measured_from_us(self) -> int | None:
        """When a load or an unload begins, for `elected` and `resigned`; None: nobody measures it."""
        return None

    def elected(self, partition: int, groups: Iterable["Group"], began_us: int | None) -> None:
        """The node coordinates a partition's groups, of either protocol, from now on."""

    def resigned(self, partition: int, began_us: int | None) -> None:
        """The node no longer coordinates a partition's groups."""

    def stopping(self) -> None:
        """The process ends in good order."""


def _ignored(_: ErrorCode) -> None:
    """An outcome that nobody waits for."""


UNOBSERVED: Final = Observer()
