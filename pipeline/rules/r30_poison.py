"""R30: whoever owns a partition dies, and its committed offset stays: the record there kills its readers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.lag import most_lag
from kohort.pipeline.history.member_sessions import Session
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, INFO, LIKELY, POSSIBLE, Finding, listed, seconds, times
from kohort.pipeline.rules.r42_no_time_to_join import thrown_out

ID = "R30"
DEATHS = 2
_DIED = ("session_expired", "epoch_timeout", "barrier")


_OR_SLOW = "; whether they died of it, or left since it takes longer than max.poll.interval.ms, no source tells"


@dataclass(frozen=True, slots=True)
class Standstill:
    """A stretch in which a partition's committed offset stayed, and the owners that died in it."""

    topic_partition: TopicPartition
    offset: int
    start_ms: int
    end_ms: int
    died: tuple[Session, ...]


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    innocent = thrown_out(analysis)
    died = [s for s in analysis.sessions if s.end_kind in _DIED and s not in innocent]
    if len(died) < DEATHS:
        return
    found = [each for place in analysis.commits.partitions for each in standstills(analysis, place, died)]
    if not found:
        return
    most = max(len(each.died) for each in found)
    worst = [each for each in found if len(each.died) == most]
    waiting = {w.topic_partition: most_lag(analysis.group, w.topic_partition, w.start_ms, w.end_ms) for w in worst}
    worst = [each for each in worst if waiting[each.topic_partition] != 0]
    if not worst:
        return
    first = worst[0]
    clients = list(dict.fromkeys(session.member.name for session in first.died))
    told = all(session.end_confidence == CERTAIN for session in first.died)
    places = [f"{w.topic_partition[0]}-{w.topic_partition[1]}@{w.offset}" for w in worst]
    yield Finding(
        ID,
        "A record that kills its readers",
        CRITICAL,
        LIKELY if len(worst) == 1 and len(clients) + most > DEATHS + 1 else POSSIBLE,
        f"the committed offset stayed at {' or '.join(places[:3])} for {seconds(first.end_ms - first.start_ms)} while its "
        f"owners ended {times(most)} ({listed(clients)})" + ("" if told else _OR_SLOW),
        f"Read the record at {places[0]} (kafka-console-consumer --partition … --offset …), and what the process logged "
        "last. Skip the record or handle its error: else every new owner dies of it.",
        first.start_ms,
        first.end_ms,
        clients,
        {
            "topic": first.topic_partition[0],
            "part": first.topic_partition[1],
            "offset": first.offset,
            "crashes": most,
            "stood_ms": first.end_ms - first.start_ms,
            "lag": waiting[first.topic_partition],
            "members": [session.member.member_id for session in first.died],
        },
        cause_confidence="" if told else POSSIBLE,
    )


def explain(poison: Finding, others: list[Finding]) -> None:
    """The deaths that the record explains are no fault of the instances that died."""
    explained = _members(poison)
    for other in others:
        if other.rule in ("R03", "R05") and _members(other) <= explained:
            other.severity = INFO
            other.advice = f"{ID} explains it: {poison.title}."


def _members(finding: Finding) -> set[str]:
    members = finding.evidence["members"]
    return set(members) if isinstance(members, list) else set()


def standstills(analysis: GroupAnalysis, place: TopicPartition, died: list[Session]) -> Iterator[Standstill]:
    """Times in which a committed offset stayed, and at least two of these sessions ended as owners of its partition."""
    partition = analysis.commits.partitions[place]
    moved = np.flatnonzero(np.concatenate(([True], partition.deltas != 0)))
    times_ms = partition.commits.ts_ms[moved].tolist()
    offsets = partition.commits.committed[moved].tolist()
    last_ms = min(analysis.group.until_ms, analysis.ownership.lived()[1])
    for start_ms, end_ms, offset in zip(times_ms, [*times_ms[1:], last_ms], offsets, strict=True):
        inside = [s for s in died if start_ms < s.last_ms <= end_ms and _owned(analysis, place, s)]
        if len({session.member.member_id for session in inside}) >= DEATHS:
            yield Standstill(place, offset, start_ms, end_ms, tuple(inside))


def _owned(analysis: GroupAnalysis, place: TopicPartition, session: Session) -> bool:
    """Whether the partition was its own when it ended. A generation ends when the next one is stored."""
    return any(
        generation.owners.get(place) == session.member.member_id
        for generation in analysis.generations
        if generation.stable_ms <= session.last_ms
        and (generation.end_ms is None or generation.end_ms >= session.last_ms)
    )
