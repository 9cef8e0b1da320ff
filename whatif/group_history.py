"""The history of groups, from the sources of an analysis, and the figures that it shows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from kohort.base.replaced_names import GROUP
from kohort.pipeline.analysis.local_engine import LocalEngine, read_groups
from kohort.pipeline.history.group_analysis import GroupAnalysis, analyse
from kohort.pipeline.silver.anonymizing import anonymize
from kohort.pipeline.silver.read_sources import expand
from kohort.pipeline.sources.found import Source, find_sources
from kohort.pipeline.sources.window import EVERYTHING, Window
from kohort.whatif.cost_figures import Interval, find_rough_stalls, find_stalls, overlap_ms
from kohort.whatif.played_settings import Settings
from kohort.whatif.script import Script


def read_history(
    sources: Iterable[str | Source],
    groups: Collection[str],
    window: Window = EVERYTHING,
    *,
    anonymous: bool = False,
) -> dict[str, GroupAnalysis]:
    """Return the analyses of groups by their ids. Groups that the sources do not contain are left out.

    Args:
        groups: Names or shell patterns.
        anonymous: Replace all names in the analyses.
    """
    window = replace(window, groups=tuple(groups))
    return dict(each_history(sources, window, anonymous=anonymous)) if groups else {}


def each_history(
    sources: Iterable[str | Source], window: Window, *, anonymous: bool = False
) -> Iterator[tuple[str, GroupAnalysis]]:
    """Yield the id and the analysis of each group that the window selects.

    Args:
        anonymous: Replace all names in the analyses.
    """
    places = list(sources)
    inputs, _ = find_sources([place for place in places if isinstance(place, str)])
    inputs += [place for place in places if isinstance(place, Source)]
    inputs, _ = expand(inputs)
    with tempfile.TemporaryDirectory() as folder:
        silver = Path(folder) / "silver"
        LocalEngine().ingest(inputs, silver, window=window)
        ids: dict[str, str] = {}
        if anonymous:
            original, silver = silver, Path(folder) / "anonymous"
            _, names = anonymize(original, silver)
            ids = {names.replace(GROUP, group.group_id): group.group_id for group in read_groups(original, window)}
        for group in read_groups(silver, window):
            yield ids.get(group.group_id, group.group_id), analyse(group)


def observed_figures(analysis: GroupAnalysis, script: Script, settings: Settings) -> dict[str, float]:
    """Return rebalances and stalls as the records of the group show them, in the time of the script."""
    begin_ms = script.origin_ms
    first, end = script.begins_ms, script.end_ms
    stalls: dict[int, list[Interval]] = {}
    born = {partition: times[0] for partition, times in script.arrivals.items() if times and times[0] < end}
    for partition in born:
        place = script.places[partition] if script.places else (script.topic, partition)
        commits = analysis.group.commits.get(place)
        pairs: list[tuple[int, int]] = []
        if commits is not None:
            pairs = [
                (int(ms) - begin_ms, int(offset) - script.base_offsets.get(partition, 0))
                for ms, offset in zip(commits.ts_ms.tolist(), commits.committed.tolist(), strict=True)
            ]
        find: Callable[..., list[Interval]] = find_stalls if settings.auto_commit_ms is None else find_rough_stalls
        if intervals := find(pairs, script.arrivals[partition], first, end):
            stalls[partition] = intervals
    # Several epochs of the consumer protocol may go into one target, which a broker's log shows.
    targets = {event.ts for event in analysis.group.events if event.kind == "target_computed"}
    rebalances = {ms for ms in targets if first <= ms - begin_ms < end} or {
        rebalance.barrier_ms
        for rebalance in analysis.rebalances
        if rebalance.after.size and first <= rebalance.barrier_ms - begin_ms < end
    }
    return {
        "rebalances": float(len(rebalances)),
        "stalled_partition_seconds": sum(b - a for intervals in stalls.values() for a, b in intervals) / 1000,
        "group_stop_seconds": overlap_ms(stalls, born, first, end) / 1000,
    }
