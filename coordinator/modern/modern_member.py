"""What a member of a group of any newer protocol has: an id, a session, and perhaps other timers."""

from collections.abc import Iterable
from typing import Any

from mypy_extensions import mypyc_attr

from kohort.coordinator.group_placement import java_hash
from kohort.purgatory import DelayedOperation


@mypyc_attr(allow_interpreted_subclasses=True)
class ModernMember:
    """One member. What the log keeps of it is its protocol's matter."""

    __slots__ = ("java_hash", "member_id", "session")

    metadata: Any
    """What it says of itself, as its protocol has it."""

    def __init__(self, member_id: str) -> None:
        self.member_id = member_id
        self.java_hash = java_hash(member_id)
        """Decides who comes first where Kafka walks its hash maps."""
        self.session: DelayedOperation | None = None
        """Ends the membership of one that stays silent."""

    def take_timers(self) -> Iterable[DelayedOperation | None]:
        """All its timers, which it has no more."""
        timers = (self.session,)
        self.session = None
        return timers
