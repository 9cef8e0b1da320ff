"""Share groups (KIP-932) in the safety oracle: which member holds a record, and which records are finished.

It only uses the events of records, wherever the leader of a partition is: a record that a member holds is delivered to
no other member; an accepted, rejected or archived record is not delivered again; only finished records have dead
letters; only the holder of records decides about them; and no start offset moves past a delivered record that is
unfinished. After a reset by an administrator the checks start again.

A leader starts with the stored state. It can contain more than the events report: a write that was reported as failed
may be stored all the same. It can contain less: an expired lock counts even if the write fails. So when the state of a
share partition is loaded again, only events about stored records still count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kohort.coordinator.share_partitions.record_states import NO_RECORD

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.storage.topic import Topic

# Values in place of a holder's member id, which is never blank. FINISHED: it is stored that the record is not delivered
# again. ARCHIVED: the leader does not deliver it again, but that may not be stored.
AVAILABLE, FINISHED, ARCHIVED = "", " ", "  "

OUTCOMES = {
    "records_accepted": FINISHED,
    "records_rejected": FINISHED,
    "records_released": AVAILABLE,
    "lock_expired": AVAILABLE,
    "records_archived": ARCHIVED,
}  # State of records, by the kind of an event after which no member holds them.


class Stretch(NamedTuple):
    """A range of offsets with the same state: a holder, AVAILABLE, FINISHED or ARCHIVED."""

    first: int
    last: int
    owner: str


class Stretches:
    """The state of all records of one share partition that were ever delivered."""

    def __init__(self, name: str, node_id: int) -> None:
        self.name = name
        self.start = 0
        self.log_start = 0  # records below it were deleted or have expired
        self.node_id = node_id  # The node that loaded the state last. Events of other nodes are older, and arrive late.
        self._stretches: list[Stretch] = []  # in the order of their offsets; equal neighbours are combined

    def between(self, first: int, last: int) -> Iterator[Stretch]:
        """Yield the stretches between two offsets; offsets without a known state are left out."""
        for index in range(bisect_left(self._stretches, first, key=_last), len(self._stretches)):
            stretch = self._stretches[index]
            if max(stretch.first, first) > last:
                return
            yield Stretch(max(stretch.first, first), min(stretch.last, last), stretch.owner)

    def put(self, first: int, last: int, owner: str) -> None:
        stretches = self._stretches
        begin = bisect_left(stretches, first - 1, key=_last)
        end = begin
        pieces = [Stretch(first, last, owner)]
        while end < len(stretches) and stretches[end].first <= last + 1:
            pieces += _outside(stretches[end], first, last)
            end += 1
        stretches[begin:end] = _joined(sorted(pieces))

    def reload(self, node_id: int) -> None:
        """Keep stored states, and the holders of records if the node is the same: it would have reported a change."""
        forgotten = {AVAILABLE, ARCHIVED}
        if node_id != self.node_id:
            forgotten |= {stretch.owner for stretch in self._stretches} - {FINISHED}
        self._stretches = [stretch for stretch in self._stretches if stretch.owner not in forgotten]
        self.node_id = node_id

    def pass_below(self, start: int) -> None:
        """Mark everything below a loaded start offset as done, if any state is known there."""
        if self._stretches and self._stretches[0].first < start:
            self.put(self._stretches[0].first, start - 1, FINISHED)


@dataclass
class ShareSafety:
    """Checks of the records of share groups. `violation` is called with sentences."""

    # finds a topic by its name; one that was deleted and created again has other records
    find_topic: Callable[[str], Topic | None]
    violation: Callable[[str], None]
    # by group, topic, partition and topic id
    _partitions: dict[tuple[str, str, str, object], Stretches] = field(default_factory=dict)

    def on_event(self, recorded: Recorded) -> None:
        event, node_id = recorded.event, recorded.node_id
        if event.kind == "group_deleted":
            self.forget(event.group_id or "")
        elif event.detail is not None and event.group_id is not None and "partition" in event.detail:
            stretches = self._of(event.group_id, event.detail["topic"], event.detail["partition"], node_id)
            if event.kind == "share_partition_loaded":
                self._loaded(stretches, int(event.detail["start"]), node_id)
            elif event.kind in ("dead_letter_written", "dead_letter_failed"):
                self._dead_letter(stretches, event, is_late=node_id != stretches.node_id)
            elif event.kind != "share_start_moved":
                self._records(stretches, event, is_late=node_id != stretches.node_id)
            elif node_id == stretches.node_id:
                self._start_moved(stretches, int(event.detail["to"]))

    def forget(self, group_id: str, topic: str | None = None) -> None:
        for key in [key for key in self._partitions if key[0] == group_id and topic in (None, key[1])]:
            del self._partitions[key]

    def _of(self, group_id: str, topic_name: str, index: str, node_id: int) -> Stretches:
        """Return the state of a share partition, which is created if `node_id` is the first to report it."""
        topic = self.find_topic(topic_name)
        key = group_id, topic_name, index, None if topic is None else topic.topic_id
        stretches = self._partitions.setdefault(key, Stretches(f"group {group_id}: {topic_name}-{index}", node_id))
        partition = None if topic is None else topic.partition(int(index))
        stretches.log_start = 0 if partition is None else partition.log.log_start_offset
        return stretches

    def _loaded(self, stretches: Stretches, start: int, node_id: int) -> None:
        stretches.reload(node_id)
        self._start_moved(stretches, start)
        stretches.pass_below(start)

    def _start_moved(self, stretches: Stretches, start: int) -> None:
        """Check that only finished and undelivered offsets are passed: some offsets have no record."""
        for stretch in stretches.between(max(stretches.start, stretches.log_start), start - 1):
            if stretch.owner not in (FINISHED, ARCHIVED):
                self.violation(
                    f"{stretches.name} {_format_offsets(stretch)} was skipped: the start moved to {start}, "
                    f"and {_owner(stretch)}"
                )
        stretches.start = start

    def _dead_letter(self, stretches: Stretches, event: GroupEvent, *, is_late: bool) -> None:
        """Check that records with a dead letter are finished."""
        records = _records_of(event)
        for stretch in () if is_late else stretches.between(records.first, records.last):
            if stretch.owner not in (FINISHED, ARCHIVED):
                self.violation(f"{stretches.name} {_format_offsets(stretch)} has a dead letter, and {_owner(stretch)}")

    def _records(self, stretches: Stretches, event: GroupEvent, *, is_late: bool) -> None:
        """Update the state of records at or above the start. The batch at the log start is delivered as a whole."""
        records, outcome = _records_of(event), _outcome_of(event)
        if is_late and outcome != FINISHED:
            return
        remaining = records._replace(first=max(records.first, stretches.start))
        if remaining.first <= remaining.last:
            if event.kind != "records_archived":
                self._look_at(stretches, event.kind, remaining, is_late=is_late)
            stretches.put(remaining.first, remaining.last, outcome)
        elif event.kind == "records_acquired" and remaining.last >= stretches.log_start:
            self.violation(
                f"{stretches.name} {_format_offsets(records)} was delivered to {remaining.owner} below the start"
            )

    def _look_at(self, stretches: Stretches, kind: str, records: Stretch, *, is_late: bool) -> None:
        """Check records before their change. A late event was stored before the state was loaded again."""
        first, last, member = records
        is_given = kind == "records_acquired"
        change = f" was delivered to {member}" if is_given else f": {kind.replace('_', ' ')} of {member}"
        expected = FINISHED if is_late else AVAILABLE if is_given else member
        for stretch in stretches.between(first, last):
            if stretch.owner != expected:
                self.violation(f"{stretches.name} {_format_offsets(stretch)}{change}, and {_owner(stretch)}")


def _records_of(event: GroupEvent) -> Stretch:
    detail = event.detail or {}
    return Stretch(int(detail["first_offset"]), int(detail["last_offset"]), event.member_id or "")


def _outcome_of(event: GroupEvent) -> str:
    if event.cause == NO_RECORD:
        return FINISHED
    return OUTCOMES.get(event.kind, event.member_id or "")


def _last(stretch: Stretch) -> int:
    return stretch.last


def _outside(stretch: Stretch, first: int, last: int) -> Iterator[Stretch]:
    if stretch.first < first:
        yield stretch._replace(last=min(stretch.last, first - 1))
    if stretch.last > last:
        yield stretch._replace(first=max(stretch.first, last + 1))


def _joined(pieces: list[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for piece in pieces:
        if joined and joined[-1].last + 1 == piece.first and joined[-1].owner == piece.owner:
            joined[-1] = joined[-1]._replace(last=piece.last)
        else:
            joined.append(piece)
    return joined


def _format_offsets(stretch: Stretch) -> str:
    return str(stretch.first) if stretch.first == stretch.last else f"{stretch.first}-{stretch.last}"


def _owner(stretch: Stretch) -> str:
    if stretch.owner in (FINISHED, ARCHIVED):
        return "it was already finished"
    return f"{stretch.owner} holds it" if stretch.owner else "no member holds it"
