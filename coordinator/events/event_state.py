"""State kept of a group between its events, while there is a listener: plain data."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from kohort.coordinator.events.event_timers import HalfTime
from kohort.coordinator.events.member_stats import MemberStats
from kohort.coordinator.events.owners import Owners
from kohort.coordinator.requesting_client import Client
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_member import Member

FENCED = "fenced"  # a rejection that is reported once a minute and not counted


class Refusal(NamedTuple):
    """A type of rejection, and the number of repetitions."""

    member_id: str
    error: str
    client: Client
    epoch: int  # epoch or generation
    more: int


class Refusals:
    """Rejections since the last report: the first one of each type is reported at once, the others are counted."""

    __slots__ = ("_by_type",)

    def __init__(self) -> None:
        self._by_type: dict[tuple[str, str], Refusal] = {}

    def is_first(self, member_id: str, error: str, client: Client, epoch: int) -> bool:
        """Add a rejection and return whether it is the first of its type."""
        earlier = self._by_type.get((member_id, error))
        more = 0 if earlier is None else earlier.more + 1
        self._by_type[member_id, error] = Refusal(member_id, error, client, epoch, more)
        return earlier is None

    def flush(self) -> list[Refusal]:
        """Return the repeated rejections and reset the counts."""
        by_type, self._by_type = self._by_type, {}
        return [refusal for refusal in by_type.values() if refusal.more and refusal.error != FENCED]


class EventState:
    """State that is kept of every group. Times are in microseconds of a monotonic clock."""

    __slots__ = ("evicted", "member_ids", "rebalance_id", "rebalances", "refusals", "stable_us", "started_us")

    def __init__(self, member_ids: Iterable[str], now_us: int) -> None:
        self.rebalances = 0
        self.rebalance_id: str | None = None
        self.member_ids = set(member_ids)  # members of the previous generation or epoch
        self.evicted: list[str] = []  # members removed since then for being too slow
        self.started_us = now_us
        self.stable_us = now_us
        self.refusals = Refusals()

    def who_changed(self, members: set[str]) -> dict[str, Any]:
        """Return the members that joined, left and were evicted, and store the new members."""
        evicted = tuple(name for name in self.evicted if name not in members)
        joined, departed = members - self.member_ids, self.member_ids - members - set(evicted)
        self.member_ids, self.evicted = members, []
        return {"joined": tuple(sorted(joined)), "left": tuple(sorted(departed)), "evicted": evicted}

    def renamed(self, old_id: str, member_id: str) -> None:
        """Replace the ID of a static member, which has neither joined nor left."""
        if old_id in self.member_ids:
            self.member_ids.discard(old_id)
            self.member_ids.add(member_id)


class GroupEventState(EventState):
    """State that is kept of a classic group. `member_ids` are of the last generation with a completed join."""

    __slots__ = ("half_time", "is_initial", "joined_us", "last_awaited", "next_assigned", "owners", "summary")

    def __init__(self, member_ids: Iterable[str], owners: Owners, now_us: int) -> None:
        super().__init__(member_ids, now_us)
        self.owners = owners
        # Partitions by member of the assignment that is being written; None if unreadable.
        self.next_assigned: dict[str, frozenset[TopicPartition]] | None = None
        self.joined_us = now_us
        # The last member that the join phase waited for, or the id of a client that never joined with it.
        self.last_awaited: Member | str | None = None
        # Whether the join phase ends with the initial rebalance delay, whichever members it waits for.
        self.is_initial = False
        self.half_time: HalfTime | None = None  # reports the progress after half of the join phase
        # Members that joined, left and were evicted; reported again when the rebalance is completed.
        self.summary: dict[str, Any] = {}

    def renamed(self, old_id: str, member_id: str) -> None:
        super().renamed(old_id, member_id)
        self.owners.renamed(old_id, member_id)

    def cancel_half_time(self) -> None:
        if self.half_time is not None:
            self.half_time.cancel()
            self.half_time = None


class EpochEventState(EventState):
    """State that is kept of a group of a newer protocol."""

    __slots__ = ("is_open",)

    def __init__(self, member_ids: Iterable[str], now_us: int, *, is_open: bool = False) -> None:
        super().__init__(member_ids, now_us)
        self.is_open = is_open  # whether a rebalance is in progress


class StepwiseEventState(EpochEventState):
    """State that is kept of a group whose members revoke partitions before others receive them."""

    __slots__ = ("owners", "revoking_since_us", "slowest")

    def __init__(self, member_ids: Iterable[str], owners: Owners, now_us: int, *, is_open: bool = False) -> None:
        super().__init__(member_ids, now_us, is_open=is_open)
        self.owners = owners
        # time of the response that made a member revoke partitions, by member ID
        self.revoking_since_us: dict[str, int] = {}
        # Slowest member to revoke partitions in this rebalance, and its duration.
        self.slowest: tuple[str, int] | None = None

    def renamed(self, old_id: str, member_id: str) -> None:
        super().renamed(old_id, member_id)
        self.owners.renamed(old_id, member_id)


class ConsumerEventState(StepwiseEventState):
    """State that is kept of a consumer group."""

    __slots__ = ("stats",)

    def __init__(self, member_ids: Iterable[str], owners: Owners, now_us: int, *, is_open: bool = False) -> None:
        super().__init__(member_ids, owners, now_us, is_open=is_open)
        # The `stats` of members by member ID, until the last event of a member.
        self.stats: dict[str, MemberStats] = {}
