"""State of each group from the offsets topic, for a follower that runs in one process.

Memory depends on the number of groups, members and committed partitions only. Of commits
only the last times are kept, which decide about the members that an open rebalance waits for.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from kohort.pipeline.live.last_generations import CLASSIC, is_eager, member_commits
from kohort.pipeline.live.tracker import Alert, Epoch, Generation, GroupState, Row, Watched, feed, look
from kohort.pipeline.live.tracker_rows import tracker_rows
from kohort.pipeline.live.waited_for import KnownGroup, MemberCommits
from kohort.pipeline.silver.record_rows import SilverRows
from kohort.pipeline.sources.chunk import Chunk

KEPT_COMMITS = 12  # times per partition; the usual interval needs six of them
JOINED, DEPARTED, REPLACED, REJOINED = "member_joined", "member_left", "members_replaced", "members_rejoined"
SEVERAL = "(several)"  # more than one client caused the rebalance

TopicPartition = tuple[str, int]


@dataclass(slots=True)
class LoggedGroup:
    """One group.

    Attributes:
        tracked: State of its alerts.
        owners: Member by partition in the last generation of a classic group.
        committed: Committed offset by partition.
        commit_times: Times of the last commits by partition.
        rebalances: Number of generations and epochs by cause and client.
        last_members: Members of the last generation or epoch. Under KIP-848 the records of members precede its record.
    """

    tracked: GroupState = field(default_factory=GroupState)
    generation_ms: int = -1
    leader: str | None = None
    protocol: str | None = None
    owners: dict[TopicPartition, str] = field(default_factory=dict)
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    commit_times: dict[TopicPartition, deque[int]] = field(default_factory=dict)
    rebalances: Counter[tuple[str, str]] = field(default_factory=Counter)
    last_members: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.last_members = self.tracked.members

    def saved(self) -> dict[str, Any]:
        """Return the state as JSON values. Times of commits are left out: they matter for minutes only."""
        return {
            "tracked": self.tracked.text(),
            "generation": [self.generation_ms, self.leader, self.protocol],
            "owners": [[*place, member] for place, member in self.owners.items()],
            "committed": [[*place, offset] for place, offset in self.committed.items()],
            "rebalances": [[*key, count] for key, count in self.rebalances.items()],
        }

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> LoggedGroup:
        generation_ms, leader, protocol = saved["generation"]
        return cls(
            GroupState.of(saved["tracked"]),
            generation_ms,
            leader,
            protocol,
            owners={(topic, part): member for topic, part, member in saved["owners"]},
            committed={(topic, part): offset for topic, part, offset in saved["committed"]},
            rebalances=Counter({(cause, client): count for cause, client, count in saved["rebalances"]}),
        )


class GroupLog:
    """All groups of a cluster. `add` takes the records of a partition in order."""

    def __init__(self, groups: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Create the state.

        Args:
            groups: Result of `saved` in an earlier process.
        """
        self.groups = {name: LoggedGroup.of(saved) for name, saved in (groups or {}).items()}

    def saved(self) -> dict[str, dict[str, Any]]:
        return {name: group.saved() for name, group in self.groups.items()}

    def add(self, chunks: Iterable[Chunk], now_ms: int) -> list[Alert]:
        """Process records of one partition and return recent alerts."""
        silver = SilverRows("", 0)
        tables = [table for chunk in chunks for table in silver.add(chunk)]
        tables += silver.finish()
        rows: dict[str, list[tuple[int, Row]]] = {}
        for group_id, _, offset, row in tracker_rows(tables):
            rows.setdefault(group_id, []).append((offset, row))
        alerts = []
        for group_id, in_group in rows.items():
            group = self.groups.setdefault(group_id, LoggedGroup())
            for _, row in sorted(in_group, key=lambda entry: entry[0]):
                generation = group.tracked.generation
                alerts += feed(group_id, group.tracked, (row,), now_ms)
                if isinstance(row, Generation | Epoch):
                    self._count(group, generation)
        for name, table in tables:
            if name == "offset_commits":
                self._commits(table)
            elif name == "group_records":
                self._generations(table)
        self._assignments([table for name, table in tables if name == "member_partitions"])
        return alerts

    def silences(self, watched: Watched) -> list[Alert]:
        """Return alerts about groups that are silent for too long."""
        return [alert for name, group in self.groups.items() for alert in look(name, group.tracked, watched)]

    def known_groups(self, names: Iterable[str]) -> dict[str, KnownGroup]:
        """Return what the log shows about groups with an open rebalance."""
        return {name: self._describe(self.groups[name]) for name in names if name in self.groups}

    def _describe(self, group: LoggedGroup) -> KnownGroup:
        times: dict[str, set[int]] = {}
        for place, owner in group.owners.items():
            times.setdefault(owner, set()).update(group.commit_times.get(place, ()))
        commits: dict[str, MemberCommits] = {
            owner: member_commits(sorted(of_owner)) for owner, of_owner in times.items() if of_owner
        }
        return KnownGroup(
            generation_ms=group.generation_ms,
            members=frozenset(group.tracked.members),
            leader=group.leader,
            eager=is_eager(group.protocol),
            commits=commits,
        )

    @staticmethod
    def _count(group: LoggedGroup, generation: int) -> None:
        """Count a new generation or epoch, with the difference between its members and the previous ones as cause.

        Args:
            generation: Number of the previous generation or epoch.
        """
        state, members = group.tracked, group.last_members
        group.last_members = state.members
        if state.generation <= generation or not state.members:
            return
        joined = {client for member, client in state.members.items() if member not in members}
        departed = {client for member, client in members.items() if member not in state.members}
        cause = REPLACED if joined and departed else JOINED if joined else DEPARTED if departed else REJOINED
        clients = {client.rpartition("@")[0] or client for client in joined | departed}  # the host is not a label
        client = "" if not clients else clients.pop() if len(clients) == 1 else SEVERAL
        group.rebalances[cause, client] += 1

    def _commits(self, table: pa.Table) -> None:
        names = ("group_id", "topic", "part", "committed_offset", "ts_ms", "is_tombstone", "txn")
        for group_id, topic, part, offset, ts_ms, is_tombstone, txn in zip(
            *(table[name].to_pylist() for name in names), strict=True
        ):
            if txn == "aborted":
                continue
            place = (topic, part)
            group = self.groups.setdefault(group_id, LoggedGroup())
            if is_tombstone:
                group.committed.pop(place, None)
                group.commit_times.pop(place, None)
                continue
            group.committed[place] = offset
            times = group.commit_times.get(place)
            if times is None:
                times = group.commit_times[place] = deque(maxlen=KEPT_COMMITS)
            times.append(ts_ms)

    def _generations(self, table: pa.Table) -> None:
        names = ("group_id", "record_type", "ts_ms", "leader", "protocol", "is_tombstone")
        for group_id, record_type, ts_ms, leader, protocol, is_tombstone in zip(
            *(table[name].to_pylist() for name in names), strict=True
        ):
            group = self.groups.get(group_id)
            if record_type != CLASSIC or group is None:
                continue
            if is_tombstone and not group.committed:
                del self.groups[group_id]
                continue
            group.generation_ms, group.leader, group.protocol, group.owners = ts_ms, leader, protocol, {}

    def _assignments(self, tables: list[pa.Table]) -> None:
        newest: dict[str, tuple[int, dict[TopicPartition, str]]] = {}
        names = ("group_id", "offset", "member_id", "topic", "role", "parts")
        for table in tables:
            for group_id, offset, member_id, topic, role, parts in zip(
                *(table[name].to_pylist() for name in names), strict=True
            ):
                if role != "assigned" or topic is None or not parts:
                    continue
                if group_id not in newest or offset > newest[group_id][0]:
                    newest[group_id] = (offset, {})
                newest[group_id][1].update({(topic, part): member_id for part in parts})
        for group_id, (_, owners) in newest.items():
            if group_id in self.groups:
                self.groups[group_id].owners = owners
