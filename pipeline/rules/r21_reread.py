"""R21: records are processed again after a move, after a handover without a commit, or after a position was reset."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.departures import usual_gap_ms
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules.finding import CERTAIN, INFO, LIKELY, WARNING, Finding, listed, seconds, several, times
from kohort.pipeline.rules.r16_coordinator_moved import lost_with_a_move
from kohort.pipeline.rules.r33_two_committers import jumping as two_committers
from kohort.pipeline.rules.r44_topic_made_again import made_again

ID = "R21"
UNCOMMITTED_MS = 5000
REBALANCES, LATE_COMMITS, SHARE_LATE = 3, 5, 0.4
BATCH_MS, JUST_NOW_MS = 2_000, 500


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    yield from _after_a_move(analysis)
    yield from _handed_over_uncommitted(analysis)
    yield from _set_back(analysis)
    yield from _work_in_progress(analysis)


def _after_a_move(analysis: GroupAnalysis) -> Iterator[Finding]:
    hits = []
    recreated = made_again(analysis)
    for r in analysis.settled:
        for topic_partition, around in r.cost.around.items():
            old, new = r.before.owners.get(topic_partition), r.after.owners.get(topic_partition)
            if topic_partition[0] in recreated:
                continue
            if around.reread and old != new and old is not None and new is not None:
                hits.append((r, topic_partition, around.reread, old))
    if not hits:
        return
    clients = list(dict.fromkeys(r.before.members[old].name for r, _, _, old in hits if old in r.before.members))
    total = sum(count for _, _, count, _ in hits)
    yield Finding(
        ID,
        "Records are processed again after a rebalance",
        WARNING,
        CERTAIN,
        f"the new owners started {total} records before the last commit of {listed(clients)} "
        f"({several(len(hits), 'partition')})",
        "Commit in the revoke callback, commit more often, and make processing safe to repeat.",
        hits[0][0].begin_ms,
        hits[-1][0].stable_ms,
        clients,
        {"records": total, "partitions": len(hits), "rebalances": sorted({r.number for r, *_ in hits})},
    )


def _handed_over_uncommitted(analysis: GroupAnalysis) -> Iterator[Finding]:
    """Find members that sent heartbeats until their session expired, but whose commits had stopped long before."""
    without_coordinator = lost_with_a_move(analysis)
    for session in analysis.sessions:
        timeout = session.member.session_timeout_ms
        if session.end_kind not in ("session_expired", "barrier") or not timeout or session in without_coordinator:
            continue
        generation = analysis.ownership.generation_at(session.last_ms - 1)
        mine = generation.parts_of(session.member.member_id) if generation else set()
        last = analysis.commits.last_of(mine, session.last_ms)
        usual = max(
            (gap for topic_partition in mine if (gap := analysis.commits.usual_gap_ms(topic_partition))), default=0.0
        )
        if last is None or generation is None or last < generation.stable_ms:
            continue
        alive_ms = session.last_ms - timeout - last
        if alive_ms < max(UNCOMMITTED_MS, 3 * usual) or session.end_kind == "barrier":
            continue
        records = round(
            sum(analysis.commits.throughput(topic_partition, last) for topic_partition in mine) * alive_ms / 1000
        )
        name = session.member.name
        yield Finding(
            ID,
            "Handed over without a commit",
            WARNING,
            LIKELY,
            f"{name} had not committed for about {seconds(alive_ms)} when its session expired, although it was alive until then; the "
            f"next owners process these records again (about {records})",
            "Commit at shorter intervals or after every batch, find out why commits stopped, and make processing safe to "
            "repeat.",
            last,
            session.last_ms,
            [name],
            {"uncommitted_ms": alive_ms, "records_estimate": records, "partitions": len(mine)},
        )


def _set_back(analysis: GroupAnalysis) -> Iterator[Finding]:
    jumping, recreated = two_committers(analysis), made_again(analysis)
    hits = [
        s
        for s in analysis.stalls
        if s.kind == "rewind" and s.during_rebalance is None and s.topic_partition and s.topic_partition not in jumping
        if s.topic_partition[0] not in recreated
    ]
    if not hits:
        return
    alive = [s for s in hits if s.owner]
    owners = list(dict.fromkeys(s.owner for s in alive if s.owner))
    topics = listed(sorted({s.topic_partition[0] for s in hits if s.topic_partition}))
    moments = sorted({s.start_ms // 1000 for s in hits})
    far = max(s.offsets for s in hits)
    if alive:
        text = f"{listed(owners)} moved positions of {topics} back by up to {far} records, {times(len(moments))}, without a "
        text += "rebalance"
    else:
        text = (
            f"positions of {topics} were moved back by up to {far} records while the group had no members: by an operator's "
            "reset, or by a consumer without membership (assign)"
        )
    yield Finding(
        ID,
        "A position was reset to an earlier offset",
        WARNING if alive else INFO,
        CERTAIN,
        text,
        "Ignore this if it was intended. Otherwise check that client for seek or auto.offset.reset, or find "
        "out who reset the offsets.",
        hits[0].start_ms,
        hits[-1].end_ms,
        owners,
        {
            "times": len(moments),
            "records": far,
            "partitions": len({s.topic_partition for s in hits}),
            "while_empty": not alive,
        },
    )


def _work_in_progress(analysis: GroupAnalysis) -> Iterator[Finding]:
    """Find members that process batches without commits during a rebalance, so that their later commit is rejected."""
    uncommitted: list[tuple[Rebalance, str, set[TopicPartition], int]] = []
    eligible = 0
    for r in analysis.settled:
        if r.is_epoch or r.kind != "normal" or r.start_ms is None:
            continue
        shares = r.before.shares()
        for member_id in r.before.members.keys() & r.after.members.keys():
            age_ms = _uncommitted_ms(analysis, r, shares[member_id])
            eligible += age_ms is not None
            if age_ms:
                uncommitted.append((r, member_id, shares[member_id], age_ms))
    if len({r.number for r, *_ in uncommitted}) < REBALANCES or len(uncommitted) < max(
        LATE_COMMITS, SHARE_LATE * eligible
    ):
        return
    clients = sorted({r.before.members[member_id].name for r, member_id, *_ in uncommitted})
    ages = sorted(age_ms for *_, age_ms in uncommitted)
    records = round(
        sum(
            analysis.commits.throughput(place, r.begin_ms) * age_ms / 1000
            for r, _, mine, age_ms in uncommitted
            for place in mine
        )
    )
    rounds = {r.number for r, *_ in uncommitted}
    yield Finding(
        ID,
        "Batches are processed twice at rebalances",
        WARNING,
        LIKELY,
        f"at {several(len(rounds), 'rebalance')} {listed(clients)} had not committed their current batch, up to "
        f"{seconds(ages[-1])} of work each: the new owner processes it again (about {records} records in total), and a "
        "commit after the rebalance is rejected (CommitFailedException, ILLEGAL_GENERATION)",
        "Commit in the revoke callback (Java: onPartitionsRevoked, aiokafka: on_partitions_revoked), or finish the batch there "
        "before the rebalance continues. Smaller batches reduce the effect. Processing must be idempotent in any case.",
        uncommitted[0][0].begin_ms,
        uncommitted[-1][0].stable_ms,
        clients,
        {"times": len(rounds), "uncommitted_ms": ages[-1], "records_estimate": records, "rebalances": sorted(rounds)},
        cause_confidence=LIKELY,
    )


def _uncommitted_ms(analysis: GroupAnalysis, r: Rebalance, mine: set[TopicPartition]) -> int | None:
    """Return the age of a member's last commit when a rebalance began, if it committed nothing more before the barrier.

    0 means that it committed in that time. None means unknown, since it commits at short intervals or had nothing to
    commit.
    """
    usual = usual_gap_ms(mine, analysis.commits)
    last = analysis.commits.last_of(mine, r.barrier_ms)
    after = analysis.commits.first_of(mine, r.stable_ms)
    if last is None or after is None or usual < BATCH_MS or last < r.before.stable_ms:
        return None
    moved = any(a.first_committed != a.last_committed for p, a in r.cost.around.items() if p in mine)
    if not moved:
        return None
    age_ms = r.begin_ms - last
    return 0 if age_ms < JUST_NOW_MS else age_ms
