"""The complete analysis of one group in one value, from which rules and tables are built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar

from kohort.pipeline.history.classic_timeline import Timeline, classic_timeline, timeline_from_events
from kohort.pipeline.history.commit_history import CommitHistory
from kohort.pipeline.history.consumer_events import consumer_timeline_from_events
from kohort.pipeline.history.consumer_timeline import ConsumerTimeline, consumer_timeline
from kohort.pipeline.history.epochs import epoch_generations, epoch_rebalances
from kohort.pipeline.history.events_by_kind import GroupEvents
from kohort.pipeline.history.inputs import Generation, GroupInput
from kohort.pipeline.history.member_sessions import Session, member_sessions, streams_sessions
from kohort.pipeline.history.naming import names_of
from kohort.pipeline.history.partition_owners import Ownership
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.history.rebalances import classic_rebalances
from kohort.pipeline.history.root_cause import explained
from kohort.pipeline.history.share_history import SHARE, ShareHistory, share_history
from kohort.pipeline.history.since import (
    cut_consumer_timeline,
    cut_timeline,
    generations_since,
    rebalances_since,
)
from kohort.pipeline.history.skew import Skew, skew_of
from kohort.pipeline.history.stalls import Stall, find_stalls
from kohort.pipeline.history.storms import Storm, find_storms
from kohort.pipeline.history.streams_history import StreamsHistory, streams_history


@dataclass(slots=True)
class GroupAnalysis:
    group: GroupInput
    timeline: Timeline
    consumer: ConsumerTimeline | None
    events: GroupEvents
    generations: list[Generation]
    rebalances: list[Rebalance]
    commits: CommitHistory
    ownership: Ownership
    sessions: list[Session]
    storms: list[Storm]
    stalls: list[Stall]
    share: ShareHistory | None = None  # fates of records, or None if it is not a share group
    streams: StreamsHistory | None = None  # threads, tasks and topologies, or None if it is not a streams group
    results: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)  # of `once`

    @property
    def skews(self) -> list[Skew | None]:
        """Load skew of each generation, in the order of `generations`; None for one without assignments."""
        return _skews(self)

    @property
    def group_id(self) -> str:
        return self.group.group_id

    @property
    def group_type(self) -> str:
        kinds = {record.group_type for record in self.group.records}
        kinds |= {event.group_type for event in self.group.events if event.group_type}
        if self.share is not None:
            kinds.add(SHARE)
        for kind in ("streams", "share", "consumer", "classic"):
            if kind in kinds:
                return kind
        return "classic" if self.generations or self.events.started else "simple"

    @property
    def span_ms(self) -> tuple[int, int]:
        """First and last time at which anything is known of the group."""
        times = [record.ts_ms for record in self.group.records] + [event.ts for event in self.group.events]
        times += [record.ts_ms for record in self.group.share_states]
        times += [sample.sampled_ms for sample in self.group.share_lags]
        times = [ts_ms for ts_ms in times if ts_ms >= self.group.since_ms]
        if self.commits.first_ms is not None and self.commits.last_ms is not None:
            times += [self.commits.first_ms, self.commits.last_ms]
        return (min(times), max(times)) if times else (0, 0)

    @property
    def settled(self) -> list[Rebalance]:
        """Completed rebalances of a group that had members before and after."""
        return [r for r in self.rebalances if r.outcome == "completed" and r.before.size and r.after.size]

    def is_static(self) -> bool:
        return any(member.instance_id for generation in self.generations for member in generation.members.values())


ResultT = TypeVar("ResultT")


def once(function: Callable[[GroupAnalysis], ResultT]) -> Callable[[GroupAnalysis], ResultT]:
    """Compute a function of an analysis once, since several rules ask for it. Callers must not change the result."""

    @wraps(function)
    def computed_once(analysis: GroupAnalysis) -> ResultT:
        if function not in analysis.results:
            analysis.results[function] = function(analysis)
        result: ResultT = analysis.results[function]
        return result

    return computed_once


@once
def _skews(analysis: GroupAnalysis) -> list[Skew | None]:
    return [skew_of(generation, analysis.commits, analysis.group.until_ms) for generation in analysis.generations]


def analyse(group: GroupInput) -> GroupAnalysis:
    """Return everything computed about a group. Sorts the group's records and events in place."""
    group.records.sort(key=lambda record: record.offset)
    group.events.sort(key=lambda event: (event.ts, event.seq or 0))
    group.names = names_of(group)
    events = GroupEvents.of(group)
    timeline = classic_timeline(group)
    if not timeline.generations:
        timeline = timeline_from_events(group) if events.completed else timeline
    consumer = consumer_timeline(group) or consumer_timeline_from_events(group)
    facts = classic_rebalances(timeline.generations, events, from_the_first=group.intact_from == 0)
    generations = list(timeline.generations)
    for event in group.events:
        if event.kind == "group_converted":
            timeline.conversions.append((event.ts, (event.detail or {}).get("to", "consumer")))
    if group.since_ms:
        cut_timeline(timeline, group.since_ms)
        generations, facts = list(timeline.generations), rebalances_since(facts, group.since_ms)
    if consumer is not None:
        facts += epoch_rebalances(consumer, group.intact_from)
        generations += epoch_generations(consumer)
        facts.sort(key=lambda r: (r.seen_ms, r.stable_ms))
        generations.sort(key=lambda g: g.stable_ms)
    if consumer is not None and group.since_ms:
        cut_consumer_timeline(consumer, group.since_ms)
        generations, facts = (
            generations_since(generations, group.since_ms),
            rebalances_since(facts, group.since_ms),
        )
    commits = CommitHistory.of(group, sorted((r.seen_ms, r.stable_ms) for r in facts))
    rebalances = explained(facts, commits, events, consumer, [ts for ts, _ in group.coordinator_moves])
    ownership = Ownership(generations)
    share = share_history(group)
    # Members of share groups are in no generation, and own nothing: `share` has their stays.
    sessions = (
        member_sessions(group, generations, timeline, consumer, rebalances, events, commits) if share is None else []
    )
    streams = streams_history(group)
    if streams is not None:
        sessions = streams_sessions(streams, events, sessions)
    storms = find_storms(group.group_id, rebalances)
    stalls = find_stalls(group, commits, rebalances, ownership)
    return GroupAnalysis(
        group, timeline, consumer, events, generations, rebalances, commits, ownership, sessions, storms, stalls,
        share, streams,
    )  # fmt: skip
