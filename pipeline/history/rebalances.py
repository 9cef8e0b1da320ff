"""Rebalances of a classic group from its generations and events, without conclusions."""

from __future__ import annotations

from kohort.pipeline.history.events_by_kind import GroupEvents
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.movement import eager_members, is_eager, movement
from kohort.pipeline.history.rebalance import Opening, RebalanceFacts

FOLLOW_UP_WITHIN_MS = 10_000


def classic_rebalances(
    generations: list[Generation], events: GroupEvents, from_the_first: bool = True
) -> list[RebalanceFacts]:
    """Return one rebalance per generation, including empty ones, and one that was started and not finished.

    Args:
        from_the_first: Whether the log was read from its first record, so that no earlier generation exists.
    """
    result: list[RebalanceFacts] = []
    previous = Generation(0, generations[0].barrier_ms or generations[0].stable_ms) if generations else None
    sizes: dict[str, int] = {}
    whole = from_the_first  # nothing is missing between the two
    for after in generations:
        assert previous is not None
        if after.number < previous.number or (previous.end_ms is not None and previous.end_ms < after.stable_ms):
            previous = Generation(0, previous.end_ms or after.stable_ms)  # deleted and created again
        result.append(_facts(previous, after, events, _grown(after, sizes), _lost(previous, after, whole)))
        previous, whole = after, after.intact
    if (unfinished := _unfinished(result, events)) is not None:
        result.append(unfinished)
    return result


def _facts(
    previous: Generation,
    after: Generation,
    events: GroupEvents,
    grown: list[tuple[str, int, int]],
    lost: int | None,
) -> RebalanceFacts:
    barrier_ms = after.barrier_ms if after.barrier_ms is not None else after.stable_ms
    earliest_ms = previous.stable_ms if previous.size or previous.number else None
    opening = _opening(previous, after, earliest_ms or 0, barrier_ms, events)
    seen_ms = opening.start_ms if opening is not None else barrier_ms
    evicted = events.evicted_between(seen_ms, after.stable_ms)
    changes = _changes(previous, after, grown)
    kind = _kind(previous, after, opening, changes, seen_ms)
    moving = kind in ("normal", "followup") and previous.owners and after.owners
    return RebalanceFacts(
        before=previous,
        after=after,
        opening=opening,
        barrier_ms=barrier_ms,
        stable_ms=after.stable_ms,
        longest_prepare_ms=None if earliest_ms is None else max(0, barrier_ms - earliest_ms),
        outcome=_outcome(after),
        kind=kind,
        # a conversion has the members of the epoch before, and that epoch's number
        joined=[] if kind == "conversion" else sorted(set(after.members) - set(previous.members)),
        left=sorted(set(previous.members) - set(after.members) - set(evicted)),
        evicted=evicted,
        changes=changes,
        grown=grown,
        eager=is_eager(previous, after) if after.size else None,
        eager_members=eager_members(previous, after) if moving else set(),
        movement=movement(previous, after) if moving else None,
        lost=0 if kind == "conversion" else lost,
        complete=after.intact,
        rejoin_us=events.rejoin_delays(opening.start_ms, barrier_ms) if opening is not None else {},
        sync_us=events.sync_delays(barrier_ms, after.stable_ms) if opening is not None else {},
    )


def _lost(previous: Generation, after: Generation, whole: bool) -> int | None:
    """Count the generations without a record. A text log has a line for each, so a line is missing there."""
    between = max(0, after.number - previous.number - 1)
    is_complete = not between or (whole and after.intact and not after.from_events)
    return between if is_complete else None


def _opening(
    previous: Generation, after: Generation, earliest_ms: int, barrier_ms: int, events: GroupEvents
) -> Opening | None:
    # a conversion has no beginning of its own: it happens when the last member of the consumer protocol leaves
    started = None if after.conversion else events.start_of(previous.number, after.number, earliest_ms, barrier_ms)
    if started is None:
        return None
    start_ms = min(started.ts, barrier_ms)
    prepare_us = 1000 * (barrier_ms - start_ms)
    completion = next(
        (event for event in events.completed if event.generation == after.number and event.duration_us), None
    )
    if completion is not None and abs(completion.ts - barrier_ms) < 1000:
        prepare_us = completion.duration_us or prepare_us
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


def _changes(previous: Generation, after: Generation, grown: list[tuple[str, int, int]]) -> tuple[str, ...]:
    changes = []
    old, new = previous.members, after.members
    if set(old) != set(new):
        changes.append("members")
    if any(old[m].topics != new[m].topics for m in old.keys() & new.keys() if old[m].topics is not None):
        changes.append("subscriptions")
    if previous.protocol and after.protocol and previous.protocol != after.protocol:
        changes.append("protocol")
    if grown:
        changes.append("partitions")
    return tuple(changes)


def _grown(generation: Generation, sizes: dict[str, int]) -> list[tuple[str, int, int]]:
    """Compare with the highest partition number assigned so far.

    A cooperative round omits partitions without losing them.
    """
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
    previous: Generation, after: Generation, opening: Opening | None, changes: tuple[str, ...], seen_ms: int
) -> str:
    if after.conversion:
        return "conversion"
    if previous.size == 0:
        return "initial"
    return "followup" if _is_follow_up(previous, after, opening, changes, seen_ms) else "normal"


def _is_follow_up(
    previous: Generation, after: Generation, opening: Opening | None, changes: tuple[str, ...], seen_ms: int
) -> bool:
    """Return whether this is the second round of a cooperative rebalance, which assigns the revoked partitions."""
    if set(previous.members) != set(after.members) or after.number != previous.number + 1 or not after.members:
        return False
    if "subscriptions" in changes or after.protocol in ("range", "roundrobin", "sticky"):
        return False
    if seen_ms - previous.stable_ms > FOLLOW_UP_WITHIN_MS:
        return False
    return any(topic_partition not in previous.owners for topic_partition in after.owners) or (
        bool(after.owners) and opening is not None and opening.cause == "cooperative_followup"
    )


def _unfinished(rebalances: list[RebalanceFacts], events: GroupEvents) -> RebalanceFacts | None:
    if not events.started:
        return None
    last = events.started[-1]
    newest = rebalances[-1] if rebalances else None
    generation = last.generation or 0
    if newest is not None and (last.ts <= newest.barrier_ms or generation < newest.after.number):
        return None
    previous = newest.after if newest is not None else Generation(generation, last.ts)
    if previous.end_ms is not None:
        return None
    return RebalanceFacts(
        before=previous,
        after=Generation(generation + 1, last.ts),
        opening=Opening(last.ts, _source(last.origin), None, last.cause or "unknown", member=last.member_id),
        barrier_ms=last.ts,
        stable_ms=last.ts,
        outcome="open",
    )
