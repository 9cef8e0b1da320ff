"""State that the members of all newer protocols share: an ID and a session."""

from collections.abc import Iterable
from typing import Any

from mypy_extensions import mypyc_attr

from kohort.coordinator.groups.group_placement import java_hash
from kohort.purgatory import DelayedOperation


@mypyc_attr(allow_interpreted_subclasses=True)
class ModernMember:
    """One member. Its protocol defines what the log stores of it."""

    __slots__ = ("java_hash", "member_id", "session")

    metadata: Any  # the subscription and other data that the member sent

    def __init__(self, member_id: str) -> None:
        self.member_id = member_id
        self.java_hash = java_hash(member_id)  # determines the iteration order of Kafka's hash maps
        self.session: DelayedOperation | None = None  # removes the member when its session expires

    def take_timers(self) -> Iterable[DelayedOperation | None]:
        """Take all timers from the member and return them."""
        timers = (self.session,)
        self.session = None
        return timers
