"""What happened to a group: its rebalances one after the other, as a test asks for them.

Made of the group events that the event log writes too. Nothing here is measured anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kohort.coordinator.events.group_event import GroupEvent
from kohort.protocol.assignment_moves import moves_in

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded

CLASSIC, SHARE, STREAMS = "classic", "share", "streams"
STARTS, JOINED, ASSIGNED, SYNCED, SYNC_TIMEOUT, COMPLETED, SUPERSEDED = (
    "rebalance_started",
    "join_completed",
    "assignment_received",
    "member_synced",
    "sync_timeout",
    "rebalance_completed",
    "rebalance_superseded",
)
BUMPED, COMPUTED, REVOKING, REVOKED, GIVEN, RECONCILED, CONVERTED = (
    "epoch_bumped",
    "target_computed",
    "member_revoking",
    "member_revoked",
    "member_assigned",
    "group_reconciled",
    "group_converted",
)
"""Kinds of events of consumer groups (KIP-848)."""
MEMBER_RECONCILED, REMOVED = "member_reconciled", "member_removed"
OPEN, DONE, GIVEN_UP = "open", "completed", "superseded"


@dataclass
class Rebalance:
    """One rebalance, from its cause to the assignments, or to the next one that came in between.

    In a consumer group it begins with another group epoch, and ends when all members have reached its target. So it
    does in a share group, between whose members nothing moves.
    """

    generation: int
    """The one it led to, or would have; while it is open, the one before. In a consumer group the group epoch."""
    cause: str
    """In words: `session expired`, `join new`; the names are those of the event log."""
    actor: str
    """The client whose doing it was; empty where it was nobody's."""
    outcome: str = OPEN
    """`open`, `completed` or `superseded`."""
    prepare_ms: float | None = None
    """How long the join phase took; None while it is open. In a consumer group: until the target was computed."""
    complete_ms: float | None = None
    """From there to the stored assignment; in a consumer group until all members had reached their target."""
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()
    """Member ids; who did not rejoin in time."""
    laggard: str = ""
    """The client id of the member that the group waited for last; empty if it waited for none, or only for a delay.

    In a consumer group the one that took longest to give up partitions, or has not yet.
    """
    laggard_ms: float | None = None
    """For how long it was waited for; None: it still is, or nobody was."""
    members: int = 0
    moved: int | None = None
    """Partitions that had an owner and were given another one; None: nothing was assigned yet, or it is not known."""
    fewest_moves: int | None = None
    """How few an even distribution had to move; None, too, where members subscribe to different topics."""
    unowned_partition_s: float = 0.0
    """For how long partitions were nobody's before their new owners heard of them, all added up."""
    group_type: str = "classic"
    """`classic`, `consumer`, `share` or `streams`."""
    events: list[GroupEvent] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        """In one line."""
        who = f" ({self.actor})" if self.actor else ""
        if self.group_type == CLASSIC:
            parts = [f"generation {self.generation}: {self.cause}{who}, {self.outcome}", *self._phases()]
        else:
            parts = [f"epoch {self.generation}: {self.cause}{who}, {self.outcome}", *self._steps()]
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
            yield f"{self.laggard} has not given up partitions"
        elif self.laggard and self.outcome == GIVEN_UP:
            yield f"waited {self.laggard_ms:.0f} ms for {self.laggard} to give up partitions"
        elif self.laggard:
            yield f"{self.laggard} took {self.laggard_ms:.0f} ms to give up partitions"
        if self.complete_ms is not None:
            yield f"reconciled in {self.complete_ms:.0f} ms"


def rebalances(events: Iterable[GroupEvent]) -> list[Rebalance]:
    """The rebalances in a group's events, in order."""
    found: list[Rebalance] = []
    for event in events:
        if event.kind in (STARTS, BUMPED, CONVERTED) and found and found[-1].outcome == OPEN:
            _give_up(found[-1], event)
        if event.kind == BUMPED:
            found.append(_begun(event))
        if event.kind == STARTS:
            found.append(Rebalance(event.generation or 0, cause_of(event), event.client_id or ""))
        if found:
            found[-1].events.append(event)
            if found[-1].outcome == OPEN:
                _take(found[-1], event)
            if event.kind in (SYNCED, GIVEN) and event.detail:  # perhaps when the rebalance is over
                found[-1].unowned_partition_s += int(event.detail.get("unowned_us", 0)) / 1_000_000
    return found


def _begun(event: GroupEvent) -> Rebalance:
    """A group of a newer protocol has another epoch."""
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


def _give_up(rebalance: Rebalance, event: GroupEvent) -> None:
    """Mark a rebalance as superseded, perhaps by the removal of the member that it waited for."""
    rebalance.outcome = GIVEN_UP
    if event.kind == BUMPED and event.cause == "session_expired" and _has_not_reconciled(rebalance, event.member_id):
        # A frozen member does not receive that it must revoke partitions, so no event reports that it is revoking.
        rebalance.laggard = _client(rebalance, event.member_id) if event.client_id is None else event.client_id
        rebalance.laggard_ms = (event.mono_us - rebalance.events[0].mono_us) / 1000
    elif event.kind == BUMPED and event.evicted:
        rebalance.laggard = _client(rebalance, event.evicted[0])
        asked = [each for each in rebalance.events if each.kind == REVOKING and each.member_id == event.evicted[0]]
        rebalance.laggard_ms = (event.mono_us - asked[-1].mono_us) / 1000 if asked else None


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
    """What happens in a rebalance of a group of a newer protocol."""
    detail = event.detail or {}
    if event.kind == COMPUTED:
        rebalance.prepare_ms = int(detail["since_bump_us"]) / 1000
        rebalance.moved, rebalance.fewest_moves = moves_in(detail)
    elif event.kind == REVOKING and (not rebalance.laggard or rebalance.laggard_ms is not None):
        rebalance.laggard, rebalance.laggard_ms = _client(rebalance, event.member_id), None
    elif event.kind == REVOKED:
        _revoked(rebalance, event)
    elif event.kind == RECONCILED:
        rebalance.complete_ms = (event.duration_us or 0) / 1000 - (rebalance.prepare_ms or 0)
        rebalance.outcome = DONE


def _revoked(rebalance: Rebalance, event: GroupEvent) -> None:
    """The one that took longest counts, or one that has not given up its partitions yet."""
    moves = [each for each in rebalance.events if each.kind in (REVOKING, REVOKED)]
    left = list(dict.fromkeys(each.member_id for each in moves if each.kind == REVOKING))
    for each in moves:
        if each.kind == REVOKED and each.member_id in left:
            left.remove(each.member_id)
    if left:
        rebalance.laggard, rebalance.laggard_ms = _client(rebalance, left[0]), None
        return
    slowest = max((each for each in moves if each.kind == REVOKED), key=lambda each: each.duration_us or 0)
    if slowest.duration_us is not None:
        rebalance.laggard, rebalance.laggard_ms = _client(rebalance, slowest.member_id), slowest.duration_us / 1000


def _client(rebalance: Rebalance, member_id: str | None) -> str:
    for event in rebalance.events:
        if member_id and event.member_id == member_id and event.client_id:
            return event.client_id
    return member_id or ""


def _of_records(detail: Mapping[str, str]) -> Iterator[str]:
    """Which records of a share group an event is about, and which delivery it is."""
    if "topic" not in detail:
        return
    where = f"{detail['topic']}-{detail['partition']}"
    if "start" in detail:
        yield f"{where} start {detail['start']}"
        return
    if "to" in detail:
        yield f"{where} from {detail['from']} to {detail['to']}"
        return
    first, last = detail["first_offset"], detail["last_offset"]
    yield f"{where} {first if first == last else f'{first}-{last}'}"
    if (count := int(detail["delivery_count"])) > 1:
        yield f"delivery {count}"


def _of_tasks(detail: Mapping[str, str]) -> Iterator[str]:
    """Which tasks of a streams group an event is about, by role."""
    for role in ("active", "standby", "warmup"):
        if role in detail:
            yield f"{role} {detail[role]}"


def cause_of(event: GroupEvent) -> str:
    """The cause of an event as a person writes it. One that is not known is followed by what is, if that is told."""
    evidence = (event.detail or {}).get("evidence", "") if event.cause in (None, "unknown") else ""
    return f"unknown: {evidence}" if evidence else words(event.cause)


def words(name: str | None) -> str:
    """A cause's name as a person writes it."""
    return (name or "unknown").replace("_", " ")


def describe(recorded: Iterable[Recorded], disowned: Callable[[Recorded], bool]) -> Iterator[str]:
    """The timeline of a group, a line an event; what is only counted is left out.

    `disowned`: whether a zombie reported it.
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
        parts += _of_records(event.detail or {}) if event.group_type == SHARE else ()
        parts += _of_tasks(event.detail or {}) if event.group_type == STREAMS else ()
        if event.cause:
            parts.append(f"({cause_of(event)})")
        if event.error:
            parts.append(event.error)
        if event.generation is not None:
            parts.append(f"generation {event.generation}")
        if event.duration_us is not None:
            parts.append(f"after {event.duration_us / 1000:.0f} ms")
        if disowned(each):
            parts.append(f"says the zombie, node {each.node_id}")
        yield " ".join(parts)
