"""Leaves out what was over before the time that somebody asks about. What was in force at its beginning stays."""

from __future__ import annotations

from kohort.pipeline.history.classic_timeline import Timeline
from kohort.pipeline.history.consumer_timeline import ConsumerTimeline
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.rebalance import RebalanceFacts


def generations_since(generations: list[Generation], since_ms: int) -> list[Generation]:
    """Those that ended later, or have not ended."""
    return [each for each in generations if each.end_ms is None or each.end_ms > since_ms]


def rebalances_since(rebalances: list[RebalanceFacts], since_ms: int) -> list[RebalanceFacts]:
    """Those that ended later."""
    return [each for each in rebalances if each.stable_ms >= since_ms]


def cut_timeline(timeline: Timeline, since_ms: int) -> None:
    """Takes from a classic group's timeline what was over."""
    timeline.generations = generations_since(timeline.generations, since_ms)
    timeline.swaps = [each for each in timeline.swaps if each.ts_ms >= since_ms]
    timeline.gone_ms = [ts_ms for ts_ms in timeline.gone_ms if ts_ms >= since_ms]
    timeline.conversions = [(ts_ms, to) for ts_ms, to in timeline.conversions if ts_ms >= since_ms]


def cut_consumer_timeline(timeline: ConsumerTimeline, since_ms: int) -> None:
    """Takes from a consumer group's timeline what was over. Its epochs are cut as generations and rebalances."""
    timeline.waits = [each for each in timeline.waits if each.end_ms is None or each.end_ms >= since_ms]
    timeline.stays = [each for each in timeline.stays if each.end_ms is None or each.end_ms >= since_ms]
    timeline.regex_writes = [each for each in timeline.regex_writes if each[0] >= since_ms]
    timeline.away = [each for each in timeline.away if each[0] >= since_ms]
    timeline.returned = [each for each in timeline.returned if each[0] >= since_ms]
