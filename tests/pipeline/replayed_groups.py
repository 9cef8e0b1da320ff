"""Groups as their coordinator would have described them, second by second, from a recording of what it wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kohort.pipeline.history.group_analysis import GroupAnalysis, analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.live.last_generations import LOOK_BACK_MS, is_eager, member_commits
from kohort.pipeline.live.open_rebalances import HELD_UP_MS, OPEN_MS, OpenRebalances
from kohort.pipeline.live.tracker import Alert
from kohort.pipeline.live.waited_for import KnownGroup
from kohort.pipeline.sources.seen_groups import COMPLETING, PREPARING, RECONCILING, SeenGroup, SeenMember

STEP_MS = 1_000
BEHIND_MS = 2_000
"""What was written later isn't in silver yet."""
NODE = "broker:9092"


def alerts_of(group: GroupInput, open_ms: int = OPEN_MS, held_up_ms: int = HELD_UP_MS) -> list[Alert]:
    """Return the alerts about a group's rebalances, as if it had been followed."""
    analysis = analyse(group)
    seen = _Classic(analysis) if not any(r.is_epoch for r in analysis.rebalances) else None
    consumer = _Consumer(group)
    told: list[Alert] = []
    start_ms, end_ms = analysis.span_ms
    now_ms = start_ms

    def ask(since: Mapping[str, int]) -> dict[str, KnownGroup]:
        return {} if seen is None else {name: seen.known(now_ms - BEHIND_MS) for name in since}

    rebalances = OpenRebalances(ask, open_ms, held_up_ms)
    while now_ms <= end_ms:
        found = seen.at(now_ms) if seen is not None else consumer.at(now_ms)
        told += rebalances.look(now_ms, [] if found is None else [found])
        now_ms += STEP_MS
    return told


class _Classic:
    def __init__(self, analysis: GroupAnalysis) -> None:
        self.analysis = analysis
        self.group = analysis.group

    def at(self, now_ms: int) -> SeenGroup | None:
        """Return the group if a rebalance is open whose start is in the broker's log."""
        for r in self.analysis.rebalances:
            if r.start_ms is not None and r.start_ms <= now_ms < r.stable_ms:
                state = PREPARING if now_ms < r.barrier_ms else COMPLETING
                return SeenGroup(self.group.group_id, state, NODE, tuple(self._members(r, now_ms)))
        return None

    def _members(self, r: Rebalance, now_ms: int) -> list[SeenMember]:
        there = {**r.before.members, **r.after.members} if now_ms >= r.barrier_ms else dict(r.before.members)
        gone = {
            name
            for event in self.group.events
            if event.ts <= now_ms and event.kind in ("member_removed", "barrier_evicted")
            for name in (*(event.evicted or ()), event.member_id)
        }
        return [
            SeenMember(m.member_id, m.name, m.client_host, m.instance_id)
            for name, m in there.items()
            if name not in gone
        ]

    def known(self, now_ms: int) -> KnownGroup:
        last = max(
            (g for g in self.analysis.generations if g.stable_ms <= now_ms), key=lambda g: g.stable_ms, default=None
        )
        if last is None:
            return KnownGroup()
        moments: dict[str, set[int]] = {}
        for place, owner in last.owners.items():
            commits = self.group.commits.get(place)
            if commits is not None:
                recent = commits.ts_ms[(commits.ts_ms <= now_ms) & (commits.ts_ms > now_ms - LOOK_BACK_MS)]
                moments.setdefault(owner, set()).update(recent.tolist())
        commits_of = {owner: member_commits(sorted(each)) for owner, each in moments.items() if each}
        return KnownGroup(last.stable_ms, frozenset(last.members), last.leader, is_eager(last.protocol), commits_of)


class _Consumer:
    """Replay of the records in time order."""

    def __init__(self, group: GroupInput) -> None:
        self.group, self._next = group, 0
        self._records = sorted(group.records, key=lambda record: record.offset)
        self._rows: dict[int, list[object]] = {}
        self._epoch = 0
        self._members: dict[str, SeenMember] = {}

    def at(self, now_ms: int) -> SeenGroup | None:
        """Return the group unless all members have their target assignment."""
        while self._next < len(self._records) and self._records[self._next].ts_ms <= now_ms:
            self._take(self._next)
            self._next += 1
        there = tuple(member for member in self._members.values() if member.host)
        settled = all(each.epoch == self._epoch and each.owned == each.target for each in there)
        return None if settled else SeenGroup(self.group.group_id, RECONCILING, NODE, there, self._epoch)

    def _take(self, number: int) -> None:
        record = self._records[number]
        name = record.member_id
        if record.record_type == 3:
            self._epoch = record.epoch or 0
        if name is None:
            return
        member = self._members.get(name, SeenMember(name, name, ""))
        rows = [row for row in self.group.members if row.offset == record.offset]
        parts = {
            role: frozenset(
                (row.topic or row.topic_id or "", part)
                for row in self.group.parts
                if row.offset == record.offset and row.role in roles
                for part in row.parts
            )
            for role, roles in (("target", ("target",)), ("owned", ("assigned", "pending_revocation")))
        }
        match record.record_type, record.is_tombstone:
            case 5, True:
                self._members.pop(name, None)
                return
            case 5, False:
                row = rows[0]
                member = replace(
                    member, client_id=row.client_id or name, host=row.client_host or "/", instance_id=row.instance_id
                )
            case 7, gone:
                member = replace(member, target=frozenset() if gone else parts["target"])
            case 8, False:
                member = replace(member, epoch=rows[0].member_epoch or 0, owned=parts["owned"])
        self._members[name] = member
