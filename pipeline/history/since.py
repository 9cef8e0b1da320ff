"""Filters that drop what ended before the requested period, but keep what was in effect at its start."""

from __future__ import annotations

from kohort.pipeline.history.classic_timeline import Timeline
from kohort.pipeline.history.consumer_timeline import ConsumerTimeline
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.rebalance import RebalanceFacts


def generations_since(generations: list[Generation], since_ms: int) -> list[Generation]:
    return [generation for generation in generations if generation.end_ms is None or generation.end_ms > since_ms]


def rebalances_since(rebalances: list[RebalanceFacts], since_ms: int) -> list[RebalanceFacts]:
    return [rebalance for rebalance in rebalances if rebalance.stable_ms >= since_ms]


def cut_timeline(timeline: Timeline, since_ms: int) -> None:
    timeline.generations = generations_since(timeline.generations, since_ms)
    timeline.swaps = [swap for swap in timeline.swaps if swap.ts_ms >= since_ms]
    timeline.gone_ms = [ts_ms for ts_ms in timeline.gone_ms if ts_ms >= since_ms]
    timeline.conversions = [(ts_ms, to) for ts_ms, to in timeline.conversions if ts_ms >= since_ms]


def cut_consumer_timeline(timeline: ConsumerTimeline, since_ms: int) -> None:
    """Drop the ended parts of a consumer group's timeline, except its epochs.

    Epochs are cut as generations and rebalances.
    """
    timeline.waits = [entry for entry in timeline.waits if entry.end_ms is None or entry.end_ms >= since_ms]
    timeline.stays = [entry for entry in timeline.stays if entry.end_ms is None or entry.end_ms >= since_ms]
    timeline.regex_writes = [entry for entry in timeline.regex_writes if entry[0] >= since_ms]
    timeline.away = [entry for entry in timeline.away if entry[0] >= since_ms]
    timeline.returned = [entry for entry in timeline.returned if entry[0] >= since_ms]
