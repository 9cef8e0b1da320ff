"""The safety oracle's part for share groups (KIP-932): whose a record is, and what may never be delivered again.

It goes by the events of records alone, wherever a partition is led: a record that somebody holds is given to nobody
else, one that was accepted, rejected or archived is not given out again, only who holds records says what becomes of
them, and no start moves over a record that was given out and is not done with. Who is set back by an administrator
begins anew. What was being written when the leader changed the next one may know before the last one tells of it, and
what the last one has forgotten may be written: of such records anything may be true until they are told of again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kohort.coordinator.share_partitions.record_observer import DELIVERY_LIMIT, STATE_FORGOTTEN

if TYPE_CHECKING:
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.storage.topic import Topic

AVAILABLE, DONE, UNTOLD = "", " ", "  "
"""In the place of a holder's member id, which is never blank.

UNTOLD: held by somebody when the leader changed; or delivered as often as allowed, which counts even where it is not
written, until what is known of the partition is read anew.
"""

SETTLED = {
    "records_accepted": DONE,
    "records_rejected": DONE,
    "records_released": AVAILABLE,
    "lock_expired": AVAILABLE,
}
"""By the kind of an event about records that somebody holds: how they are afterwards."""


class Stretch(NamedTuple):
    """Offsets of which the same is known: who holds them, AVAILABLE, DONE, or UNTOLD."""

    first: int
    last: int
    owner: str


class Stretches:
    """What is known of the records of one share partition that were ever given out, from its start on."""

    def __init__(self) -> None:
        self.start = 0
        self.log_start = 0
        """What lies below was deleted, or is too old: nobody is owed it."""
        self.leader_epoch = -1
        """That of the leader from which events come."""
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

    def led_by(self, leader_epoch: int) -> None:
        """An event comes while the partition has a leader of that epoch."""
        if leader_epoch != self.leader_epoch:
            self.leader_epoch = leader_epoch
            self._known = _joined(
                [each if each.owner in (AVAILABLE, DONE) else each._replace(owner=UNTOLD) for each in self._known]
            )

    def begin_at(self, start: int) -> None:
        """What lies below is not given out any more."""
        kept = bisect_left(self._known, start, key=_last)
        self._known = [each._replace(first=max(each.first, start)) for each in self._known[kept:]]
        self.start = start


@dataclass
class ShareSafety:
    """The records of share groups. `violation` is called with sentences."""

    find_topic: Callable[[str], Topic | None]
    """A topic by its name. One that was deleted and made anew has other records."""
    violation: Callable[[str], None]
    _partitions: dict[tuple[str, str, str, object], Stretches] = field(default_factory=dict)
    """By group, topic, partition and the topic's id."""

    def hear(self, event: GroupEvent) -> None:
        """Something has happened to records of a share group, or to such a group."""
        if event.kind == "group_deleted":
            self.forget(event.group_id or "")
        elif event.detail is not None and event.group_id is not None and "partition" in event.detail:
            detail = event.detail
            topic = self.find_topic(detail["topic"])
            key = event.group_id, detail["topic"], detail["partition"], None if topic is None else topic.topic_id
            known = self._partitions.setdefault(key, Stretches())
            known.log_start, leader_epoch = _log_start_and_epoch(topic, int(detail["partition"]))
            known.led_by(leader_epoch)
            name = f"group {event.group_id}: {detail['topic']}-{detail['partition']}"
            if event.kind == "share_start_moved":
                self._start_moved(known, name, int(detail["to"]))
            else:
                records = Stretch(int(detail["first_offset"]), int(detail["last_offset"]), event.member_id or "")
                if event.cause == STATE_FORGOTTEN:
                    _forgotten(known, records)
                else:
                    self._records(known, name, event.kind, records, UNTOLD if event.cause == DELIVERY_LIMIT else DONE)

    def forget(self, group_id: str, topic: str | None = None) -> None:
        """A group, or what it knows of a topic, is gone, or begins anew."""
        for key in [key for key in self._partitions if key[0] == group_id and topic in (None, key[1])]:
            del self._partitions[key]

    def _records(self, known: Stretches, name: str, kind: str, records: Stretch, archived: str) -> None:
        """What lies below the start counts no more: a batch in which the log begins is given as a whole."""
        first, last, member = records
        first = max(first, known.start)
        if first > last:
            if kind == "records_acquired" and last >= known.log_start:
                self.violation(f"{name} {_told(records)} was given to {member}, and lies before the start")
        elif kind == "records_acquired":
            self._acquired(known, name, records._replace(first=first))
            known.put(first, last, member)
        elif kind == "records_archived":
            known.put(first, last, archived)
        else:
            what = kind.replace("_", " ")
            for each in known.between(first, last):
                if each.owner not in (member, UNTOLD):
                    self.violation(f"{name} {_told(each)}: {what} of {member}, and {_owner(each)}")
            if kind in SETTLED:
                known.put(first, last, SETTLED[kind])

    def _acquired(self, known: Stretches, name: str, records: Stretch) -> None:
        for each in known.between(records.first, records.last):
            if each.owner not in (AVAILABLE, UNTOLD):
                self.violation(f"{name} {_told(each)} was given to {records.owner}, and {_owner(each)}")

    def _start_moved(self, known: Stretches, name: str, start: int) -> None:
        """What nobody was given may be passed: offsets without a record are."""
        for each in known.between(max(known.start, known.log_start), start - 1):
            if each.owner not in (DONE, UNTOLD):
                self.violation(f"{name} {_told(each)} was skipped: the start moved to {start}, and {_owner(each)}")
        known.begin_at(start)


def _forgotten(known: Stretches, records: Stretch) -> None:
    """Nobody knows what has become of them; it may be told of late, when others hold them."""
    for each in list(known.between(max(records.first, known.start), records.last)):
        if each.owner in (records.owner, UNTOLD):
            known.put(each.first, each.last, UNTOLD)


def _log_start_and_epoch(topic: Topic | None, index: int) -> tuple[int, int]:
    partition = None if topic is None else topic.partition(index)
    return (0, -1) if partition is None else (partition.log.log_start_offset, partition.leader_epoch)


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
    if stretch.owner == DONE:
        return "it was done with"
    return f"{stretch.owner} holds it" if stretch.owner else "nobody holds it"
