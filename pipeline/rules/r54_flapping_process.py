"""R54: a process of a streams group leaves and rejoins repeatedly, and its tasks move each time.

A client that closes always leaves at once (Kafka's CloseOptions, release 4.3), also after an uncaught exception. One
that exceeds its poll interval leaves and rejoins with its member id. A process that is restarted after a crash has new
members, while the dead ones keep their tasks until their sessions end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kohort.pipeline.history.group_analysis import GroupAnalysis, once
from kohort.pipeline.history.share_members import LEFT, VANISHED
from kohort.pipeline.history.streams_history import StreamsHistory
from kohort.pipeline.history.streams_processes import Process, processes, taken_over
from kohort.pipeline.rules.finding import CERTAIN, INFO, POSSIBLE, WARNING, Finding, busiest, seconds, several, times

ID = "R54"
RETURNS = 3
WINDOW_MS = 30 * 60_000
SHORT_LIFE_MS = 10 * 60_000  # a process with longer stays comes and goes for other reasons, such as deploys


@dataclass(frozen=True, slots=True)
class _Return:
    """Return of a process: `ended` is how its previous stay ended, `lived` whether it kept its member ids."""

    gone_ms: int
    back_ms: int
    moved: int
    ended: str
    lived: bool


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if (streams := analysis.streams) is None:
        return
    flapping = _flapping(analysis)
    for process, came in flapping:
        yield _finding(streams, process, came, together=len(flapping) == len(processes(streams)) > 1)


def flapping_members(analysis: GroupAnalysis) -> set[str]:
    """Return the member ids of all processes that this rule reports."""
    return {member_id for process, _ in _flapping(analysis) for stay in process.stays for member_id in stay.member_ids}


@once
def _flapping(analysis: GroupAnalysis) -> list[tuple[Process, list[_Return]]]:
    if (streams := analysis.streams) is None:
        return []
    returns = ((process, list(_returns(streams, process))) for process in processes(streams))
    return [(process, came) for process, came in returns if _flaps(came)]


def _returns(streams: StreamsHistory, process: Process) -> Iterator[_Return]:
    """Yield the returns of a process after a short stay with tasks."""
    for stay, back in pairwise(process.stays):
        if back.start_ms < streams.since_ms:
            continue
        if stay.end_ms is None or stay.end_ms - stay.start_ms > SHORT_LIFE_MS or not stay.had:
            continue
        if not all(thread.begins_seen for thread in stay.threads):
            continue  # it may have been there for long
        moved = taken_over(streams, stay, back)
        yield _Return(stay.end_ms, back.start_ms, moved, stay.ended, bool(stay.member_ids & back.member_ids))


def _flaps(came: list[_Return]) -> bool:
    return busiest([comeback.back_ms for comeback in came], WINDOW_MS) >= RETURNS


def _finding(streams: StreamsHistory, process: Process, came: list[_Return], *, together: bool) -> Finding:
    away_ms = [comeback.back_ms - comeback.gone_ms for comeback in came]
    orderly = all(comeback.ended == LEFT and not comeback.lived for comeback in came)
    return Finding(
        ID,
        "A process leaves and rejoins repeatedly, and its tasks move",
        INFO if orderly and together else WARNING,
        CERTAIN,
        f"{process.name} left and rejoined {times(len(came))}, absent for {seconds(min(away_ms))} to {seconds(max(away_ms))}; "
        + (
            f"{several(sum(comeback.moved for comeback in came), 'task')} moved to others in that time"
            if any(comeback.moved for comeback in came)
            else "its tasks were not processed in that time"
        )
        + f"; {_how(came)}"
        + ("; all processes of the group did so" if together else ""),
        f"{_advice(process, came)}{_copies(streams, came)}",
        came[0].gone_ms,
        came[-1].back_ms,
        [process.name],
        {
            "restarts": len(came),
            "back_after_ms": list(away_ms),
            "moves": [comeback.moved for comeback in came],
            "expiries": sum(comeback.ended == VANISHED for comeback in came),
        },
        cause_confidence="" if all(comeback.lived or comeback.ended == VANISHED for comeback in came) else POSSIBLE,
    )


def _how(came: list[_Return]) -> str:
    if all(comeback.lived for comeback in came):
        how = {comeback.ended for comeback in came}
        if how == {LEFT}:
            reason = "it exceeded max.poll.interval.ms"
        elif how == {VANISHED}:
            reason = "it was disconnected or paused"
        else:
            reason = "it was disconnected or paused, or exceeded max.poll.interval.ms"
        return f"it was alive in that time, because it came back with its member ids: {reason}"
    if expired := sum(comeback.ended == VANISHED for comeback in came):
        return f"its session expired {times(expired)}"
    if all(comeback.ended == LEFT for comeback in came):
        return "it left the group properly, as on close: after a stop, or an uncaught exception"
    return "the offsets topic does not show whether it left or its sessions expired"


def _advice(process: Process, came: list[_Return]) -> str:
    if all(comeback.lived for comeback in came):
        return (
            f"Find out what delayed {process.name}: pauses of its machine or its network, or records that take longer than "
            "max.poll.interval.ms. If it is only silent, a longer streams.session.timeout.ms of the group "
            "(group.streams.session.timeout.ms for all, within group.streams.max.session.timeout.ms, 60 s unless set) "
            "keeps its tasks assigned. "
        )
    return (
        f"Check what {process.name} logged before it left (an uncaught exception, an out-of-memory kill, a failed liveness "
        "probe), and whether it is restarted on purpose. A longer session does not help: a closed client leaves at once, and "
        "a killed one comes back as a new member, while the tasks of the dead member are not processed until its session "
        "ends. "
    )


def _copies(streams: StreamsHistory, came: list[_Return]) -> str:
    """Describe how to avoid restores of its tasks; empty for stateless tasks."""
    topology = streams.topology_at(came[-1].back_ms)
    if topology is not None and not any(subtopology.stores for subtopology in topology.subtopologies.values()):
        return ""
    elsewhere = "; streams.num.standby.replicas=1 of the group keeps a copy in another process"
    return (
        "Keep state.dir on a disk that outlives the process, because missing state is restored"
        f"{elsewhere if any(comeback.moved for comeback in came) else ''}."
    )
