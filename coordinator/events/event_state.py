"""What is remembered of a group between its events, while somebody listens: plain data."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from kohort.coordinator.events.member_stats import MemberStats
from kohort.coordinator.events.owners import Owners
from kohort.coordinator.requesting_client import Client
from kohort.protocol.topic_partition import TopicPartition
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_member import Member

FENCED = "fenced"
"""A refusal that is reported once a minute, and not counted."""


class Refusal(NamedTuple):
    """A kind of refusal, and how often it came after the first time."""

    member_id: str
    error: str
    client: Client
    epoch: int
    """Or the generation."""
    more: int


class Refusals:
    """What was refused since the last report: the first of each kind is told at once, the others are counted."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Refusal] = {}

    def is_first(self, member_id: str, error: str, client: Client, epoch: int) -> bool:
        """Takes note of a refusal. Returns whether it is the first of its kind."""
        before = self._known.get((member_id, error))
        more = 0 if before is None else before.more + 1
        self._known[member_id, error] = Refusal(member_id, error, client, epoch, more)
        return before is None

    def flush(self) -> list[Refusal]:
        """Those that came more than once; the next one of each kind is the first again."""
        known, self._known = self._known, {}
        return [each for each in known.values() if each.more and each.error != FENCED]


class EventState:
    """What is remembered of any group. Times are microseconds of a monotonic clock."""

    __slots__ = ("evicted", "known", "rebalance_id", "rebalances", "refusals", "stable_us", "started_us")

    def __init__(self, known: Iterable[str], now_us: int) -> None:
        self.rebalances = 0
        self.rebalance_id: str | None = None
        self.known = set(known)
        """Members when the group last had another generation or epoch."""
        self.evicted: list[str] = []
        """Members that were removed since then because they were too slow."""
        self.started_us = now_us
        self.stable_us = now_us
        self.refusals = Refusals()

    def who_changed(self, now: set[str]) -> dict[str, Any]:
        """Who joined, left and was evicted until the members were these, who are known from now on."""
        evicted = tuple(name for name in self.evicted if name not in now)
        joined, left = now - self.known, self.known - now - set(evicted)
        self.known, self.evicted = now, []
        return {"joined": tuple(sorted(joined)), "left": tuple(sorted(left)), "evicted": evicted}

    def renamed(self, old_id: str, member_id: str) -> None:
        """A static member has another id: it has neither joined nor left."""
        if old_id in self.known:
            self.known.discard(old_id)
            self.known.add(member_id)


class GroupEventState(EventState):
    """What is remembered of a classic group. `known`: members of the last generation whose join phase was completed."""

    __slots__ = ("half_time", "is_initial", "joined_us", "last_awaited", "next_shares", "owners", "summary")

    def __init__(self, known: Iterable[str], owners: Owners, now_us: int) -> None:
        super().__init__(known, now_us)
        self.owners = owners
        self.next_shares: dict[str, frozenset[TopicPartition]] | None = None
        """The shares of the assignment that is being written; None: they cannot be read."""
        self.joined_us = now_us
        # The last member that the join phase waited for, or the id of a client that never joined with it.
        self.last_awaited: Member | str | None = None
        # Whether the join phase ends with the initial rebalance delay, whichever members it waits for.
        self.is_initial = False
        self.half_time: DelayedOperation | None = None
        """Reports a join phase half of whose time is over."""
        self.summary: dict[str, Any] = {}
        """Who joined, left and was evicted, reported again when the rebalance is completed."""

    def renamed(self, old_id: str, member_id: str) -> None:
        """A static member has another id, and still has what it had."""
        super().renamed(old_id, member_id)
        self.owners.renamed(old_id, member_id)


class EpochEventState(EventState):
    """What is remembered of a group of a newer protocol."""

    __slots__ = ("is_open",)

    def __init__(self, known: Iterable[str], now_us: int, *, is_open: bool = False) -> None:
        super().__init__(known, now_us)
        self.is_open = is_open
        """Whether a rebalance has begun that has not ended."""


class StepwiseEventState(EpochEventState):
    """What is remembered of a group whose members give up what others are to have."""

    __slots__ = ("owners", "revoking_since_us", "slowest")

    def __init__(self, known: Iterable[str], owners: Owners, now_us: int, *, is_open: bool = False) -> None:
        super().__init__(known, now_us, is_open=is_open)
        self.owners = owners
        self.revoking_since_us: dict[str, int] = {}
        """By member id, when it heard that it has to give up what it still has."""
        self.slowest: tuple[str, int] | None = None
        """Who took longest to give up what others are to have in this rebalance, and how long."""

    def renamed(self, old_id: str, member_id: str) -> None:
        """A static member has another id, and still has what it had."""
        super().renamed(old_id, member_id)
        self.owners.renamed(old_id, member_id)


class ConsumerEventState(StepwiseEventState):
    """What is remembered of a consumer group."""

    __slots__ = ("stats",)

    def __init__(self, known: Iterable[str], owners: Owners, now_us: int, *, is_open: bool = False) -> None:
        super().__init__(known, owners, now_us, is_open=is_open)
        self.stats: dict[str, MemberStats] = {}
        """By member id, the objects that members have as `stats`. The last event of a member takes its own out."""
