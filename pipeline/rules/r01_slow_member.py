"""R01: one slow member stalled the whole group.

The join barrier waits for all members. A rebalance counts if its wait was long and caused by one member alone. A wait
for a member that had died belongs to the finding about its session (R03, R04, R05), if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules import r03_session_expiry, r04_rolling_restart, r05_crash_loop
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, LIKELY, WARNING, Finding, seconds, times, what_if
from kohort.pipeline.rules.waits import LONG_STOP_MS, Waits, began_long_before, is_for_dead, long_waits, waits_of

ID = "R01"
# with a cooperative assignor the others continue to consume
_TITLES = {True: "One slow member stalled the group", False: "One slow member delayed the rebalance"}
_ADVICE = (
    "Check what {client} does between two polls. Use a smaller max.poll.records, or move the work off the poll thread. "
    "Raise max.poll.interval.ms only if the processing needs it: one member can stop the group for that long "
    "(now {timeout}). {protocol}"
)
_STATIC = (
    "Find out why {client} did not answer (a pause, a suspended host, a blocked poll thread), and remove it by its instance id if "
    "it won't return. A session.timeout.ms below max.poll.interval.ms (now {timeout}) ends such a wait sooner. {protocol}"
)
_DEAD = (
    "Find out why {client} ended without leaving the group. A shorter session.timeout.ms ends such a wait sooner; with "
    "group.instance.id a restarted process takes its place at once. {protocol}"
)
_NEEDS_COMMITS = (
    "Analyze the offsets topic, too: give a bootstrap address or a copy of its segment files. Commits show which member was busy. "
    "Then check what that member does between two polls."
)
_SEVERAL = "Check what the members do between two polls: several were slow, and no single member made the group wait."
_COOPERATIVE = (
    "With the cooperative assignor the others continue to consume, but new members and revoked partitions wait."
)
_EAGER = (
    "With cooperative-sticky or group.protocol=consumer the others keep reading in such a wait, but a rolling restart has more "
    "rebalances (cooperative-sticky) or slower ones (consumer protocol)."
)


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    by_client: dict[str, list[Rebalance]] = {}
    dead: list[Rebalance] = []
    unknown: list[Rebalance] = []
    for r in long_waits(analysis):
        if is_for_dead(r):
            dead.append(r)
        elif r.why.laggard is not None:
            by_client.setdefault(r.why.laggard.client, []).append(r)
        elif r.start_ms is not None and r.kind == "normal":
            unknown.append(r)
    for r in _without_other_finding(analysis, dead):
        assert r.why.laggard is not None
        by_client.setdefault(r.why.laggard.client, []).append(r)
    for client, hits in by_client.items():
        yield _finding(analysis, client, waits_of(analysis, hits))
    if unknown:
        yield _by_unknown_member(analysis, waits_of(analysis, unknown))


def _without_other_finding(analysis: GroupAnalysis, dead: list[Rebalance]) -> list[Rebalance]:
    """Return the waits for dead members that no finding about their sessions mentions."""
    if not dead:
        return []
    mentioned: set[str] = set()
    for rule in (r03_session_expiry, r04_rolling_restart, r05_crash_loop):
        for finding in rule.find(analysis):
            members = finding.evidence.get("members")
            if "stops" in finding.evidence and isinstance(members, list):
                mentioned.update(members)
    return [r for r in dead if r.why.laggard is not None and r.why.laggard.member_id not in mentioned]


def _by_unknown_member(analysis: GroupAnalysis, waits: Waits) -> Finding:
    """Return a finding about exact waits for a last member that no source identifies, or for several members."""
    hits = waits.rebalances
    text = _waited(waits, "members to rejoin")
    before_ms = _stood_before_ms(waits)
    if before_ms:
        text += f"; no partition had advanced for {seconds(before_ms)} before, so several members were busy or waited"
    else:
        text += "; no source shows which member joined last, or several members did"
    return Finding(
        ID,
        "The group waited for several members" if before_ms else "The group waited for an unknown member",
        WARNING,
        CERTAIN,
        text,
        _SEVERAL if analysis.group.records else _NEEDS_COMMITS,
        min(r.begin_ms for r in hits),
        max(r.stable_ms for r in hits),
        [],
        {
            **waits.evidence(),
            "generations": [r.after.number for r in hits],
            "rebalances": [r.number for r in hits],
        },
    )


def _waited(waits: Waits, awaited: str) -> str:
    count = len(waits.rebalances)
    text = f"the group waited {times(count)} for {awaited}, {seconds(waits.total_ms)} in total"
    text += f" (longest {seconds(waits.longest_ms)})" if count > 1 else ""
    return f"{text}; {waits.stopped_text}" if waits.stopped_ms else text


def _stood_before_ms(waits: Waits) -> int:
    """Return for how long the whole group had stood still before each wait, or 0 if that is not so of each wait."""
    before_ms = [
        r.begin_ms - min((start for start, end in waits.silences if start < r.begin_ms < end), default=r.begin_ms)
        for r in waits.rebalances
    ]
    shortest = min(before_ms)
    return shortest if began_long_before(shortest, waits.usual_ms) else 0


def _finding(analysis: GroupAnalysis, client: str, waits: Waits) -> Finding:
    hits, laggards = waits.rebalances, [r.why.laggard for r in waits.rebalances if r.why.laggard is not None]
    ways = [laggard.how for laggard in laggards]
    timeout = max((r.before.rebalance_timeout_ms or 0 for r in hits), default=0)
    repeated = waits.is_eager and (len(hits) > 1 or waits.longest_ms >= LONG_STOP_MS)
    text = f"{_waited(waits, f'client {client}')}; {_end(client, ways)}"
    dead = all(is_for_dead(r) for r in hits)
    changed = "session.timeout.ms=10000" if dead else "partition.assignment.strategy=cooperative-sticky"
    alternative = f"{_EAGER} {what_if(analysis.group_id, changed)}" if waits.is_eager else _COOPERATIVE
    advice = _DEAD if dead else _STATIC if "static_absent" in ways else _ADVICE
    identified = all(laggard.measured for laggard in laggards)
    return Finding(
        ID,
        "The group waited for a dead member" if dead else _TITLES[waits.is_eager],
        CRITICAL if "evicted" in ways or repeated else WARNING,
        CERTAIN if all(r.start_ms is not None for r in hits) and analysis.commits.count else LIKELY,
        text,
        advice.format(
            client=client,
            timeout=seconds(timeout) if timeout else "not known",
            protocol=alternative,
        ),
        min(r.begin_ms for r in hits),
        max(r.stable_ms for r in hits),
        [client],
        {
            **waits.evidence(),
            "evicted": ways.count("evicted"),
            "left_at_poll_timeout": ways.count("leave_poll_timeout"),
            "rebalance_timeout_ms": timeout or None,
            "generations": [r.after.number for r in hits],
            "rebalances": [r.number for r in hits],
        },
        cause_confidence="" if identified else LIKELY,
    )


def _end(client: str, ways: list[str]) -> str:
    """Describe how the waits ended."""
    if "evicted" in ways:
        return f"the coordinator removed {client} after the rebalance timeout"
    if "static_absent" in ways:
        return f"{client} did not rejoin within the rebalance timeout, and as a static member it kept its partitions"
    if "leave_poll_timeout" in ways:
        return f"the wait ended when {client} left at its poll timeout"
    if any(way.startswith("leave_") for way in ways):
        return f"the wait ended when {client} left the group"
    if "rejoined" not in ways:
        return f"the wait ended when the coordinator removed {client}, which had stopped answering"
    return "it rejoined in time and no member was removed"
