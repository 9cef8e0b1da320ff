"""Members, tasks and topologies of a streams group over time, from its records, or from kohort's events without them.

A leaving and an expired member write the same records; only events distinguish them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kohort.pipeline.history.inputs import GroupInput, by_offset
from kohort.pipeline.history.share_members import EXPIRED, LEFT, UNKNOWN, VANISHED
from kohort.pipeline.silver.silver_rows import GroupMember, GroupRecord, MemberPartitions
from kohort.pipeline.silver.streams_says import StreamsTopology, Subtopology, read_epoch, read_topology
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.protocol.records import layouts as kinds

STREAMS = "streams"
# A running process keeps the state of a task that it lost for KEPT_MS, and it is deleted after GONE_MS at the latest.
#
# The default `state.cleanup.delay.ms` is the minimum age of deleted state and the interval of the cleanup. Nothing is
# deleted while the process is down, as its cleaner is one of its threads (Kafka's `KafkaStreams.setupStateDirCleaner`).
#
# A process that restarts with its process id has its state directory: the id is stored there, and generated again if
# nothing is stored on disk (initializeProcessId in Kafka's StateDirectory).
KEPT_MS, GONE_MS = 10 * 60_000, 20 * 60_000
_NOT_READY = "NotReady"
_THREAD = re.compile(r"-StreamThread-\d+(-consumer)?$")  # suffix that Kafka Streams adds to `client.id` for each thread

Task = tuple[str, int]  # subtopology id and partition


@dataclass(slots=True)
class ThreadStay:
    """Time of a member, which is a thread of a process, in the group.

    Attributes:
        had: Its last active tasks.
        name: Name of its process, like `host`.
        end_ms: End, or None while it is a member.
        begins_seen: Whether it joined at start_ms; otherwise it may have been a member before.
    """

    member_id: str
    process_id: str
    name: str
    host: str
    topology_epoch: int
    start_ms: int
    end_ms: int | None = None
    ended: str = UNKNOWN
    had: frozenset[Task] = frozenset()
    begins_seen: bool = True


@dataclass(slots=True)
class TaskStay:
    """Time of an active task at one member.

    Attributes:
        is_cold: Whether its process had no copy of the state; None if unknown.
        is_first: Whether no member is known to have had it before.
        begins_intact: Whether it was assigned at that time; otherwise the log was compacted and it may be much older.
    """

    task: Task
    member: ThreadStay
    start_ms: int
    is_cold: bool | None
    is_first: bool = False
    begins_intact: bool = True
    end_ms: int | None = None


@dataclass(slots=True)
class StreamsHistory:
    """History of a streams group.

    Attributes:
        topologies: Start of each topology; None if the group was deleted.
        ready: Changes of its readiness.
        begun: Times at which a group of that name was created.
        standbys: Copies of each task in the latest epoch, or None if unknown.
        until_ms: End of the analyzed period.
        since_ms: Start of the requested period; 0 means everything.
    """

    until_ms: int
    since_ms: int = 0
    threads: list[ThreadStay] = field(default_factory=list)
    tasks: list[TaskStay] = field(default_factory=list)
    topologies: list[tuple[int, StreamsTopology | None]] = field(default_factory=list)
    ready: list[tuple[int, bool]] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)
    standbys: int | None = None

    def topology_at(self, ts_ms: int) -> StreamsTopology | None:
        earlier = [topology for since_ms, topology in self.topologies if since_ms <= ts_ms]
        return earlier[-1] if earlier else None

    def threads_between(self, start_ms: int, end_ms: int) -> list[ThreadStay]:
        return [
            thread
            for thread in self.threads
            if thread.start_ms < end_ms and (thread.end_ms is None or thread.end_ms > start_ms)
        ]

    def subtopology_of(self, task: Task, ts_ms: int) -> Subtopology:
        """Return the subtopology of a task at that time, or one without topics if none was read."""
        topology = self.topology_at(ts_ms)
        return Subtopology() if topology is None else topology.subtopologies.get(task[0], Subtopology())


def streams_history(group: GroupInput) -> StreamsHistory | None:
    """Return the history of a streams group, or None for another group type.

    Its records and events must be in order.
    """
    records = [entry for entry in group.records if entry.group_type == STREAMS]
    events = [] if records else [entry for entry in group.events if entry.group_type == STREAMS]
    if not records and not events:
        return None
    walk = _Walk(group, is_whole=not group.intact_from if records else events[0].kind == "group_created")
    for record in records:
        walk.record(record)
    for event in events:
        walk.event(event)
    walk.tell_ends(group.events)
    return walk.history


def process_name(client_id: str, process_id: str, host: str) -> str:
    """Return the client id without its thread, or the process id. The host is added if the name is not unique."""
    name = _THREAD.sub("", client_id)
    if name and (not process_id or process_id not in name):
        return name
    host = host.lstrip("/")
    return f"{name or process_id}@{host}" if host else name or process_id


class _Lives:
    """Known uptime of each process. Times refer to the time of the query."""

    def __init__(self) -> None:
        self._threads: dict[str, int] = {}
        self._since_ms: dict[str, int] = {}
        self._ran_ms: dict[str, int] = {}

    def comes(self, process_id: str, ts_ms: int) -> None:
        self._threads[process_id] = self._threads.get(process_id, 0) + 1
        if self._threads[process_id] == 1:
            self._since_ms[process_id] = ts_ms

    def goes(self, process_id: str, ts_ms: int) -> None:
        self._threads[process_id] -= 1
        if not self._threads[process_id]:
            self._ran_ms[process_id] = self.ran_ms(process_id, ts_ms)
            del self._since_ms[process_id]

    def ran_ms(self, process_id: str, ts_ms: int) -> int:
        return self._ran_ms.get(process_id, 0) + ts_ms - self._since_ms.get(process_id, ts_ms)


class _Walk:
    """Processes what is known of a group, in order. `is_whole`: the data include its first event."""

    def __init__(self, group: GroupInput, *, is_whole: bool) -> None:
        self.history = StreamsHistory(group.until_ms, group.since_ms)
        self._is_whole, self._is_intact, self._intact_from = is_whole, True, group.intact_from
        self._members: dict[str, ThreadStay] = {}
        self._active: dict[str, dict[Task, TaskStay]] = {}
        self._copies: dict[str, set[Task]] = {}
        self._lives = _Lives()
        self._had: set[Task] = set()
        self._last_had_ms: dict[tuple[str, Task], int] = {}  # uptime of the process when it last had the task
        self._rows: dict[int, list[GroupMember]] = by_offset(group.members)
        self._parts: dict[int, list[MemberPartitions]] = by_offset(group.parts)

    # --- records

    def record(self, record: GroupRecord) -> None:
        self._is_intact = record.offset >= self._intact_from
        handle = _RECORDS.get(record.record_type)
        if handle is not None:
            handle(self, record)

    def _member(self, record: GroupRecord) -> None:
        member_id = record.member_id or ""
        if record.is_tombstone:
            self._remove_thread(member_id, record.ts_ms)
            return
        row = self._rows[record.offset][0]
        self._add_thread(
            member_id,
            row.process_id or "",
            row.client_id or "",
            row.client_host or "",
            row.topology_epoch or 0,
            record.ts_ms,
            is_arrival=self._is_intact,
        )

    def _current(self, record: GroupRecord) -> None:
        member_id, parts = record.member_id or "", self._parts.get(record.offset, [])
        self._set_tasks(member_id, _tasks(parts, "active"), _tasks(parts, "standby"), record.ts_ms)

    def _epoch(self, record: GroupRecord) -> None:
        if record.streams is None:
            return
        epoch = read_epoch(record.streams)
        self.history.standbys = epoch.standbys
        self._is_ready(epoch.is_ready, record.ts_ms)

    def _topology(self, record: GroupRecord) -> None:
        topology = None if record.streams is None else read_topology(record.streams)
        self.history.topologies.append((record.ts_ms, topology))

    # --- events

    def event(self, event: GroupEvent) -> None:
        member_id, detail = event.member_id or "", event.detail or {}
        if event.kind in ("member_added", "member_metadata_changed"):
            self._join(event)
        elif event.kind == "member_replaced":
            self._remove_thread(detail.get("old_member_id", ""), event.ts)
            self._join(event)
        elif event.kind == "member_removed":
            self._remove_thread(member_id, event.ts)
        elif event.kind in ("member_assigned", "member_revoked"):
            active, copies = set(self._active.get(member_id, ())), set(self._copies.get(member_id, ()))
            change = set.union if event.kind == "member_assigned" else set.difference
            active, copies = change(active, _named(detail, "active")), change(copies, _named(detail, "standby"))
            self._set_tasks(member_id, active, copies, event.ts)
        elif event.kind == "group_created":
            self.history.begun.append(event.ts)
        elif event.kind == "epoch_bumped" and event.state_to:
            self._is_ready(event.state_to != _NOT_READY, event.ts)

    def _join(self, event: GroupEvent) -> None:
        member_id, detail = event.member_id or "", event.detail or {}
        self._add_thread(
            member_id,
            detail.get("process_id", member_id),  # a broker's log doesn't name the process
            event.client_id or event.instance_id or "",
            event.client_host or "",
            int(detail.get("topology_epoch", "0")),
            event.ts,
            is_arrival=event.kind != "member_metadata_changed",
        )

    # --- records and events

    def _add_thread(
        self, member_id: str, process_id: str, client_id: str, host: str, epoch: int, ts_ms: int, *, is_arrival: bool
    ) -> None:
        """Add a member.

        Args:
            is_arrival: Whether it joined now, if it was not a member; otherwise it may have been one before.
        """
        stay = self._members.get(member_id)
        if stay is not None and stay.process_id == process_id:
            stay.topology_epoch = epoch
            return
        self._remove_thread(member_id, ts_ms)
        name = process_name(client_id, process_id, host)
        stay = ThreadStay(member_id, process_id, name, host, epoch, ts_ms, begins_seen=is_arrival)
        self._members[member_id] = stay
        self.history.threads.append(stay)
        self._lives.comes(process_id, ts_ms)

    def _remove_thread(self, member_id: str, ts_ms: int) -> None:
        self._set_tasks(member_id, set(), set(), ts_ms)
        if (stay := self._members.pop(member_id, None)) is not None:
            stay.end_ms = ts_ms
            self._lives.goes(stay.process_id, ts_ms)

    def _set_tasks(self, member_id: str, active: set[Task], copies: set[Task], ts_ms: int) -> None:
        stay = self._members.get(member_id)
        if stay is None:  # it joined before the start of the data
            return
        mine = self._active.setdefault(member_id, {})
        for task in mine.keys() | self._copies.get(member_id, set()):
            self._last_had_ms[stay.process_id, task] = self._lives.ran_ms(stay.process_id, ts_ms)
        if active:
            stay.had = frozenset(active)
        for task in mine.keys() - active:
            mine.pop(task).end_ms = ts_ms
        for task in sorted(active - mine.keys()):
            mine[task] = self._assign(stay, task, ts_ms)
        self._had |= active
        self._copies[member_id] = copies

    def _assign(self, stay: ThreadStay, task: Task, ts_ms: int) -> TaskStay:
        is_cold = self._is_cold(stay.process_id, task, ts_ms)
        task_stay = TaskStay(task, stay, ts_ms, is_cold, task not in self._had, self._is_intact)
        self.history.tasks.append(task_stay)
        return task_stay

    def _is_cold(self, process_id: str, task: Task, ts_ms: int) -> bool | None:
        had_ms = self._last_had_ms.get((process_id, task))
        ran_ms = self._lives.ran_ms(process_id, ts_ms) - (had_ms or 0)
        if ran_ms > GONE_MS or (had_ms is None and self._is_whole):
            return True
        return None if had_ms is None or ran_ms > KEPT_MS else False

    def _is_ready(self, is_ready: bool, ts_ms: int) -> None:
        if not self.history.ready or self.history.ready[-1][1] != is_ready:
            self.history.ready.append((ts_ms, is_ready))

    def tell_ends(self, events: Iterable[GroupEvent]) -> None:
        """Set how members left, from events: an event and its record have the same time."""
        causes: dict[str | None, list[GroupEvent]] = {}
        for event in events:
            if event.kind == "member_removed" and event.cause:
                causes.setdefault(event.member_id, []).append(event)
        for stay in self.history.threads:
            if (end_ms := stay.end_ms) is None or stay.member_id not in causes:
                continue
            nearest = min(causes[stay.member_id], key=lambda event: abs(event.ts - end_ms))
            stay.ended = VANISHED if nearest.cause in EXPIRED else LEFT


def _tasks(parts: Iterable[MemberPartitions], role: str) -> set[Task]:
    return {(row.subtopology or "", part) for row in parts if row.role == role for part in row.parts}


def _named(detail: dict[str, str], role: str) -> set[Task]:
    """Return the tasks listed in an event, which may omit some of a long list."""
    names = [name.rpartition("_") for name in detail.get(role, "").split() if "_" in name]
    return {(subtopology, int(part)) for subtopology, _, part in names if part.isdigit()}


_RECORDS: dict[int, Callable[[_Walk, GroupRecord], None]] = {
    kinds.STREAMS_MEMBER: _Walk._member,
    kinds.STREAMS_CURRENT_MEMBER: _Walk._current,
    kinds.STREAMS_EPOCH: _Walk._epoch,
    kinds.STREAMS_TOPOLOGY: _Walk._topology,
}
