"""For whom a rebalance that is still open waits, and how sure that is.

In a group of the consumer protocol its coordinator tells: who holds what others are to get, or isn't at the group's
epoch. Of a classic group it tells only who is in it (Kafka's `ClassicGroup.describe` has neither metadata nor
assignments of an unstable group). Then this follows from the log:

- Members that weren't in the last generation have joined: nobody waits for them.
- An eager client commits what it has done before it rejoins. One that commits on has not rejoined. One that used to
  commit often, and had stopped before the rebalance began while all others committed then, is most likely stuck.
- While the group waits for its assignment, it waits for its leader; a leader that is still there stays the leader.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kohort.pipeline.rules.finding import CERTAIN, LIKELY, POSSIBLE
from kohort.pipeline.sources.seen_groups import COMPLETING, SeenGroup, SeenMember

STILL_AT_WORK_MS = 5_000
"""Members hear of a rebalance with their next heartbeat, usually within 3 s. Who commits later hasn't rejoined."""
LOOKED_LATE_MS = 2_000
"""A rebalance is seen so long after its beginning."""
OVERDUE = 2
"""Times its usual interval: so long without a commit is unusual for a member."""
NAMED = 5
"""More names than these help nobody."""


@dataclass(frozen=True, slots=True)
class MemberCommits:
    """When a member's partitions were last committed, and how often they used to be; None: too seldom to tell."""

    last_ms: int
    usual_ms: int | None


@dataclass(frozen=True, slots=True)
class KnownGroup:
    """What the log and followed files say of a group. members: of its last generation.

    eager: whether members give everything up before they join; None: not known. commits: by member.
    started_ms, waited_for: from a broker's log or an event log, of the rebalance that is open.
    """

    generation_ms: int = -1
    members: frozenset[str] = frozenset()
    leader: str | None = None
    eager: bool | None = None
    commits: dict[str, MemberCommits] = field(default_factory=dict)
    started_ms: int | None = None
    waited_for: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class WaitedFor:
    """Members, how sure it is that they are waited for, and what shows it."""

    members: tuple[SeenMember, ...]
    confidence: str
    why: str = ""

    @property
    def text(self) -> str:
        """As it stands behind "rebalance open 20 s"."""
        names = named(self.members)
        match self.confidence:
            case _ if not self.members:
                return self.why
            case "certain":
                return f"waiting for {names}{f' {self.why}' if self.why else ''}"
            case "likely":
                return f"most likely waiting for {names}: {self.why}"
            case _:
                return f"waiting for one or more of {names}; {self.why}"


def named(members: Iterable[SeenMember]) -> str:
    """Some names, and how many more there are."""
    names = sorted(str(each) for each in members)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def waited_for(group: SeenGroup, known: KnownGroup, since_ms: int) -> WaitedFor:
    """For whom a classic group waits. since_ms: when it was first seen in this state."""
    there = {member.member_id: member for member in group.members}
    if group.state == COMPLETING:
        leader = there.get(known.leader or "")
        if leader is None:
            return WaitedFor((), POSSIBLE, "all have joined; waiting for the assignment that its leader makes")
        return WaitedFor((leader,), LIKELY, "it leads the group, and its assignment hasn't come")
    if known.waited_for is not None and (exact := _those(there, known.waited_for)):
        return WaitedFor(exact, CERTAIN)
    before = _those(there, known.members)
    if not before:
        return WaitedFor((), POSSIBLE, "nobody of the generation before is left; who is waited for isn't known")
    if len(before) == 1:
        return WaitedFor(before, CERTAIN)
    return _by_commits(before, known, since_ms)


def _by_commits(before: tuple[SeenMember, ...], known: KnownGroup, since_ms: int) -> WaitedFor:
    unknown = "Kafka doesn't tell who has joined"
    if known.eager is not True:  # members of a cooperative group commit on while they wait
        return WaitedFor(before, POSSIBLE, unknown)
    last = {m: known.commits[m.member_id].last_ms if m.member_id in known.commits else -1 for m in before}
    busy = tuple(m for m in before if last[m] > since_ms + STILL_AT_WORK_MS)
    if len(busy) == 1:
        return WaitedFor(busy, LIKELY, "it still commits, so it has not joined again")
    if busy:
        return WaitedFor(busy, LIKELY, "they still commit, so they have not joined again")
    silent = tuple(m for m in before if last[m] < since_ms - LOOKED_LATE_MS)
    if len(silent) == 1 and _overdue(known.commits.get(silent[0].member_id), since_ms):
        return WaitedFor(silent, LIKELY, "it had stopped to commit when the others committed and joined again")
    return WaitedFor(silent or before, POSSIBLE, unknown)


def _overdue(commits: MemberCommits | None, since_ms: int) -> bool:
    return (
        commits is not None
        and commits.usual_ms is not None
        and (since_ms - commits.last_ms > OVERDUE * commits.usual_ms)
    )


def _those(there: dict[str, SeenMember], wanted: Iterable[str]) -> tuple[SeenMember, ...]:
    return tuple(there[name] for name in sorted(wanted) if name in there)


def holding_up(group: SeenGroup) -> dict[str, str]:
    """Who holds up a group of the consumer protocol, by member id, and with what. Certain: its coordinator says so."""
    wanted = {each for member in group.members for each in member.target - member.owned}
    holders = {}
    for member in group.members:
        if kept := sorted((member.owned - member.target) & wanted):
            topic, part = kept[0]
            more = f" and {len(kept) - 1} more" if len(kept) > 1 else ""
            holders[member.member_id] = f"to give up {topic}-{part}{more}"
    if holders:
        return holders
    return {
        member.member_id: "to take over its partitions" if member.target - member.owned else "to hear of it"
        for member in group.members
        if member.epoch < group.epoch
    }
