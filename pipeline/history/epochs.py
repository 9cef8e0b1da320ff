"""Epochs of the new protocol as rebalances."""

from __future__ import annotations

import itertools

from kohort.pipeline.history.consumer_timeline import ConsumerTimeline, Epoch
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.movement import movement
from kohort.pipeline.history.rebalances import Rebalance


def epoch_rebalances(timeline: ConsumerTimeline, intact_from: int) -> list[Rebalance]:
    """One rebalance per epoch: from its record to the moment every member was stable in it."""
    result = []
    for number, epoch in enumerate(timeline.epochs, 1):
        after = epoch.generation or _unfinished(epoch)
        r = Rebalance(number, epoch.before, after)
        r.kind, r.eager = "epoch", False
        if epoch.cause == "protocol_migration":
            r.kind = "conversion"
        elif not epoch.before.owners:
            r.kind = "initial"
        r.start_ms, r.start_source = epoch.start_ms, "log"
        r.barrier_ms = max(epoch.target_ms or epoch.start_ms, epoch.start_ms)
        r.stable_ms = epoch.stable_ms or r.barrier_ms
        r.prepare_us = 1000 * (r.barrier_ms - epoch.start_ms)
        r.prepare_lo_ms = r.prepare_hi_ms = r.barrier_ms - epoch.start_ms
        r.cause, r.cause_confidence = epoch.cause, epoch.confidence
        if epoch.trigger is not None:
            r.trigger_member, r.trigger_client = epoch.trigger.member_id, epoch.trigger.name
        r.joined, r.left = epoch.joined, epoch.left
        if epoch.stable_ms is None:
            r.outcome = "superseded" if epoch.superseded else "open"
        elif not after.size:
            r.outcome = "empty"
        elif epoch.superseded:
            r.outcome = "superseded"
        r.sync_us = {m: 1000 * (ts - epoch.start_ms) for m, ts in epoch.reconciled.items()}
        r.downtime = epoch.downtime
        r.lost = 0
        r.complete = after.offset < 0 or after.offset >= intact_from
        if epoch.before.owners and after.owners:
            r.movement = movement(epoch.before, after)
        result.append(r)
    return result


def epoch_generations(timeline: ConsumerTimeline, gone_ms: list[int]) -> list[Generation]:
    """Settled epochs one after another, for the analysis and for who owned what."""
    generations = [epoch.generation for epoch in timeline.epochs if epoch.generation is not None]
    for was, now in itertools.pairwise(generations):
        was.end_ms = now.stable_ms
    return generations


def _unfinished(epoch: Epoch) -> Generation:
    before = epoch.before
    members = {m: member for m, member in before.members.items() if m not in epoch.left}
    return Generation(
        epoch.number, epoch.start_ms, None, members, dict(before.owners), "consumer", "consumer", size=len(members)
    )
