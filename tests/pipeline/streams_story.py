"""Streams groups by construction: threads, tasks and topologies, as the offsets topic or kohort's event log contains them.

Times are seconds from zero. A story has records or (`told_by_events`) group events; commits and samples of
log ends are in addition to either. The requested time starts at `since`: of what came before, only records are read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput, LogEnds, PartitionCommits
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from kohort.pipeline.silver.silver_rows import GroupMember, GroupRecord, MemberPartitions
from kohort.pipeline.silver.streams_says import epoch_says, topology_says
from kohort.pipeline.sources.source_rows import GroupEvent
from tests.pipeline.incidents.cuts import commits_within, ends_within
from tests.pipeline.stories import ms

SOURCE, CHANGELOG = "words", "wordcount-counts-changelog"


@dataclass
class StreamsStory:
    """A streams group with one subtopology, which is stateful by default, recorded in time order."""

    name: str = "wordcount"
    told_by_events: bool = False
    until: float = 600
    since: float | None = None
    records: list[GroupRecord] = field(default_factory=list)
    members: list[GroupMember] = field(default_factory=list)
    parts: list[MemberPartitions] = field(default_factory=list)
    events: list[GroupEvent] = field(default_factory=list)
    ends: dict[tuple[str, int], LogEnds] = field(default_factory=dict)
    commits: dict[tuple[str, int], list[tuple[int, int]]] = field(default_factory=dict)
    had: dict[str, dict[str, set[int]]] = field(default_factory=dict)
    gone_ms: int | None = None
    intact_from: int = 0

    # --- the group

    def compacted(self) -> StreamsStory:
        """Keep only the newest record of each key so far."""
        newest = {(record.record_type, record.member_id): record for record in self.records}
        self.records = [record for record in self.records if newest[record.record_type, record.member_id] is record]
        self.intact_from = self.records[-1].offset + 1
        self.commits = {place: found[-1:] for place, found in self.commits.items()}
        return self

    def topology(
        self, at: float, epoch: int = 0, *, stores: tuple[str, ...] = (CHANGELOG,), reads: str = SOURCE
    ) -> StreamsStory:
        says = {"epoch": epoch, "subtopologies": [_subtopology(stores, reads)]}
        self._record(at, 23, streams=topology_says(says))
        self._event(at, "group_created")
        return self

    def epoch(self, at: float, *, ready: bool = True, standbys: int = 0) -> StreamsStory:
        configs = [{"key": "num.standby.replicas", "value": str(standbys)}]
        validated = 0 if ready else -1
        self._record(
            at, 17, streams=epoch_says({"validatedTopologyEpoch": validated, "lastAssignmentConfigs": configs})
        )
        self._event(at, "epoch_bumped", state_to="Assigning" if ready else "NotReady")
        return self

    def deleted(self, at: float) -> StreamsStory:
        for kind in (20, 17, 23):
            self._record(at, kind, gone=True)
        self._event(at, "group_deleted")
        return self

    def is_classic(self, at: float) -> StreamsStory:
        """Turn the empty streams group into a classic one by a join."""
        self._record(at, 2, kind_of_group="classic")
        return self

    # --- threads

    def joins(self, at: float, *names: str, process: str = "", epoch: int = 0, member: str = "") -> StreamsStory:
        """Add threads of these processes, with a process id and member ids made of process and thread."""
        for name in names:
            process_id, member_id = process or f"{name}-process", f"{member or name}-id"
            self._record(at, 19, member_id)
            self.members.append(
                GroupMember(
                    partition=0, offset=self.records[-1].offset, group_id=self.name, member_id=member_id,
                    client_id=f"{name}-StreamThread-1-consumer", client_host="/10.0.0.1", speaks="streams",
                    process_id=process_id, topology_epoch=epoch,
                )
            )  # fmt: skip
            detail = {"process_id": process_id, "topology_epoch": str(epoch)}
            self._event(at, "member_added", member_id, client=f"{name}-StreamThread-1-consumer", detail=detail)
            self.had[member_id] = {"active": set(), "standby": set()}
        return self

    def was_there(self, at: float, name: str) -> StreamsStory:
        """Alter a thread that joined before the event log started."""
        self._event(
            at, "member_metadata_changed", f"{name}-id", client=f"{name}-StreamThread-1-consumer",
            detail={"process_id": f"{name}-process", "topology_epoch": "0"},
        )  # fmt: skip
        self.had[f"{name}-id"] = {"active": set(), "standby": set()}
        return self

    def has(self, at: float, member: str, *active: int, copies: tuple[int, ...] = ()) -> StreamsStory:
        """Assign tasks to a thread, by their partitions."""
        member_id, now = f"{member}-id", {"active": set(active), "standby": set(copies)}
        self._record(at, 22, member_id)
        self.members.append(
            GroupMember(
                partition=0, offset=self.records[-1].offset, group_id=self.name, member_id=member_id, member_epoch=2,
                previous_epoch=1, member_state=1,
            )
        )  # fmt: skip
        had = self.had[member_id]
        for role, parts in now.items():
            self.parts.append(
                MemberPartitions(
                    partition=0, offset=self.records[-1].offset, group_id=self.name, member_id=member_id,
                    subtopology="0", role=role, parts=sorted(parts),
                )
            )  # fmt: skip
        for kind, less, more in (("member_revoked", now, had), ("member_assigned", had, now)):
            change = {role: more[role] - less[role] for role in now if more[role] - less[role]}
            if change:
                names = {role: " ".join(f"0_{part}" for part in sorted(parts)) for role, parts in change.items()}
                self._event(at, kind, member_id, detail=names)
        self.had[member_id] = now
        return self

    def goes(self, at: float, *members: str, cause: str | None = None) -> StreamsStory:
        """Remove a thread, with a `cause` as in an event, or None."""
        for name in members:
            for kind in (22, 21, 19):
                self._record(at, kind, f"{name}-id", gone=True)
            if self.told_by_events or cause is not None:
                self._event(at, "member_removed", f"{name}-id", cause=cause, always=True)
        return self

    # --- what it reads

    def reads(
        self,
        start: float,
        end: float,
        *parts: int,
        every: float = 1,
        rate: int = 10,
        topic: str = SOURCE,
        less: int = 0,
    ) -> StreamsStory:
        """Commit at each moment all records so far, except the last `less`."""
        for part in parts:
            for at in np.arange(start, end, every).tolist():
                self.commits.setdefault((topic, part), []).append((ms(at), int(at * rate) - less))
        return self

    def log(
        self,
        *parts: int,
        rate: int = 10,
        topic: str = SOURCE,
        every: float = 5,
        records: int | None = None,
        start: int = 0,
        idle: tuple[float, float] = (0, 0),
        until: float | None = None,
    ) -> StreamsStory:
        """Add samples of log ends: fixed, or growing per second except for an idle period.

        Records before `start` are deleted; `until` is the last sample.
        """
        sampled = np.arange(0, self.until if until is None else until, every)
        times = sampled - np.clip(sampled - idle[0], 0, idle[1] - idle[0])
        moments = np.array([ms(at) for at in sampled.tolist()], np.int64)
        for part in parts:
            ends = (times * rate).astype(np.int64) if records is None else np.full(len(times), records, np.int64)
            self.ends[topic, part] = LogEnds(moments, np.minimum(ends, start), ends)
        return self

    def offsets_deleted(self, at: float) -> StreamsStory:
        """Write tombstones of all commits."""
        self.gone_ms = ms(at)
        return self

    # --- the whole

    def group_input(self) -> GroupInput:
        group = GroupInput(self.name, until_ms=ms(self.until), intact_from=self.intact_from)
        if not self.told_by_events:
            group.records, group.members, group.parts = self.records, self.members, self.parts
        group.events, group.ends = self.events, self.ends
        for place, found in self.commits.items():
            columns = np.array(sorted(found), np.int64).T
            gone = np.array([self.gone_ms] if self.gone_ms and columns[0][0] <= self.gone_ms else [], np.int64)
            group.commits[place] = PartitionCommits(columns[0], columns[1], gone)
        if self.since is not None:
            _cut(group, ms(self.since))
        return group

    def found(self) -> dict[str, Finding]:
        """Return the findings by rule."""
        return {finding.rule: finding for finding in diagnose(analyse(self.group_input()))}

    def _record(
        self, at: float, kind: int, member_id: str | None = None, *, gone: bool = False, streams: str | None = None,
        kind_of_group: str = "streams",
    ) -> None:  # fmt: skip
        offset = self.records[-1].offset + 1 if self.records else 0
        self.records.append(
            GroupRecord(
                partition=0, offset=offset, ts_ms=ms(at), group_id=self.name, record_type=kind,
                group_type=kind_of_group, is_tombstone=gone, op_id=offset, member_id=member_id, streams=streams,
            )
        )  # fmt: skip

    def _event(
        self, at: float, kind: str, member_id: str | None = None, *, cause: str | None = None, client: str | None = None,
        state_to: str | None = None, detail: dict[str, str] | None = None, always: bool = False,
    ) -> None:  # fmt: skip
        if not self.told_by_events and not always:
            return
        number = len(self.events)
        self.events.append(
            GroupEvent(
                event_id=f"{number}", seq=number, ts=ms(at), kind=kind, group_id=self.name, group_type="streams",
                member_id=member_id, client_id=client, client_host="/10.0.0.1", cause=cause, state_to=state_to,
                detail=detail, origin="event_log",
            )
        )  # fmt: skip


def _cut(group: GroupInput, since_ms: int) -> None:
    """Apply a window as `sources.window.Window` does."""
    group.since_ms = since_ms
    group.events = [event for event in group.events if event.ts >= since_ms]
    group.commits = {place: commits_within(each, since_ms) for place, each in group.commits.items()}
    group.ends = {place: ends_within(each, since_ms) for place, each in group.ends.items()}


def _subtopology(stores: tuple[str, ...], reads: str) -> dict[str, object]:
    return {
        "subtopologyId": "0",
        "sourceTopics": [reads],
        "repartitionSourceTopics": [],
        "stateChangelogTopics": [{"name": name} for name in stores],
    }


def group(*, by_events: bool = False, standbys: int = 0, until: float = 600, stores: bool = True) -> StreamsStory:
    """Build a group in which ada and bob have a thread and two tasks each."""
    story = StreamsStory(told_by_events=by_events, until=until)
    story.topology(0, stores=(CHANGELOG,) if stores else ()).epoch(0, standbys=standbys).joins(0, "ada", "bob")
    copies = ((2, 3), (0, 1)) if standbys else ((), ())
    return story.has(1, "ada", 0, 1, copies=copies[0]).has(1, "bob", 2, 3, copies=copies[1])


def restoring(
    *, stood: float = 200, standbys: int = 0, held: int | None = 1_000_000, stores: bool = True, sampled: bool = True
) -> StreamsStory:
    """Remove bob, whose tasks ada gets and restores for this long, while its own continue."""
    story = group(standbys=standbys, stores=stores).reads(1, 600, 0, 1).reads(1, 100, 2, 3)
    story.goes(100, "bob").has(101, "ada", 0, 1, 2, 3)
    story.reads(101 + stood, 600, 2, 3)
    if sampled:
        story.log(0, 1, 2, 3)
    if held is not None:
        story.log(0, 1, 2, 3, topic=CHANGELOG, records=held)
    return story
