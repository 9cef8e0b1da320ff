"""Conclusions about each rebalance from facts and commits: cause, laggard and cost."""

from __future__ import annotations

from dataclasses import replace

from kohort.pipeline.history.causes import cause_without_events
from kohort.pipeline.history.commit_history import CommitHistory
from kohort.pipeline.history.consumer_timeline import UNREVOKED, ConsumerTimeline
from kohort.pipeline.history.departures import departure_from_consumer_group
from kohort.pipeline.history.events_by_kind import GroupEvents
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.laggards import find_laggard
from kohort.pipeline.history.rebalance import Cost, Explanation, Laggard, Rebalance, RebalanceFacts, begin_ms


def explained(
    rebalances: list[RebalanceFacts],
    commits: CommitHistory,
    events: GroupEvents,
    consumer: ConsumerTimeline | None,
    moved_ms: list[int],
) -> list[Rebalance]:
    """Return the rebalances of a group, in order.

    Args:
        moved_ms: Times at which its coordinator moved or restarted.
    """
    result = []
    for number, facts in enumerate(rebalances, 1):
        explanation = _explanation(facts, commits, events)
        if _is_open_question(explanation, facts):
            explanation = _how_it_left(explanation, facts, commits, consumer, moved_ms)
        result.append(Rebalance.of(number, facts, explanation, _cost(facts, explanation, commits)))
    return result


def _explanation(facts: RebalanceFacts, commits: CommitHistory, events: GroupEvents) -> Explanation:
    opening = facts.opening
    if facts.outcome == "open":
        assert opening is not None, "an event opened it"
        low, high = _bounds(facts, opening.cause) if facts.is_epoch else (0, None)
        return Explanation(
            cause=opening.cause,
            confidence=opening.confidence,
            trigger_member=opening.member,
            trigger_client=opening.client,
            prepare_lo_ms=low,
            prepare_hi_ms=high,
        )
    laggard = None if facts.is_epoch else find_laggard(facts, commits, events)
    cause, confidence, member = _cause(facts, laggard, commits)
    low, high = _bounds(facts, cause)
    return Explanation(
        cause=cause,
        confidence=confidence,
        trigger_member=member,
        trigger_client=_client(facts, member, events),
        client_reason=opening.reason if opening is not None else None,
        laggard=laggard,
        prepare_lo_ms=low,
        prepare_hi_ms=high,
        prepare_est_ms=laggard.alone_ms if laggard is not None and opening is None else None,
    )


def _is_open_question(explanation: Explanation, facts: RebalanceFacts) -> bool:
    """Return whether a member left a consumer group and no event gives the reason.

    Leaves and expiries look the same.
    """
    has_left = explanation.trigger_member in facts.before.members
    return facts.is_epoch and has_left and (explanation.cause, explanation.confidence) == ("leave_explicit", "possible")


def _how_it_left(
    explanation: Explanation,
    facts: RebalanceFacts,
    commits: CommitHistory,
    consumer: ConsumerTimeline | None,
    moved_ms: list[int],
) -> Explanation:
    assert explanation.trigger_member is not None
    waits = consumer.waits if consumer is not None else []
    revokes = (w for w in waits if w.member_id == explanation.trigger_member and w.state == UNREVOKED)
    slowest_ms = max((wait.length_ms(facts.seen_ms) for wait in revokes), default=0)
    verdict = departure_from_consumer_group(facts, explanation.trigger_member, commits, slowest_ms, moved_ms)
    return replace(explanation, cause=verdict.cause, confidence=verdict.confidence)


def _cause(facts: RebalanceFacts, laggard: Laggard | None, commits: CommitHistory) -> tuple[str, str, str | None]:
    opening = facts.opening
    if facts.kind == "conversion" and not facts.is_epoch:
        return "protocol_migration", "certain", opening.member if opening is not None else None
    if opening is not None:
        cause, confidence, member = opening.cause, opening.confidence, opening.member
    else:
        verdict = cause_without_events(facts, laggard, commits)
        cause, confidence, member = verdict.cause, verdict.confidence, verdict.member
    if facts.is_epoch:
        return cause, confidence, member
    if facts.kind == "followup":
        cause = "cooperative_followup"
    elif cause == "rejoin_leader" and "partitions" in facts.changes and "members" not in facts.changes:
        cause = "topic_metadata_changed" if "subscriptions" not in facts.changes else "metadata_changed"
    return cause, confidence, member


def _bounds(facts: RebalanceFacts, cause: str) -> tuple[int, int | None]:
    if facts.opening is not None:
        length_ms = facts.barrier_ms - facts.opening.start_ms
        return length_ms, length_ms
    if facts.evicted or cause == "barrier_timeout":
        shortest = min(facts.before.rebalance_timeout_ms or 0, facts.longest_prepare_ms or 0)
        return shortest, facts.longest_prepare_ms
    return 0, facts.longest_prepare_ms


def _client(facts: RebalanceFacts, member_id: str | None, events: GroupEvents) -> str | None:
    if not member_id:
        return None
    member = facts.after.members.get(member_id) or facts.before.members.get(member_id)
    return member.name if member else events.names.get(member_id)


def _cost(facts: RebalanceFacts, explanation: Explanation, commits: CommitHistory) -> Cost:
    if facts.outcome == "open":
        return Cost()
    around = {
        topic_partition: commits.around(topic_partition, facts.barrier_ms, facts.stable_ms)
        for topic_partition in facts.before.owners.keys() | facts.after.owners.keys()
        if topic_partition in commits.partitions
    }
    if not facts.after.size or not facts.before.size:
        return Cost(around=around)
    began_ms = begin_ms(facts, explanation)
    if facts.is_epoch:
        down = {topic_partition: (b - a) / 1000 for topic_partition, (a, b) in facts.downtime.items()}
        return Cost(
            around=around,
            unavailable_partition_s=(sum(down.values()),) * 2,
            delayed_records=round(sum(s * commits.throughput(partition, began_ms) for partition, s in down.items())),
        )
    complete_s = (facts.stable_ms - facts.barrier_ms) / 1000
    if facts.opening is not None:
        total_s = (facts.stable_ms - began_ms) / 1000
    else:
        total_s = complete_s + (explanation.prepare_est_ms or 0) / 1000
    unavailable_partition_s, delayed_records = _partition_cost(facts, complete_s, total_s, began_ms, commits)
    return Cost(
        around=around,
        unavailable_member_s=_member_seconds(facts, complete_s, total_s),
        unavailable_partition_s=unavailable_partition_s,
        delayed_records=delayed_records,
    )


def _member_seconds(facts: RebalanceFacts, complete_s: float, total_s: float) -> tuple[float, float]:
    stayed = [m for m in facts.after.members if m in facts.before.members]
    if facts.eager is False:
        stayed = [m for m in stayed if m in facts.eager_members]
    if facts.rejoin_us.keys() >= set(stayed) and facts.sync_us.keys() >= set(stayed) and stayed:
        wait_us = 1000 * (facts.barrier_ms - (facts.start_ms or 0))
        total = sum(wait_us - facts.rejoin_us[m] + facts.sync_us[m] for m in stayed) / 1e6
        return (total, total)
    return (len(stayed) * complete_s, len(stayed) * total_s)


def _partition_cost(
    facts: RebalanceFacts, complete_s: float, total_s: float, began_ms: int, commits: CommitHistory
) -> tuple[tuple[float, float], int]:
    """Return the minimum and maximum seconds in which partitions had no reader, and the number of delayed records."""
    previous, after = facts.before, facts.after
    low = high = 0.0
    delayed = 0
    for topic_partition, owner in previous.owners.items():
        if topic_partition not in after.owners:
            continue
        if facts.eager is False and owner not in facts.eager_members and owner in after.members:
            continue
        down_s = _down_s(facts, topic_partition, owner)
        low += complete_s if down_s is None else down_s
        high += total_s if down_s is None else down_s
        delayed += round((total_s if down_s is None else down_s) * commits.throughput(topic_partition, began_ms))
    return (low, high), delayed


def _down_s(facts: RebalanceFacts, topic_partition: TopicPartition, owner: str) -> float | None:
    """Return how long a partition had no reader, or None if events don't contain its revocation."""
    if owner in facts.evicted:
        stop_ms = facts.barrier_ms
    elif owner in facts.rejoin_us and facts.start_ms is not None:
        stop_ms = facts.start_ms + facts.rejoin_us[owner] // 1000
    else:
        return None
    synced_us = facts.sync_us.get(facts.after.owners[topic_partition])
    resumed_ms = facts.stable_ms if synced_us is None else facts.barrier_ms + synced_us // 1000
    return (resumed_ms - stop_ms) / 1000
