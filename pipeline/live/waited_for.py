"""Members that an open rebalance waits for, with the confidence.

In a group of the consumer protocol its coordinator returns them: members that own what others are assigned, or that
are not at the group's epoch. For a classic group it returns only the members (Kafka's `ClassicGroup.describe` has
neither metadata nor assignments of an unstable group). Then the log shows it:

- Members that weren't in the last generation have joined: the group does not wait for them.
- An eager client commits its progress before it rejoins. One that continues to commit has not rejoined. One that used
  to commit often, and had stopped before the rebalance began while all others committed then, is most likely stuck.
- While the group waits for its assignment, it waits for its leader; a leader that is still a member stays the leader.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kohort.pipeline.rules.finding import CERTAIN, LIKELY, POSSIBLE
from kohort.pipeline.sources.seen_groups import COMPLETING, SeenGroup, SeenMember

# Members learn of a rebalance with their next heartbeat, usually within 3 s. Those that commit later have not rejoined.
STILL_AT_WORK_MS = 5_000
LOOKED_LATE_MS = 2_000  # maximum delay until a rebalance is seen
OVERDUE = 2  # multiple of a member's usual interval from which a time without commits is unusual
NAMED = 5  # maximum number of names in a message


@dataclass(frozen=True, slots=True)
class MemberCommits:
    """Last commit of a member's partitions, and the usual interval, or None with too few commits."""

    last_ms: int
    usual_ms: int | None


@dataclass(frozen=True, slots=True)
class KnownGroup:
    """Data about a group from the log and followed files.

    Attributes:
        members: Members of its last generation.
        eager: Whether members revoke everything before they join, or None if unknown.
        commits: Commits by member.
        started_ms: Start of the open rebalance from a broker's log or an event log, like `waited_for`.
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
    """Members that the group waits for, with confidence and evidence."""

    members: tuple[SeenMember, ...]
    confidence: str
    why: str = ""

    @property
    def text(self) -> str:
        """Text after "rebalance open 20 s"."""
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
    """Return some names and the number of further ones."""
    names = sorted(str(member) for member in members)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def waited_for(group: SeenGroup, log_data: KnownGroup, since_ms: int) -> WaitedFor:
    """Return the members that a classic group waits for.

    Args:
        since_ms: Time at which it was first seen in this state.
    """
    members_by_id = {member.member_id: member for member in group.members}
    if group.state == COMPLETING:
        leader = members_by_id.get(log_data.leader or "")
        if leader is None:
            return WaitedFor((), POSSIBLE, "all have joined; waiting for the assignment that its leader makes")
        return WaitedFor((leader,), LIKELY, "it leads the group, and its assignment hasn't come")
    if log_data.waited_for is not None and (exact := _select(members_by_id, log_data.waited_for)):
        return WaitedFor(exact, CERTAIN)
    previous = _select(members_by_id, log_data.members)
    if not previous:
        return WaitedFor(
            (), POSSIBLE, "no member of the previous generation is left; it is unknown which members it waits for"
        )
    if len(previous) == 1:
        return WaitedFor(previous, CERTAIN)
    return _by_commits(previous, log_data, since_ms)


def _by_commits(previous: tuple[SeenMember, ...], log_data: KnownGroup, since_ms: int) -> WaitedFor:
    unknown = "Kafka doesn't report which members have joined"
    if log_data.eager is not True:  # members of a cooperative group commit on while they wait
        return WaitedFor(previous, POSSIBLE, unknown)
    last = {m: log_data.commits[m.member_id].last_ms if m.member_id in log_data.commits else -1 for m in previous}
    busy = tuple(m for m in previous if last[m] > since_ms + STILL_AT_WORK_MS)
    if len(busy) == 1:
        return WaitedFor(busy, LIKELY, "it still commits, so it has not joined again")
    if busy:
        return WaitedFor(busy, LIKELY, "they still commit, so they have not joined again")
    silent = tuple(m for m in previous if last[m] < since_ms - LOOKED_LATE_MS)
    if len(silent) == 1 and _overdue(log_data.commits.get(silent[0].member_id), since_ms):
        return WaitedFor(silent, LIKELY, "it had stopped committing when the others committed and joined again")
    return WaitedFor(silent or previous, POSSIBLE, unknown)


def _overdue(commits: MemberCommits | None, since_ms: int) -> bool:
    return (
        commits is not None
        and commits.usual_ms is not None
        and (since_ms - commits.last_ms > OVERDUE * commits.usual_ms)
    )


def _select(members_by_id: dict[str, SeenMember], ids: Iterable[str]) -> tuple[SeenMember, ...]:
    return tuple(members_by_id[name] for name in sorted(ids) if name in members_by_id)


def holding_up(group: SeenGroup) -> dict[str, str]:
    """Return the members that hold up a group of the consumer protocol, with the reason.

    The coordinator returns both.
    """
    missing = {partition for member in group.members for partition in member.target - member.owned}
    holders = {}
    for member in group.members:
        if kept := sorted((member.owned - member.target) & missing):
            topic, part = kept[0]
            more = f" and {len(kept) - 1} more" if len(kept) > 1 else ""
            holders[member.member_id] = f"to revoke {topic}-{part}{more}"
    if holders:
        return holders
    return {
        member.member_id: "to take over its partitions" if member.target - member.owned else "to receive the new epoch"
        for member in group.members
        if member.epoch < group.epoch
    }
