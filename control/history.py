"""What happened to a group: its rebalances one after the other, as a test asks for them.

Made of the group events that the event log writes too. Nothing here is measured anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kohort.coordinator.events import GroupEvent

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded

STARTS, JOINED, ASSIGNED, SYNCED, COMPLETED, SUPERSEDED = (
    "rebalance_started",
    "join_completed",
    "assignment_received",
    "member_synced",
    "rebalance_completed",
    "rebalance_superseded",
)
OPEN, DONE, GIVEN_UP = "open", "completed", "superseded"


@dataclass
class Rebalance:
    """One rebalance, from its cause to the assignments, or to the next one that came in between."""

    generation: int
    """The one it led to, or would have; while it is open, the one before."""
    cause: str
    """In words: `session expired`, `join new`; the names are those of the event log."""
    actor: str
    """The client whose doing it was; empty where it was nobody's."""
    outcome: str = OPEN
    """`open`, `completed` or `superseded`."""
    prepare_ms: float | None = None
    """How long the join phase took; None while it is open."""
    complete_ms: float | None = None
    """From there to the stored assignment."""
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()
    """Member ids; who did not rejoin in time."""
    laggard: str = ""
    """The client that rejoined last, or the first that was evicted."""
    members: int = 0
    moved: int | None = None
    """Partitions that had an owner and were given another one; None: nothing was assigned yet, or it cannot be told."""
    fewest_moves: int | None = None
    """How few an even distribution had to move; None, too, where members subscribe to different topics."""
    unowned_partition_s: float = 0.0
    """For how long partitions were nobody's before their new owners were told, all added up."""
    events: list[GroupEvent] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        """In one line."""
        who = f" ({self.actor})" if self.actor else ""
        parts = [f"generation {self.generation}: {self.cause}{who}, {self.outcome}"]
        if self.prepare_ms is not None:
            parts.append(f"waited {self.prepare_ms:.0f} ms" + (f", last {self.laggard}" if self.laggard else ""))
        if self.complete_ms is not None:
            parts.append(f"assigned in {self.complete_ms:.0f} ms")
        if self.moved:
            fewest = "" if self.fewest_moves is None else f", {self.fewest_moves} had to"
            parts.append(f"{self.moved} partition{'s'[self.moved == 1 :]} moved{fewest}")
        if self.unowned_partition_s:
            parts.append(f"{self.unowned_partition_s:.3f} partition-seconds without an owner")
        for word, members in (("joined", self.joined), ("left", self.left), ("evicted", self.evicted)):
            if members:
                parts.append(f"{word} {', '.join(members)}")
        return "; ".join(parts)


def rebalances(events: Iterable[GroupEvent]) -> list[Rebalance]:
    """The rebalances that a group's events tell of, in order."""
    found: list[Rebalance] = []
    for event in events:
        if event.kind == STARTS:
            if found and found[-1].outcome == OPEN:
                found[-1].outcome = GIVEN_UP
            found.append(Rebalance(event.generation or 0, words(event.cause), event.client_id or ""))
        if found:
            found[-1].events.append(event)
            if found[-1].outcome == OPEN:
                _take(found[-1], event)
            if event.kind == SYNCED and event.detail:  # perhaps when the rebalance is over
                found[-1].unowned_partition_s += int(event.detail["unowned_us"]) / 1_000_000
    return found


def _take(rebalance: Rebalance, event: GroupEvent) -> None:
    if event.kind == JOINED:
        rebalance.generation = event.generation or rebalance.generation
        rebalance.prepare_ms = (event.duration_us or 0) / 1000
        rebalance.joined, rebalance.left = event.joined or (), event.left or ()
        rebalance.evicted, rebalance.members = event.evicted or (), event.members or 0
        rebalance.laggard = rebalance.evicted[0] if rebalance.evicted else _client(rebalance, event.member_id)
        if not rebalance.members:
            rebalance.outcome = DONE
    elif event.kind == ASSIGNED and event.detail:
        rebalance.moved = int(event.detail["moved"])
        rebalance.fewest_moves = int(event.detail["fewest_moves"]) if "fewest_moves" in event.detail else None
    elif event.kind == COMPLETED:
        rebalance.complete_ms = (event.duration_us or 0) / 1000
        rebalance.outcome = DONE
    elif event.kind == SUPERSEDED:
        rebalance.outcome = GIVEN_UP


def _client(rebalance: Rebalance, member_id: str | None) -> str:
    for event in rebalance.events:
        if member_id and event.member_id == member_id and event.client_id:
            return event.client_id
    return member_id or ""


def words(name: str | None) -> str:
    """A cause's name as a person writes it."""
    return (name or "unknown").replace("_", " ")


def describe(recorded: Iterable[Recorded], disowned: Callable[[Recorded], bool]) -> Iterator[str]:
    """The timeline of a group, a line an event; what is only counted is left out.

    `disowned`: whether it was a zombie that told it.
    """
    first_us: int | None = None
    for each in recorded:
        event = each.event
        if event.kind in ("heartbeat_stats", "commit_stats"):
            continue
        first_us = event.mono_us if first_us is None else first_us
        who = event.instance_id or event.client_id or event.member_id or ""
        parts = [f"{(event.mono_us - first_us) / 1_000_000:9.3f} s", event.kind.replace("_", " ")]
        if who:
            parts.append(who)
        if event.cause:
            parts.append(f"({words(event.cause)})")
        if event.error:
            parts.append(event.error)
        if event.generation is not None:
            parts.append(f"generation {event.generation}")
        if event.duration_us is not None:
            parts.append(f"after {event.duration_us / 1000:.0f} ms")
        if disowned(each):
            parts.append(f"says the zombie, node {each.node_id}")
        yield " ".join(parts)
