"""The heartbeat of the newer protocols: its steps, in Kafka's order.

Consumer, share and streams groups supply their checks and steps as subclasses of `Heartbeat`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from mypy_extensions import mypyc_attr

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Reply
from kohort.coordinator.groups.group import CLASSIC
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import (
    Refusal,
    group_missing,
    not_of_type,
    type_missing,
    unknown_state,
)
from kohort.coordinator.modern.membership import (
    cause_of,
    find_member,
    keep_alive,
    leave_temporarily,
    new_member_id,
    remove_members,
    watch_revocation,
)
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.modern_values import STATIC_LEAVING_EPOCH
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.coordinator import GroupCoordinator

_NONE: Final = ErrorCode.none


MakesTopics = Callable[[Any], str]  # creates the missing topics and returns a text for the sender's status, or ""
SeesTopic = Callable[[str], bool]  # whether the sender may find a topic: Kafka omits topics that it must not describe


def sees_all(name: str) -> bool:
    return True


def make_no_topics(missing: Any) -> str:
    return ""


class Sender(NamedTuple):
    """Details of the sender that are not part of the heartbeat request."""

    ticket: Any
    client_id: str
    client_host: str  # in Java's format: `/127.0.0.1`
    version: int = 1
    sees_topic: SeesTopic = sees_all  # limits the topics that a pattern of the sender matches
    make_topics: MakesTopics = make_no_topics  # creates internal topics of a streams application for the sender
    can_describe_topology: bool = False  # whether the response can request a description of a topology (KIP-1331)


@mypyc_attr(allow_interpreted_subclasses=True)
class Heartbeat:
    """One heartbeat while it is handled."""

    __slots__ = (
        "changes",
        "coordinator",
        "group",
        "has_changed",
        "instance_id",
        "is_new",
        "member",
        "member_id",
        "now_ms",
        "old_assigned",
        "request",
        "sender",
    )

    group_type: ClassVar[str]
    owned: ClassVar[str] = "partitions"  # what members own, for error messages
    response_class: ClassVar[Any]

    def __init__(
        self, coordinator: "GroupCoordinator", request: Any, instance_id: str | None, sender: Sender, now_ms: int
    ) -> None:
        self.coordinator = coordinator
        self.request = request
        self.instance_id = instance_id
        self.sender = sender
        self.now_ms = now_ms
        self.member_id: str = request.member_id
        self.group: Any = None
        self.changes: Any = None
        self.member: Any = None  # None until a new member is added
        self.is_new = False  # whether the member joins and does not replace another one
        self.has_changed = False  # whether the heartbeat changed the subscription
        self.old_assigned: Any = None  # assignment before the heartbeat, or None without one

    def handle(self) -> Any:
        """Return the response, or None if it follows the write."""
        refusal = self.check_request()
        if refusal is not None:
            return self.refused(refusal)
        if self.request.member_epoch < 0:
            return self._leave()
        refusal = self._find_or_create()
        if refusal is not None:
            return self.refused(refusal)
        refusal = self._process()
        if refusal is not None:
            self.changes.abandon(self.now_ms)
            self._report(refusal)
            return self.refused(refusal)
        return None

    def refused(self, refusal: Refusal) -> Any:
        return self.response_class(error_code=refusal.error, error_message=refusal.message)

    # The group

    def _find_group(self) -> ModernGroup | Refusal:
        """Return the group of a member that leaves."""
        group_id = self.request.group_id
        group = self.coordinator.groups.get(group_id)
        if isinstance(group, ModernGroup) and group.group_type == self.group_type:
            return group
        if group is not None:
            return not_of_type(self.group_type, group_id)
        error = self.coordinator.availability(group_id)
        return group_missing(group_id) if error is _NONE else Refusal(error)

    def _find_or_create(self) -> Refusal | None:
        """Find the group. A member that joins creates a missing one, and may replace a classic one."""
        coordinator, group_id = self.coordinator, self.request.group_id
        has_epoch = self.request.member_epoch > 0
        group = coordinator.groups.get(group_id)
        if group is None:
            error = coordinator.availability(group_id) if has_epoch else coordinator.creatable(group_id)
            if error is not _NONE:
                return Refusal(error)
            if has_epoch:
                return type_missing(self.group_type, group_id)
            self.group = coordinator.new_group(self.group_type, group_id)
            self.changes = GroupChanges(self.group)
            self.changes.create()
            return None
        if group.group_type == self.group_type:
            self.group, self.changes = group, GroupChanges(group)  # type: ignore[arg-type]
            return None
        if has_epoch or group.group_type != CLASSIC:
            return not_of_type(self.group_type, group_id)
        successor = self.replace_classic(group)  # type: ignore[arg-type]
        if isinstance(successor, Refusal):
            return successor
        self.group, self.changes = successor
        return None

    # The member

    def _process(self) -> Refusal | None:
        """Process the heartbeat in its group. After an error the caller must undo the changes."""
        member = self.find_sender()
        if isinstance(member, Refusal):
            return member
        self.is_new = member is None
        if member is not None:
            self.member, self.member_id, self.old_assigned = member, member.member_id, member.current.assigned
        elif not self.member_id:
            self.member_id = new_member_id(self.coordinator)
        refusal = self.update_member() or self.update_target() or self._advance()
        if refusal is not None:
            return refusal
        keep_alive(self.group, self.member, self.now_ms)
        response = self.respond()
        if isinstance(response, Refusal):
            return response
        self.changes.ticket = self.sender.ticket
        name = "join_new" if self.is_new else "metadata_changed" if self.has_changed else "sent_a_heartbeat"
        self.changes.write(self.now_ms, cause_of(self.member, name), self._replying(response))
        return None

    def set_metadata(self, metadata: Any) -> None:
        """Write the metadata of the member, which is added if it is new."""
        self.changes.make(self.group.kinds.MEMBER, self.member_id, metadata)
        self.member = self.group.members[self.member_id]

    def _advance(self) -> Refusal | None:
        """Move the member as far toward its target as possible."""
        member, assignment = self.member, self.next_assignment()
        if assignment is None:
            return unknown_state(self.group_type, self.owned)
        if assignment is not member.current and assignment != member.current:
            self.changes.make(self.group.kinds.CURRENT, self.member_id, assignment)
            watch_revocation(self.group, member, self.now_ms)
        return None

    # Responses

    def _report(self, refusal: Refusal) -> None:
        group = self.group
        if group.is_there:
            identity = self.request.member_id, self.instance_id, self.request.member_epoch
            self.coordinator.observer.refused(group, *identity, refusal.error, self.sender.ticket)

    def _replying(self, response: Any) -> OnWritten:
        def written(error: ErrorCode, now_ms: int) -> None:
            answer = response
            if error is not _NONE:
                answer = self.refused(Refusal(error))
            else:
                self.complete(response, now_ms)
            self.coordinator.effects.append(Reply(self.sender.ticket, answer))
            if error is _NONE:
                self.on_replied(now_ms)

        return written

    # Leaving

    def _leave(self) -> Any:
        group = self._find_group()
        if isinstance(group, Refusal):
            return self.refused(group)
        self.group = group
        self.on_leaving()
        member = find_member(group, self.member_id, self.instance_id)
        if isinstance(member, Refusal):
            self._report(member)
            return self.refused(member)
        epoch: int = self.request.member_epoch
        response = self.response_class(error_code=_NONE, member_id=member.member_id, member_epoch=epoch)
        if epoch == STATIC_LEAVING_EPOCH:
            leave_temporarily(group, member, self.now_ms, self._replying(response))
        else:
            cause = cause_of(member, "leave_explicit")
            remove_members(group, [member], cause, self.now_ms, self._replying(response))
        return None

    # Steps that depend on the protocol, in this order

    def check_request(self) -> Refusal | None:
        """Check what does not depend on the group, unless the caller has checked it."""
        return None

    def on_leaving(self) -> None:
        """Process the request of a member that leaves, which may be unknown."""

    def replace_classic(self, classic: "ClassicGroup") -> tuple[ModernGroup, GroupChanges] | Refusal:
        """Replace a classic group because a member joins. Return the new group and its changes."""
        return not_of_type(self.group_type, classic.group_id)

    def find_sender(self) -> Any:
        """Return the member, None if it is new, or an error, after checking the group's size and the epoch."""
        raise NotImplementedError

    def update_member(self) -> Refusal | None:
        """Merge the request into the member's metadata (`set_metadata`), and give the group a new epoch if due."""
        raise NotImplementedError

    def update_target(self) -> Refusal | None:
        """Compute the target if it is due."""
        raise NotImplementedError

    def next_assignment(self) -> Any:
        """Return the assignment after the next step, the current one, or None if the member must be fenced."""
        raise NotImplementedError

    def respond(self) -> Any:
        """Return the response for a successful write, or a `Refusal`."""
        raise NotImplementedError

    def complete(self, response: Any, now_ms: int) -> None:
        """Complete the response after the write."""

    def on_replied(self, now_ms: int) -> None:
        """Start what follows the response."""
