"""The safety oracle's part for share groups (KIP-932): whose a record is, and what may never be delivered again.

It goes by the events of records alone, wherever a partition is led: a record that somebody holds is given to nobody
else, one that was accepted, rejected or archived is not given out again, only who holds records says what becomes of
them, and no start moves over a record that was given out and is not done with. Who is set back by an administrator
begins anew.

A leader begins with what is written. That may be more than was told: a write that was reported as failed may be there
all the same. It may be less: a lock that expires counts even if it cannot be written. So only what was told because it
was written still counts when the state of a share partition is read anew.
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

AVAILABLE, DONE, ARCHIVED = "", " ", "  "
"""In the place of a holder's member id, which is never blank.

DONE: it is written that the record is not delivered again. ARCHIVED: its leader does not, and that may not be written.
"""

OUTCOMES = {
    "records_accepted": DONE,
    "records_rejected": DONE,
    "records_released": AVAILABLE,
    "lock_expired": AVAILABLE,
    "records_archived": ARCHIVED,
}
"""By the kind of an event after which nobody holds records: how they are."""


class Stretch(NamedTuple):
    """Offsets of which the same is known: who holds them, AVAILABLE, DONE, or ARCHIVED."""

    first: int
    last: int
    owner: str


class Stretches:
    """What is known of the records of one share partition that were ever given out."""

    def __init__(self, name: str, node_id: int) -> None:
        self.name = name
        self.start = 0
        self.log_start = 0
        """What lies below was deleted, or is too old: nobody is owed it."""
        self.node_id = node_id
        """Who has read its state last. What others tell they did before that, and it is heard late."""
        self._known: list[Stretch] = []
        """In the order of their offsets; neighbours that are alike are one."""

    def between(self, first: int, last: int) -> Iterator[Stretch]:
        """What is known of these offsets; of others nothing is."""
        for index in range(bisect_left(self._known, first, key=_last), len(self._known)):
            found = self._known[index]
            if max(found.first, first) > last:
                return
            yield Stretch(max(found.first, first), min(found.last, last), found.owner)

    def put(self, first: int, last: int, owner: str) -> None:
        """So it is with these offsets from now on."""
        known = self._known
        begin = bisect_left(known, first - 1, key=_last)
        end = begin
        pieces = [Stretch(first, last, owner)]
        while end < len(known) and known[end].first <= last + 1:
            pieces += _outside(known[end], first, last)
            end += 1
        known[begin:end] = _joined(sorted(pieces))

    def read_anew(self, node_id: int) -> None:
        """Only what was written counts, and what members hold who were given it by the same node: it would tell."""
        forgotten = {AVAILABLE, ARCHIVED}
        if node_id != self.node_id:
            forgotten |= {each.owner for each in self._known} - {DONE}
        self._known = [each for each in self._known if each.owner not in forgotten]
        self.node_id = node_id

    def pass_below(self, start: int) -> None:
        """The start that was read is there: all below is done with, unless nothing was, for then none is written."""
        if self._known and self._known[0].first < start:
            self.put(self._known[0].first, start - 1, DONE)


@dataclass
class ShareSafety:
    """The records of share groups. `violation` is called with sentences."""

    find_topic: Callable[[str], Topic | None]
    """A topic by its name. One that was deleted and made anew has other records."""
    violation: Callable[[str], None]
    _partitions: dict[tuple[str, str, str, object], Stretches] = field(default_factory=dict)
    """By group, topic, partition and the topic's id."""

    def hear(self, recorded: Recorded) -> None:
        """Something has happened to records of a share group, or to such a group."""
        event, node_id = recorded.event, recorded.node_id
        if event.kind == "group_deleted":
            self.forget(event.group_id or "")
        elif event.detail is not None and event.group_id is not None and "partition" in event.detail:
            known = self._of(event.group_id, event.detail["topic"], event.detail["partition"], node_id)
            if event.kind == "share_partition_loaded":
                self._loaded(known, int(event.detail["start"]), node_id)
            elif event.kind != "share_start_moved":
                self._records(known, event, is_late=node_id != known.node_id)
            elif node_id == known.node_id:
                self._start_moved(known, int(event.detail["to"]))

    def forget(self, group_id: str, topic: str | None = None) -> None:
        """A group, or what it knows of a topic, is gone, or begins anew."""
        for key in [key for key in self._partitions if key[0] == group_id and topic in (None, key[1])]:
            del self._partitions[key]

    def _of(self, group_id: str, topic_name: str, index: str, node_id: int) -> Stretches:
        """What is known of a share partition of which that node tells."""
        topic = self.find_topic(topic_name)
        key = group_id, topic_name, index, None if topic is None else topic.topic_id
        known = self._partitions.setdefault(key, Stretches(f"group {group_id}: {topic_name}-{index}", node_id))
        partition = None if topic is None else topic.partition(int(index))
        known.log_start = 0 if partition is None else partition.log.log_start_offset
        return known

    def _loaded(self, known: Stretches, start: int, node_id: int) -> None:
        known.read_anew(node_id)
        self._start_moved(known, start)
        known.pass_below(start)

    def _start_moved(self, known: Stretches, start: int) -> None:
        """What nobody was given may be passed: offsets without a record are."""
        for each in known.between(max(known.start, known.log_start), start - 1):
            if each.owner not in (DONE, ARCHIVED):
                self.violation(
                    f"{known.name} {_told(each)} was skipped: the start moved to {start}, and {_owner(each)}"
                )
        known.start = start

    def _records(self, known: Stretches, event: GroupEvent, *, is_late: bool) -> None:
        """What lies below the start counts no more: a batch in which the log begins is given as a whole."""
        records, outcome = _records_of(event), _outcome_of(event)
        if is_late and outcome != DONE:
            return
        left = records._replace(first=max(records.first, known.start))
        if left.first <= left.last:
            if event.kind != "records_archived":
                self._look_at(known, event.kind, left, is_late=is_late)
            known.put(left.first, left.last, outcome)
        elif event.kind == "records_acquired" and left.last >= known.log_start:
            self.violation(f"{known.name} {_told(records)} was given to {left.owner}, and lies before the start")

    def _look_at(self, known: Stretches, kind: str, records: Stretch, *, is_late: bool) -> None:
        """What is told late was written before it was read anew, and none of it may have been given out since."""
        first, last, member = records
        is_given = kind == "records_acquired"
        what = f" was given to {member}" if is_given else f": {kind.replace('_', ' ')} of {member}"
        before = DONE if is_late else AVAILABLE if is_given else member
        for each in known.between(first, last):
            if each.owner != before:
                self.violation(f"{known.name} {_told(each)}{what}, and {_owner(each)}")


def _records_of(event: GroupEvent) -> Stretch:
    """The offsets that an event is about, and the member."""
    detail = event.detail or {}
    return Stretch(int(detail["first_offset"]), int(detail["last_offset"]), event.member_id or "")


def _outcome_of(event: GroupEvent) -> str:
    """How the records are after an event about them."""
    if event.cause == NO_RECORD:
        return DONE
    return OUTCOMES.get(event.kind, event.member_id or "")


def _last(stretch: Stretch) -> int:
    return stretch.last


def _outside(known: Stretch, first: int, last: int) -> Iterator[Stretch]:
    """What of a stretch lies before and behind two offsets."""
    if known.first < first:
        yield known._replace(last=min(known.last, first - 1))
    if known.last > last:
        yield known._replace(first=max(known.first, last + 1))


def _joined(pieces: list[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for each in pieces:
        if joined and joined[-1].last + 1 == each.first and joined[-1].owner == each.owner:
            joined[-1] = joined[-1]._replace(last=each.last)
        else:
            joined.append(each)
    return joined


def _told(stretch: Stretch) -> str:
    return str(stretch.first) if stretch.first == stretch.last else f"{stretch.first}-{stretch.last}"


def _owner(stretch: Stretch) -> str:
    if stretch.owner in (DONE, ARCHIVED):
        return "it was done with"
    return f"{stretch.owner} holds it" if stretch.owner else "nobody holds it"
