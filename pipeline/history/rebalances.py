"""The rebalances of a classic group as its generations and events show them, before anything is concluded."""

from __future__ import annotations

from kohort.pipeline.history.events_by_kind import GroupEvents
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.movement import eager_members, is_eager, movement
from kohort.pipeline.history.rebalance import Opening, RebalanceFacts

FOLLOW_UP_WITHIN_MS = 10_000


def classic_rebalances(
    generations: list[Generation], events: GroupEvents, from_the_first: bool = True
) -> list[RebalanceFacts]:
    """One per generation, empty ones included; and one that was opened and of which nothing more was seen.

    from_the_first: the log was read from its first record, so that no generation was before the first of these.
    """
    result: list[RebalanceFacts] = []
    before = Generation(0, generations[0].barrier_ms or generations[0].stable_ms) if generations else None
    sizes: dict[str, int] = {}
    whole = from_the_first  # nothing is missing between the two
    for after in generations:
        assert before is not None
        if after.number < before.number or (before.end_ms is not None and before.end_ms < after.stable_ms):
            before = Generation(0, before.end_ms or after.stable_ms)  # deleted and begun anew
        result.append(_facts(before, after, events, _grown(after, sizes), _lost(before, after, whole)))
        before, whole = after, after.intact
    if (unfinished := _unfinished(result, events)) is not None:
        result.append(unfinished)
    return result


def _facts(
    before: Generation,
    after: Generation,
    events: GroupEvents,
    grown: list[tuple[str, int, int]],
    lost: int | None,
) -> RebalanceFacts:
    barrier_ms = after.barrier_ms if after.barrier_ms is not None else after.stable_ms
    earliest_ms = before.stable_ms if before.size or before.number else None
    opening = _opening(before, after, earliest_ms or 0, barrier_ms, events)
    seen_ms = opening.start_ms if opening is not None else barrier_ms
    evicted = events.evicted_between(seen_ms, after.stable_ms)
    changes = _changes(before, after, grown)
    kind = _kind(before, after, opening, changes, seen_ms)
    moving = kind in ("normal", "followup") and before.owners and after.owners
    return RebalanceFacts(
        before=before,
        after=after,
        opening=opening,
        barrier_ms=barrier_ms,
        stable_ms=after.stable_ms,
        longest_prepare_ms=None if earliest_ms is None else max(0, barrier_ms - earliest_ms),
        outcome=_outcome(after),
        kind=kind,
        # a conversion has the members of the epoch before, and that epoch's number
        joined=[] if kind == "conversion" else sorted(set(after.members) - set(before.members)),
        left=sorted(set(before.members) - set(after.members) - set(evicted)),
        evicted=evicted,
        changes=changes,
        grown=grown,
        eager=is_eager(before, after) if after.size else None,
        eager_members=eager_members(before, after) if moving else set(),
        movement=movement(before, after) if moving else None,
        lost=0 if kind == "conversion" else lost,
        complete=after.intact,
        rejoin_us=events.rejoin_delays(opening.start_ms, barrier_ms) if opening is not None else {},
        sync_us=events.sync_delays(barrier_ms, after.stable_ms) if opening is not None else {},
    )


def _lost(before: Generation, after: Generation, whole: bool) -> int | None:
    """Generations of which no record was written. A text log has a line for each, so that one is missing there."""
    between = max(0, after.number - before.number - 1)
    known = not between or (whole and after.intact and not after.from_events)
    return between if known else None


def _opening(
    before: Generation, after: Generation, earliest_ms: int, barrier_ms: int, events: GroupEvents
) -> Opening | None:
    # a conversion has no beginning of its own: it happens when the last member of the consumer protocol leaves
    started = None if after.conversion else events.start_of(before.number, after.number, earliest_ms, barrier_ms)
    if started is None:
        return None
    start_ms = min(started.ts, barrier_ms)
    prepare_us = 1000 * (barrier_ms - start_ms)
    done = next((each for each in events.completed if each.generation == after.number and each.duration_us), None)
    if done is not None and abs(done.ts - barrier_ms) < 1000:
        prepare_us = done.duration_us or prepare_us
    cause, reason = started.cause or "unknown", started.client_reason
    removal = events.removal_of(started.member_id, start_ms)
    if cause == "leave_explicit" and removal is not None and removal.cause == "leave_poll_timeout":
        cause, reason = "leave_poll_timeout", removal.reason
    return Opening(
        start_ms,
        _source(started.origin),
        prepare_us,
        cause,
        member=started.member_id,
        reason=reason,
        rebalance_id=started.rebalance_id,
    )


def _source(origin: str) -> str:
    return "text_log" if origin == "text_log" else "event"


def _changes(before: Generation, after: Generation, grown: list[tuple[str, int, int]]) -> tuple[str, ...]:
    changes = []
    old, new = before.members, after.members
    if set(old) != set(new):
        changes.append("members")
    if any(old[m].topics != new[m].topics for m in old.keys() & new.keys() if old[m].topics is not None):
        changes.append("subscriptions")
    if before.protocol and after.protocol and before.protocol != after.protocol:
        changes.append("protocol")
    if grown:
        changes.append("partitions")
    return tuple(changes)


def _grown(generation: Generation, sizes: dict[str, int]) -> list[tuple[str, int, int]]:
    """By the highest number assigned so far: a cooperative round leaves partitions out without losing them."""
    now: dict[str, int] = {}
    for topic, part in generation.owners:
        now[topic] = max(now.get(topic, 0), part + 1)
    grown = [(topic, sizes[topic], size) for topic, size in sorted(now.items()) if size > sizes.get(topic, size)]
    for topic, size in now.items():
        sizes[topic] = max(sizes.get(topic, 0), size)
    return grown


def _outcome(after: Generation) -> str:
    if not after.size:
        return "empty"
    # With events only, a generation whose assignment never came was lost to the next one.
    if after.from_events and after.stable_ms == after.barrier_ms and after.end_ms is not None:
        return "superseded"
    return "completed"


def _kind(
    before: Generation, after: Generation, opening: Opening | None, changes: tuple[str, ...], seen_ms: int
) -> str:
    if after.conversion:
        return "conversion"
    if before.size == 0:
        return "initial"
    return "followup" if _is_follow_up(before, after, opening, changes, seen_ms) else "normal"


def _is_follow_up(
    before: Generation, after: Generation, opening: Opening | None, changes: tuple[str, ...], seen_ms: int
) -> bool:
    """The second round of a cooperative rebalance, in which freed partitions find their new owner."""
    if set(before.members) != set(after.members) or after.number != before.number + 1 or not after.members:
        return False
    if "subscriptions" in changes or after.protocol in ("range", "roundrobin", "sticky"):
        return False
    if seen_ms - before.stable_ms > FOLLOW_UP_WITHIN_MS:
        return False
    return any(topic_partition not in before.owners for topic_partition in after.owners) or (
        bool(after.owners) and opening is not None and opening.cause == "cooperative_followup"
    )


def _unfinished(rebalances: list[RebalanceFacts], events: GroupEvents) -> RebalanceFacts | None:
    """A rebalance that was opened and of which nothing more was seen."""
    if not events.started:
        return None
    last = events.started[-1]
    newest = rebalances[-1] if rebalances else None
    generation = last.generation or 0
    if newest is not None and (last.ts <= newest.barrier_ms or generation < newest.after.number):
        return None
    before = newest.after if newest is not None else Generation(generation, last.ts)
    if before.end_ms is not None:
        return None
    return RebalanceFacts(
        before=before,
        after=Generation(generation + 1, last.ts),
        opening=Opening(last.ts, _source(last.origin), None, last.cause or "unknown", member=last.member_id),
        barrier_ms=last.ts,
        stable_ms=last.ts,
        outcome="open",
    )
