"""Epochs of the consumer protocol as rebalances."""

from __future__ import annotations

import itertools

from kohort.pipeline.history.consumer_timeline import ConsumerTimeline, Epoch
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.movement import movement
from kohort.pipeline.history.rebalance import Opening, RebalanceFacts


def epoch_rebalances(timeline: ConsumerTimeline, intact_from: int) -> list[RebalanceFacts]:
    """Return one rebalance per epoch, from its record until every member was stable in it."""
    return [_facts(epoch, intact_from) for epoch in timeline.epochs]


def _facts(epoch: Epoch, intact_from: int) -> RebalanceFacts:
    previous, after = epoch.before, epoch.generation or _unfinished(epoch)
    barrier_ms = max(epoch.target_ms or epoch.start_ms, epoch.start_ms)
    trigger = epoch.trigger
    return RebalanceFacts(
        before=previous,
        after=after,
        opening=Opening(
            epoch.start_ms,
            "log",
            1000 * (barrier_ms - epoch.start_ms),
            epoch.cause,
            epoch.confidence,
            member=trigger.member_id if trigger is not None else None,
            client=trigger.name if trigger is not None else None,
        ),
        barrier_ms=barrier_ms,
        stable_ms=epoch.stable_ms or barrier_ms,
        outcome=_outcome(epoch, after),
        kind="conversion" if epoch.cause == "protocol_migration" else ("epoch" if previous.owners else "initial"),
        joined=epoch.joined,
        left=epoch.left,
        eager=False,
        movement=movement(previous, after) if previous.owners and after.owners else None,
        lost=0,
        complete=after.offset < 0 or after.offset >= intact_from,
        sync_us={member: 1000 * (ts_ms - epoch.start_ms) for member, ts_ms in epoch.reconciled.items()},
        downtime=epoch.downtime,
    )


def _outcome(epoch: Epoch, after: Generation) -> str:
    if epoch.stable_ms is None:
        return "superseded" if epoch.superseded else "open"
    if not after.size:
        return "empty"
    return "superseded" if epoch.superseded else "completed"


def epoch_generations(timeline: ConsumerTimeline) -> list[Generation]:
    """Return the settled epochs as consecutive generations, and set the end of each."""
    generations = [epoch.generation for epoch in timeline.epochs if epoch.generation is not None]
    for was, now in itertools.pairwise(generations):
        was.end_ms = now.stable_ms
    return generations


def _unfinished(epoch: Epoch) -> Generation:
    previous = epoch.before
    members = {m: member for m, member in previous.members.items() if m not in epoch.left}
    return Generation(
        epoch.number, epoch.start_ms, None, members, dict(previous.owners), "consumer", "consumer", size=len(members)
    )
