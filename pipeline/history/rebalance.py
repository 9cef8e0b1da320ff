"""One rebalance in three parts: facts; cause and laggard; cost.

Times: s = start, j = end of the join barrier, e = assignment stored. prepare = j - s, complete = e - j. The log
contains j and e. s comes from events; without them only bounds are known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from kohort.pipeline.history.commit_history import Around
from kohort.pipeline.history.inputs import Generation, TopicPartition
from kohort.protocol.assignment_moves import Moves


@dataclass(frozen=True, slots=True)
class Opening:
    """Start of a rebalance: time, member and reason.

    Attributes:
        source: event, text_log or log (a record of an epoch).
        prepare_us: Time from the start to the end of the barrier.
        client: Name of the member, if the source contains it.
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
    """Facts from records and events, without conclusions. `before` has size 0 for a first generation.

    Attributes:
        outcome: completed, empty, superseded or open.
        kind: initial, normal, followup, epoch or conversion.
        longest_prepare_ms: Upper limit of the prepare phase, or None without one.
        rejoin_us: Time from the start to each member's join, by member id.
        sync_us: Time from the end of the barrier to each member's assignment, by member id.
        lost: Generations between the two without a record, or None if their records may not have been read.
        complete: Whether no record of this time is missing.
        changes: Differences between the generations: members, subscriptions, partitions, protocol.
        grown: Topics with more partitions than ever before: (name, old, new).
        downtime: For the consumer protocol, the time without an owner of each moved partition, as (from, to).
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
        """Time of the start, or None if no event contains it."""
        return self.opening.start_ms if self.opening is not None else None

    @property
    def seen_ms(self) -> int:
        """First time that is certain: the start, else the end of the barrier."""
        return self.opening.start_ms if self.opening is not None else self.barrier_ms

    @property
    def is_epoch(self) -> bool:
        """Whether this is an epoch of the consumer protocol, which has no join barrier."""
        return self.after.kind == "consumer"

    @property
    def counts(self) -> bool:
        return self.kind in ("initial", "normal", "epoch", "conversion") and self.outcome != "open"

    @property
    def reached_barrier(self) -> bool:
        return self.outcome in ("completed", "superseded") and self.after.size > 0


@dataclass(frozen=True, slots=True)
class Laggard:
    """The member that made the others wait.

    Attributes:
        how: rejoined, evicted, static_absent, leave_poll_timeout, session_expired or leave_explicit.
        alone_ms: Time between the last other member's arrival and the end of the barrier.
        measured: Whether this comes from events.
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
    """Conclusions from the facts and from commits.

    Attributes:
        prepare_lo_ms: Lower bound of the prepare phase; equal to the upper bound if it is known.
        prepare_hi_ms: Upper bound of the prepare phase.
        prepare_est_ms: Without events, the time before the end of the barrier in which only the laggard was active.
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
    """Cost of a rebalance.

    Attributes:
        around: Commits of each partition before and after. Seconds have a lower and an upper bound, equal if exact.
    """

    around: dict[TopicPartition, Around] = field(default_factory=dict)
    unavailable_member_s: tuple[float, float] = (0.0, 0.0)
    unavailable_partition_s: tuple[float, float] = (0.0, 0.0)
    delayed_records: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance(RebalanceFacts):
    """A rebalance with facts and conclusions. `number` counts the group's rebalances from 1."""

    number: int
    why: Explanation
    cost: Cost

    @classmethod
    def of(cls, number: int, facts: RebalanceFacts, explanation: Explanation, cost: Cost) -> Rebalance:
        values = {field.name: getattr(facts, field.name) for field in fields(facts)}
        return cls(number=number, why=explanation, cost=cost, **values)

    @property
    def begin_ms(self) -> int:
        """Start, or the latest possible start."""
        return begin_ms(self, self.why)

    @property
    def prepare_ms(self) -> int:
        """Length of the prepare phase: exact, else estimated, else its lower bound."""
        return self.barrier_ms - self.begin_ms


def begin_ms(facts: RebalanceFacts, explanation: Explanation) -> int:
    """Return the start, or the latest possible start."""
    if facts.opening is not None:
        return facts.opening.start_ms
    return facts.barrier_ms - max(explanation.prepare_lo_ms, explanation.prepare_est_ms or 0)
