"""One rebalance, in three parts: its facts, why it happened and which member was waited for, and what it cost.

Times: s = start, j = end of the join barrier, e = assignment stored. prepare = j - s, complete = e - j. The log holds
j and e. s comes from events; where there are none it is only known to lie between bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from kohort.pipeline.history.commit_history import Around
from kohort.pipeline.history.inputs import Generation, TopicPartition
from kohort.protocol.assignment_moves import Moves


@dataclass(frozen=True, slots=True)
class Opening:
    """How a rebalance was opened: when, by whom and why. source: event, text_log or log (a record of an epoch).

    prepare_us: from there to the end of the barrier. client: the member's name where the source gives it.
    """

    start_ms: int
    source: str
    prepare_us: int | None
    cause: str
    confidence: str = "certain"
    member: str | None = None
    client: str | None = None
    reason: str | None = None
    rebalance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceFacts:
    """What records and events say; nothing is concluded yet. `before` has size 0 for a first generation.

    outcome: completed, empty, superseded, open. kind: initial, normal, followup, epoch, conversion.
    longest_prepare_ms: the prepare phase was no longer; None where nothing bounds it.
    rejoin_us, sync_us: by member id, from the start to its join, and from the end of the barrier to its assignment.
    lost: generations between the two of which no record exists; None where records of them may be unread.
    complete: no record of this time is missing.
    changes: what differs between the generations: members, subscriptions, partitions, protocol.
    grown: topics with more partitions than were ever seen before: name, was, is.
    downtime: new protocol: when each moved partition was nobody's, from and to.
    """

    before: Generation
    after: Generation
    opening: Opening | None
    barrier_ms: int
    stable_ms: int
    longest_prepare_ms: int | None = None
    outcome: str = "completed"
    kind: str = "normal"
    joined: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    changes: tuple[str, ...] = ()
    grown: list[tuple[str, int, int]] = field(default_factory=list)
    eager: bool | None = None
    eager_members: set[str] = field(default_factory=set)
    movement: Moves | None = None
    lost: int | None = None
    complete: bool = True
    rejoin_us: dict[str, int] = field(default_factory=dict)
    sync_us: dict[str, int] = field(default_factory=dict)
    downtime: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)

    @property
    def start_ms(self) -> int | None:
        """None where no event says when it began."""
        return self.opening.start_ms if self.opening is not None else None

    @property
    def seen_ms(self) -> int:
        """The first moment that is known for certain: the start, else the end of the barrier."""
        return self.opening.start_ms if self.opening is not None else self.barrier_ms

    @property
    def is_epoch(self) -> bool:
        """A step of the new protocol, which has no join barrier."""
        return self.after.kind == "consumer"

    @property
    def counts(self) -> bool:
        return self.kind in ("initial", "normal", "epoch", "conversion") and self.outcome != "open"

    @property
    def reached_barrier(self) -> bool:
        return self.outcome in ("completed", "superseded") and self.after.size > 0


@dataclass(frozen=True, slots=True)
class Laggard:
    """how: rejoined / evicted / leave_poll_timeout / session_expired / leave_explicit.

    alone_ms: for how long everybody else had been there before the barrier ended. measured: by events.
    """

    member_id: str
    client: str
    logical: str
    delay_us: int
    how: str
    alone_ms: int
    measured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What is concluded from the facts and from commits.

    prepare_lo_ms, prepare_hi_ms: bounds of the prepare phase, equal where it is known.
    prepare_est_ms: without events: for how long nobody but the laggard had shown itself before the barrier ended.
    """

    cause: str
    confidence: str
    trigger_member: str | None = None
    trigger_client: str | None = None
    client_reason: str | None = None
    laggard: Laggard | None = None
    prepare_lo_ms: int = 0
    prepare_hi_ms: int | None = None
    prepare_est_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """around: the commits of each partition on both sides. Seconds: lower and upper bound, equal where exact."""

    around: dict[TopicPartition, Around] = field(default_factory=dict)
    unavailable_member_s: tuple[float, float] = (0.0, 0.0)
    unavailable_partition_s: tuple[float, float] = (0.0, 0.0)
    delayed_records: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance(RebalanceFacts):
    """A rebalance with everything that is known and concluded. number: its place among those of the group, from 1."""

    number: int
    why: Explanation
    cost: Cost

    @classmethod
    def of(cls, number: int, facts: RebalanceFacts, why: Explanation, cost: Cost) -> Rebalance:
        known = {each.name: getattr(facts, each.name) for each in fields(facts)}
        return cls(number=number, why=why, cost=cost, **known)

    @property
    def begin_ms(self) -> int:
        """The start, or the latest moment it can have been."""
        return begin_ms(self, self.why)

    @property
    def prepare_ms(self) -> int:
        """The length of the prepare phase: exact, else estimated, else its lower bound."""
        return self.barrier_ms - self.begin_ms


def begin_ms(facts: RebalanceFacts, why: Explanation) -> int:
    """The start, or the latest moment it can have been."""
    if facts.opening is not None:
        return facts.opening.start_ms
    return facts.barrier_ms - max(why.prepare_lo_ms, why.prepare_est_ms or 0)
