"""R51: a share group falls behind, although it has members."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.share_history import ShareHistory
from kohort.pipeline.history.share_lag import ShareLag, total_lag
from kohort.pipeline.rules.finding import CERTAIN, WARNING, Finding, listed, seconds, several

ID = "R51"
LASTED_MS, MUCH_LAG = 30_000, 100
SAMPLES = 5
TWICE = 2
MOSTLY_UP = 0.8  # minimum fraction of steps between samples without a decrease


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if (share := analysis.share) is None or (rising := _rising(share)) is None:
        return
    (start, first_lag), (end, lag) = rising[0], rising[-1]
    clients = sorted({stay.name for stay in share.stays if stay.start_ms <= end and (stay.end_ms or end) >= start})
    (topic, part), worst = max(share.lags.items(), key=lambda item: _lag_at(item[1], end))
    stands = _lag_at(worst, end) and _start_at(worst, start) == _start_at(worst, end)
    yield Finding(
        ID,
        "The share group falls behind",
        WARNING,
        CERTAIN,
        f"within {seconds(end - start)} its lag grew from {first_lag} to {several(lag, 'record')}, "
        f"{1000 * (lag - first_lag) / (end - start):.1f} more each second, most of it in partition {part} of {topic}"
        + (f", whose start offset stayed at {_start_at(worst, end)}" if stands else "")
        + (f"; its members: {listed(clients)}" if clients else ""),
        "Add members: a share group may have more members than partitions. If the present ones are not busy, check "
        "the records each fetches (max.poll.records), share.partition.max.record.locks of the group "
        "(group.share.partition.max.record.locks for all), which stops deliveries of a partition until some are "
        "acknowledged, and whether records are archived or delivered again.",
        start,
        end,
        clients,
        {"lag": lag, "lasted_ms": end - start, "topic": topic, "part": part, "every_ms": (end - start) // len(rising)},
    )


def _rising(share: ShareHistory) -> list[tuple[int, int]] | None:
    """Return the last period of samples with members and growing lag, or None."""
    samples = [lag_sample for lag_sample in total_lag(share.lags) if _is_there(share, lag_sample[0])]
    lowest = min(range(len(samples)), key=lambda n: (samples[n][1], -n), default=0)
    rising = samples[lowest:]
    if len(rising) < SAMPLES or rising[-1][0] - rising[0][0] < LASTED_MS:
        return None
    up = sum(after >= previous for (_, previous), (_, after) in pairwise(rising))
    much = rising[-1][1] >= max(MUCH_LAG, TWICE * rising[0][1])
    return rising if much and up >= MOSTLY_UP * (len(rising) - 1) else None


def _is_there(share: ShareHistory, ms: int) -> bool:
    return any(stay.start_ms <= ms and (stay.end_ms is None or ms < stay.end_ms) for stay in share.stays)


def _lag_at(samples: ShareLag, ms: int) -> int:
    return next((lag for at, lag in zip(reversed(samples.ms), reversed(samples.lag), strict=True) if at <= ms), 0)


def _start_at(samples: ShareLag, ms: int) -> int:
    starts = (start for at, start in zip(reversed(samples.ms), reversed(samples.start), strict=True) if at <= ms)
    return next(starts, samples.start[0])
