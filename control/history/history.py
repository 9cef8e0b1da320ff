"""History of a group: its consecutive rebalances, derived from the group events of the event log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.groups.group import CLASSIC, SHARE, STREAMS
from kohort.protocol.assignment_moves import moves_in

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded

STARTS, JOINED, ASSIGNED, SYNCED, SYNC_TIMEOUT, COMPLETED, SUPERSEDED = (
    "rebalance_started",
    "join_completed",
    "assignment_received",
    "member_synced",
    "sync_timeout",
    "rebalance_completed",
    "rebalance_superseded",
)
BUMPED, COMPUTED, REVOKING, REVOKED, MEMBER_ASSIGNED, RECONCILED, CONVERTED = (
    "epoch_bumped",
    "target_computed",
    "member_revoking",
    "member_revoked",
    "member_assigned",
    "group_reconciled",
    "group_converted",
)  # Kinds of events of consumer groups (KIP-848).
MEMBER_RECONCILED, REMOVED = "member_reconciled", "member_removed"
OPEN, DONE, GIVEN_UP = "open", "completed", "superseded"


@dataclass
class Rebalance:
    """One rebalance, from its cause to the assignments, or to the next rebalance that superseded it.

    In a consumer group it begins with a new group epoch and ends when all members have reached the target of that
    epoch. The same holds for a share group, although no partitions move between its members.
    """

    # The generation that it led to; while it is open, the one before. In a consumer group the group epoch.
    generation: int
    cause: str  # In words: `session expired`, `join new`; the names are those of the event log.
    actor: str  # The client that caused it, or an empty string if no client did.
    outcome: str = OPEN  # `open`, `completed` or `superseded`
    # Duration of the join phase, or None while it is open. In a consumer group: until the target was computed.
    prepare_ms: float | None = None
    # From there to the stored assignment; in a consumer group until all members had reached their target.
    complete_ms: float | None = None
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()  # Ids of members that did not rejoin in time.
    # Client id of the last member that the group waited for; empty if it waited for no member, or only for a delay. In
    # a consumer group the member that took longest to revoke partitions, or has not yet.
    laggard: str = ""
    # Time that the group waited for the laggard; None while it waits, or without a laggard.
    laggard_ms: float | None = None
    members: int = 0
    # Partitions that changed their owner, or None if that is unknown or nothing was assigned yet.
    moved: int | None = None
    # Moves that an even distribution required; also None if members subscribe to different topics.
    fewest_moves: int | None = None
    unowned_partition_s: float = 0.0  # Total time that partitions had no owner before their new owners received them.
    group_type: str = "classic"  # `classic`, `consumer`, `share` or `streams`
    events: list[GroupEvent] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        actor = f" ({self.actor})" if self.actor else ""
        if self.group_type == CLASSIC:
            parts = [f"generation {self.generation}: {self.cause}{actor}, {self.outcome}", *self._phases()]
        else:
            parts = [f"epoch {self.generation}: {self.cause}{actor}, {self.outcome}", *self._steps()]
        if self.moved:
            fewest = "" if self.fewest_moves is None else f", {self.fewest_moves} had to"
            parts.append(f"{self.moved} partition{'s'[self.moved == 1 :]} moved{fewest}")
        if self.unowned_partition_s:
            parts.append(f"{self.unowned_partition_s:.3f} partition-seconds without an owner")
        for word, members in (("joined", self.joined), ("left", self.left), ("evicted", self.evicted)):
            if members:
                parts.append(f"{word} {', '.join(members)}")
        return "; ".join(parts)

    def _phases(self) -> Iterator[str]:
        if self.prepare_ms is not None:
            is_last_awaited = bool(self.laggard) and self.laggard_ms == self.prepare_ms
            yield f"waited {self.prepare_ms:.0f} ms" + (f" for {self.laggard}" if is_last_awaited else "")
            if self.laggard and not is_last_awaited:
                yield f"{self.laggard} did not sync within {self.laggard_ms:.0f} ms"
        if self.complete_ms is not None:
            yield f"assigned in {self.complete_ms:.0f} ms"

    def _steps(self) -> Iterator[str]:
        if self.prepare_ms is not None:
            yield f"target after {self.prepare_ms:.0f} ms"
        if self.laggard and self.laggard_ms is None:
            yield f"{self.laggard} has not revoked partitions"
        elif self.laggard and self.outcome == GIVEN_UP:
            yield f"waited {self.laggard_ms:.0f} ms for {self.laggard} to revoke partitions"
        elif self.laggard:
            yield f"{self.laggard} took {self.laggard_ms:.0f} ms to revoke partitions"
        if self.complete_ms is not None:
            yield f"reconciled in {self.complete_ms:.0f} ms"


def rebalances(events: Iterable[GroupEvent]) -> list[Rebalance]:
    result: list[Rebalance] = []
    for event in events:
        if event.kind in (STARTS, BUMPED, CONVERTED) and result and result[-1].outcome == OPEN:
            _supersede(result[-1], event)
        if event.kind == BUMPED:
            result.append(_from_new_epoch(event))
        if event.kind == STARTS:
            result.append(Rebalance(event.generation or 0, cause_of(event), event.client_id or ""))
        if result:
            result[-1].events.append(event)
            if result[-1].outcome == OPEN:
                _take(result[-1], event)
            if event.kind in (SYNCED, MEMBER_ASSIGNED) and event.detail:  # may arrive after the rebalance has ended
                result[-1].unowned_partition_s += int(event.detail.get("unowned_us", 0)) / 1_000_000
    return result


def _from_new_epoch(event: GroupEvent) -> Rebalance:
    return Rebalance(
        event.generation or 0,
        cause_of(event),
        event.client_id or "",
        joined=event.joined or (),
        left=event.left or (),
        evicted=event.evicted or (),
        members=event.members or 0,
        group_type=event.group_type or "consumer",
    )


def _supersede(rebalance: Rebalance, event: GroupEvent) -> None:
    """Mark a rebalance as superseded, perhaps by the removal of the member that it waited for."""
    rebalance.outcome = GIVEN_UP
    if event.kind == BUMPED and event.cause == "session_expired" and _has_not_reconciled(rebalance, event.member_id):
        # A frozen member does not receive its new assignment, so no event reports that it is revoking partitions.
        rebalance.laggard = _client(rebalance, event.member_id) if event.client_id is None else event.client_id
        rebalance.laggard_ms = (event.mono_us - rebalance.events[0].mono_us) / 1000
    elif event.kind == BUMPED and event.evicted:
        rebalance.laggard = _client(rebalance, event.evicted[0])
        revoking = [step for step in rebalance.events if step.kind == REVOKING and step.member_id == event.evicted[0]]
        rebalance.laggard_ms = (event.mono_us - revoking[-1].mono_us) / 1000 if revoking else None


def _has_not_reconciled(rebalance: Rebalance, member_id: str | None) -> bool:
    """Return whether a member of the group's last epoch has not reached the target, and no other one is revoking."""
    if rebalance.group_type == SHARE or member_id is None or member_id in rebalance.joined:
        return False
    revoking: set[str | None] = set()
    for event in rebalance.events:
        if event.kind == MEMBER_RECONCILED and event.member_id == member_id:
            return False
        if event.kind == REVOKING:
            revoking.add(event.member_id)
        elif event.kind in (REVOKED, REMOVED):
            revoking.discard(event.member_id)
    return revoking <= {member_id}


def _take(rebalance: Rebalance, event: GroupEvent) -> None:
    if rebalance.group_type != CLASSIC:
        _take_step(rebalance, event)
        return
    if event.kind == JOINED:
        rebalance.generation = event.generation or rebalance.generation
        rebalance.prepare_ms = (event.duration_us or 0) / 1000
        rebalance.joined, rebalance.left = event.joined or (), event.left or ()
        rebalance.evicted, rebalance.members = event.evicted or (), event.members or 0
        rebalance.laggard = _client(rebalance, event.member_id)
        rebalance.laggard_ms = rebalance.prepare_ms if rebalance.laggard else None
        if not rebalance.members:
            rebalance.outcome = DONE
    elif event.kind == ASSIGNED and event.detail:
        rebalance.moved, rebalance.fewest_moves = moves_in(event.detail)
    elif event.kind == SYNC_TIMEOUT:
        rebalance.laggard = _client(rebalance, next(iter(event.waited_for or ()), None))
        rebalance.laggard_ms = (event.duration_us or 0) / 1000
    elif event.kind == COMPLETED:
        rebalance.complete_ms = (event.duration_us or 0) / 1000
        rebalance.outcome = DONE
    elif event.kind == SUPERSEDED:
        rebalance.outcome = GIVEN_UP


def _take_step(rebalance: Rebalance, event: GroupEvent) -> None:
    detail = event.detail or {}
    if event.kind == COMPUTED:
        rebalance.prepare_ms = int(detail["since_bump_us"]) / 1000
        rebalance.moved, rebalance.fewest_moves = moves_in(detail)
    elif event.kind == REVOKING and (not rebalance.laggard or rebalance.laggard_ms is not None):
        rebalance.laggard, rebalance.laggard_ms = _client(rebalance, event.member_id), None
    elif event.kind == REVOKED:
        _update_laggard(rebalance, event)
    elif event.kind == RECONCILED:
        rebalance.complete_ms = (event.duration_us or 0) / 1000 - (rebalance.prepare_ms or 0)
        rebalance.outcome = DONE


def _update_laggard(rebalance: Rebalance, event: GroupEvent) -> None:
    """Set the laggard to a member that has not revoked its partitions yet, or else to the slowest one."""
    moves = [move for move in rebalance.events if move.kind in (REVOKING, REVOKED)]
    pending = list(dict.fromkeys(move.member_id for move in moves if move.kind == REVOKING))
    for move in moves:
        if move.kind == REVOKED and move.member_id in pending:
            pending.remove(move.member_id)
    if pending:
        rebalance.laggard, rebalance.laggard_ms = _client(rebalance, pending[0]), None
        return
    slowest = max((move for move in moves if move.kind == REVOKED), key=lambda move: move.duration_us or 0)
    if slowest.duration_us is not None:
        rebalance.laggard, rebalance.laggard_ms = _client(rebalance, slowest.member_id), slowest.duration_us / 1000


def _client(rebalance: Rebalance, member_id: str | None) -> str:
    for event in rebalance.events:
        if member_id and event.member_id == member_id and event.client_id:
            return event.client_id
    return member_id or ""


def _describe_records(detail: Mapping[str, str]) -> Iterator[str]:
    if "topic" not in detail:
        return
    topic_partition = f"{detail['topic']}-{detail['partition']}"
    if "start" in detail:
        yield f"{topic_partition} start {detail['start']}"
        return
    if "to" in detail:
        yield f"{topic_partition} from {detail['from']} to {detail['to']}"
        return
    first, last = detail["first_offset"], detail["last_offset"]
    yield f"{topic_partition} {first if first == last else f'{first}-{last}'}"
    if (count := int(detail["delivery_count"])) > 1:
        yield f"delivery {count}"


def _describe_tasks(detail: Mapping[str, str]) -> Iterator[str]:
    for role in ("active", "standby", "warmup"):
        if role in detail:
            yield f"{role} {detail[role]}"


def cause_of(event: GroupEvent) -> str:
    """Return the cause of an event in words. An unknown cause is followed by the evidence, if there is any."""
    evidence = (event.detail or {}).get("evidence", "") if event.cause in (None, "unknown") else ""
    return f"unknown: {evidence}" if evidence else _phrase(event.cause)


def _phrase(name: str | None) -> str:
    return (name or "unknown").replace("_", " ")


def describe(recorded: Iterable[Recorded], disowned: Callable[[Recorded], bool]) -> Iterator[str]:
    """Yield the timeline of a group, one line for each event, without statistics.

    Args:
        disowned: Returns whether a zombie reported the event.
    """
    first_us: int | None = None
    for entry in recorded:
        event = entry.event
        if event.kind in ("heartbeat_stats", "commit_stats"):
            continue
        first_us = event.mono_us if first_us is None else first_us
        name = event.instance_id or event.client_id or event.member_id or ""
        parts = [f"{(event.mono_us - first_us) / 1_000_000:9.3f} s", event.kind.replace("_", " ")]
        if name:
            parts.append(name)
        parts += _describe_records(event.detail or {}) if event.group_type == SHARE else ()
        parts += _describe_tasks(event.detail or {}) if event.group_type == STREAMS else ()
        if event.cause:
            parts.append(f"({cause_of(event)})")
        if event.error:
            parts.append(event.error)
        if event.generation is not None:
            parts.append(f"generation {event.generation}")
        if event.duration_us is not None:
            parts.append(f"after {event.duration_us / 1000:.0f} ms")
        if disowned(entry):
            parts.append(f"reported by zombie node {entry.node_id}")
        yield " ".join(parts)
