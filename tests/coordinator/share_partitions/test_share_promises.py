"""The guarantees of a share partition for any behaviour of members, compared with a model of single records.

One record is never held by two members. Accepted records are never delivered again. No record is lost or skipped.
Counts increase by one with each delivery. Ranges have the same states as the model. An observer that receives events
only knows the owners of records, and the start of the share partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kohort.coordinator.share_partitions.acknowledging import Acknowledgement
from kohort.coordinator.share_partitions.in_flight import NOT_LOCKED, member_of
from kohort.coordinator.share_partitions.record_observer import Fate, RecordObserver
from kohort.coordinator.share_partitions.record_states import (
    ACCEPT,
    ACCEPTED,
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    IS_TERMINAL,
    RENEW,
    RENEWED,
    STATE_AFTER,
)
from kohort.coordinator.share_partitions.share_partition import Progress
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.share_partitions.share_world import World, is_badly_formed
from tests.support.effort import examples

LOCK_MS = 1_000
LIMIT = 3
MEMBERS = st.sampled_from(["ada", "bob", "cid"])
FAILURES = st.sampled_from([E.none, E.none, E.none, E.kafka_storage_error, E.not_coordinator])


@dataclass
class Record:
    """State of one record that was ever acquired."""

    state: int = AVAILABLE
    count: int = 0
    owner: str | None = None
    expires_ms: int = 0
    writing: bool = False  # whether its new state is being written


class Follower(RecordObserver):
    """State that follows from events only."""

    def __init__(self) -> None:
        self.held: dict[int, tuple[str | None, int]] = {}  # by offset: owner of a record and its delivery count
        self.accepted: set[int] = set()
        self.start = 0

    def acquired(self, key: SharePartitionKey, member_id: str, entries: Sequence[tuple[int, int, int]]) -> None:
        for first, last, count in entries:
            for offset in range(first, last + 1):
                assert offset not in self.held, f"{offset} is held by two"
                self.held[offset] = member_id, count

    def settled(self, key: SharePartitionKey, fates: Iterable[Fate], cause: str | None = None) -> None:
        for fate in fates:
            for offset in range(fate.first_offset, fate.last_offset + 1):
                assert self.held.get(offset) == (None if fate.member_id is None else fate[3:1:-1]), f"{offset}: {fate}"
                if fate.fate == RENEWED:
                    continue
                self.held.pop(offset, None)
                if fate.fate == ACCEPTED:
                    self.accepted.add(offset)

    def start_moved(self, key: SharePartitionKey, before: int, start: int) -> None:
        assert self.start == before < start
        self.start = start


class Promises(RuleBasedStateMachine):
    """Members fetch, say something, fall silent and leave; writes fail; the log begins later; leaders change."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(writes_at_once=False, record_lock_duration_ms=LOCK_MS, delivery_count_limit=LIMIT)
        self.records: dict[int, Record] = {}
        # records of each pending write by its index in `world.writes`; expiries cannot be undone
        self.writing: list[list[int]] = []
        self.accepted: set[int] = set()
        self.world.record_observer = self.follower = Follower()

    # What happens

    @rule(size=st.integers(1, 6), gap=st.sampled_from([0, 0, 0, 2]))
    def produces(self, size: int, gap: int) -> None:
        self.world.produces(size, gap)

    @rule(
        member=MEMBERS,
        most=st.integers(1, 12),
        batch_size=st.integers(1, 6),
        exactly=st.booleans(),
        batches=st.integers(1, 4),
    )
    def fetches(self, member: str, most: int, batch_size: int, exactly: bool, batches: int) -> None:
        self.begins_where_the_log_does()
        taken = 0
        for first, last, count in self.world.fetches(member, most, batch_size, exactly=exactly, batches=batches):
            for offset in range(first, last + 1):
                record = self.records.setdefault(offset, Record())
                assert offset >= self.world.log_start - 6, "at most the batch in which the log begins"
                assert (record.state, record.writing) == (AVAILABLE, False), f"{offset} is {record}"
                assert offset not in self.accepted
                record.state, record.count, record.owner = ACQUIRED, record.count + 1, member
                record.expires_ms = self.world.now_ms + LOCK_MS
                assert record.count == count <= LIMIT
                taken += 1
        assert taken <= most or not exactly
        self.takes_in_what_was_read_along()

    def begins_where_the_log_does(self) -> None:
        """Apply the start of the log, as a fetch does."""
        world = self.world
        in_flight = world.partition.in_flight
        if world.partition.has_room and world.partition.next_fetch_offset < world.log_start:
            for offset, record in self.records.items():
                if in_flight.start <= offset < world.log_start and record.state == AVAILABLE:
                    record.state = ARCHIVED

    def takes_in_what_was_read_along(self) -> None:
        """Add records in flight that were not acquired yet, and offsets without records."""
        in_flight = self.world.partition.in_flight
        in_log = {offset for item in self.world.log for offset in range(item.first_offset, item.last_offset + 1)}
        for index in range(len(in_flight)):
            for offset in range(in_flight.firsts[index], in_flight.lasts[index] + 1):
                record = self.records.setdefault(offset, Record())
                if offset not in in_log and record.state == AVAILABLE and not record.writing:
                    record.state = in_flight.states[index]

    @rule(
        member=MEMBERS,
        offsets=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), min_size=1, max_size=3),
        data=st.data(),
    )
    def acknowledges(self, member: str, offsets: list[tuple[int, int]], data: st.DataObject) -> None:
        batches = []
        for first, length in sorted(offsets):
            size = st.sampled_from([1, length + 1])
            types = data.draw(size.flatmap(lambda n: st.lists(st.integers(0, 4), min_size=n, max_size=n)))
            batches.append(Acknowledgement(first, first + length, types))
        self.says(member, batches)

    @rule(member=MEMBERS, kind=st.integers(0, 4), data=st.data())
    def acknowledges_what_it_holds(self, member: str, kind: int, data: st.DataObject) -> None:
        held = [offset for offset, record in self.records.items() if record.owner == member and not record.writing]
        if held:
            first = data.draw(st.sampled_from(held))
            self.says(member, [Acknowledgement(first, first, [kind])])

    def says(self, member: str, batches: list[Acknowledgement]) -> None:
        if is_badly_formed(batches, RENEW, renews=True):
            return
        before = len(self.world.writes)
        heard = self.world.acknowledges(batches, member)
        refused = heard is not None and heard[0] is not E.none
        if refused:
            self.renews(batches, member, until_refused=True)
            return
        named: list[int] = []
        start = self.world.partition.in_flight.start
        for batch in batches:
            for offset in range(max(batch.first_offset, start), batch.last_offset + 1):
                record = self.records.get(offset)
                if record is None:
                    continue  # no record at this offset
                kind = batch.types[0 if len(batch.types) == 1 else offset - batch.first_offset]
                assert (record.state, record.owner, record.writing) == (ACQUIRED, member, False), f"{offset}: {record}"
                if kind == RENEW:
                    record.expires_ms = self.world.now_ms + LOCK_MS
                    continue
                record.state = self.after(record, STATE_AFTER[kind])
                record.writing = True
                named.append(offset)
        assert bool(named) == (len(self.world.writes) > before)
        if named:
            self.writing.append(named)

    def renews(self, batches: list[Acknowledgement], member: str, *, until_refused: bool) -> None:
        """Renew locks. As in Kafka, renewals before a rejected one stay: the ranges show which."""
        for offset, record in self.records.items():
            until_ms = self.locked_until(offset)
            if record.owner == member and until_ms is not None:
                record.expires_ms = until_ms

    def locked_until(self, offset: int) -> int | None:
        in_flight = self.world.partition.in_flight
        for index in in_flight.ranges_between(offset, offset):
            return in_flight.locked_until[index] if isinstance(in_flight.holders[index], str) else None
        return None

    def after(self, record: Record, state: int) -> int:
        return ARCHIVED if state == AVAILABLE and record.count >= LIMIT else state

    @rule(member=MEMBERS)
    def leaves(self, member: str) -> None:
        before = len(self.world.writes)
        self.world.leaves(member)
        named = [each for each, record in self.records.items() if record.owner == member and not record.writing]
        named = [item for item in named if item in self.in_flight()]
        start = self.world.partition.in_flight.start
        for offset in named:
            record = self.records[offset]
            record.state = ARCHIVED if offset < start else self.after(record, AVAILABLE)
            record.writing = True
        assert bool(named) == (len(self.world.writes) > before)
        if named:
            self.writing.append(named)

    @rule(length_ms=st.sampled_from([1, 400, 1_000]))
    def waits(self, length_ms: int) -> None:
        until_ms = self.world.now_ms + length_ms
        start = self.world.partition.in_flight.start
        expiring = sorted({record.expires_ms for record in self.records.values() if record.owner is not None})
        before = len(self.world.writes)
        self.world.waits(length_ms)
        for at_ms in [item for item in expiring if item <= until_ms]:
            for offset, record in self.records.items():
                if record.owner is not None and record.expires_ms == at_ms and not record.writing:
                    record.state = ARCHIVED if offset < start else self.after(record, AVAILABLE)
                    record.owner = None
        for _ in range(len(self.world.writes) - before):
            self.writing.append([])

    @precondition(lambda self: self.world.writes)
    @rule(error=FAILURES)
    def lets_write(self, error: E) -> None:
        named = self.writing.pop(0)
        start = self.world.partition.in_flight.start
        self.world.lets_write(error)
        for offset in named:
            record = self.records[offset]
            record.writing = False
            if error is E.none:
                record.owner = None
                if record.state == ACKNOWLEDGED:
                    self.accepted.add(offset)
            elif offset >= start and record.expires_ms > self.world.now_ms:
                record.state = ACQUIRED
            else:
                record.state = ARCHIVED if offset < start else self.after(record, AVAILABLE)
                record.owner = None

    @precondition(lambda self: self.world.log)
    @rule(data=st.data())
    def deletes(self, data: st.DataObject) -> None:
        world = self.world
        world.deletes_before(data.draw(st.integers(world.log_start, max(world.log_end - 1, world.log_start))))

    @rule()
    def leads_anew(self) -> None:
        """Start another leader with the stored state; pending writes are stored or not, without a response."""
        world = self.world
        while world.writes:
            self.lets_write(E.none)
        world.partition.end(Progress.FENCED)
        assert self.follower.held == {}
        world.begin()
        self.follower.start = world.partition.in_flight.start
        written: dict[int, tuple[int, int]] = {}
        for batch in world.written:
            written |= dict.fromkeys(
                range(batch.first_offset, batch.last_offset + 1), (batch.delivery_state, batch.delivery_count)
            )
        start = world.partition.in_flight.start
        done = {offset: record for offset, record in self.records.items() if offset < start}
        for record in done.values():
            record.owner = None  # who held something below the start holds it no more
        self.records = done | {
            offset: Record(*written.get(offset, (AVAILABLE, 0)))
            for offset in sorted(self.in_flight() | set(written))
            if offset >= start
        }

    def in_flight(self) -> set[int]:
        in_flight = self.world.partition.in_flight
        pairs = zip(in_flight.firsts, in_flight.lasts, strict=True)
        return {offset for first, last in pairs for offset in range(first, last + 1)}

    # What holds at any time

    @invariant()
    def ranges_say_what_the_model_says(self) -> None:
        in_flight = self.world.partition.in_flight
        behind = -1
        complete = 0
        for index in range(len(in_flight)):
            first, last = in_flight.firsts[index], in_flight.lasts[index]
            assert behind < first <= last
            behind = last
            for offset in range(max(first, in_flight.start), last + 1):
                record, holder = self.records[offset], in_flight.holders[index]
                assert (in_flight.states[index], in_flight.counts[index]) == (record.state, record.count), offset
                assert (holder is not None) == (record.owner is not None), offset
                if holder is not None:
                    assert (member_of(holder), in_flight.locked_until[index]) == (record.owner, record.expires_ms)
                else:
                    assert in_flight.locked_until[index] == NOT_LOCKED
                complete += IS_TERMINAL[record.state]
        assert in_flight.complete == complete

    @invariant()
    def batches_are_disjoint_and_made_of_ranges(self) -> None:
        in_flight = self.world.partition.in_flight
        covered: set[int] = set()
        for first, last, split in zip(in_flight.batch_firsts, in_flight.batch_lasts, in_flight.split, strict=True):
            found = in_flight.ranges_between(first, last)
            assert in_flight.firsts[found.start] == first
            assert in_flight.lasts[found.stop - 1] == last
            assert split or len(found) == 1
            assert not covered & set(found)
            covered |= set(found)
        assert len(covered) == len(in_flight)

    @invariant()
    def a_timer_rings_when_the_first_lock_expires_or_before(self) -> None:
        partition, now_ms = self.world.partition, self.world.now_ms
        due = [index for index, until in enumerate(partition.in_flight.locked_until) if until <= now_ms]
        assert not any(isinstance(partition.in_flight.holders[index], str) for index in due)
        assert partition.check_at_ms <= min(filter(now_ms.__lt__, partition.in_flight.locked_until), default=NOT_LOCKED)

    @invariant()
    def nothing_below_the_start_is_open(self) -> None:
        in_flight = self.world.partition.in_flight
        for offset, record in self.records.items():
            if offset < in_flight.start:
                assert record.state != AVAILABLE or offset < self.world.log_start, f"{offset} was skipped: {record}"

    @invariant()
    def who_hears_events_knows_who_holds_what(self) -> None:
        in_flight, follower = self.world.partition.in_flight, self.follower
        held = {
            offset: (member_of(holder), in_flight.counts[index])
            for index, holder in enumerate(in_flight.holders)
            if holder is not None
            for offset in range(in_flight.firsts[index], in_flight.lasts[index] + 1)
        }
        assert follower.held == held
        assert follower.accepted == self.accepted
        assert follower.start == in_flight.start

    def teardown(self) -> None:
        """Remove all members, and accept all remaining records with a new one: no record was lost."""
        while self.world.writes:
            self.lets_write(E.none)
        self.waits(LOCK_MS)
        while self.world.writes:
            self.lets_write(E.none)
        self.world.writes_at_once = True
        delivered: set[int] = set()
        for _ in range(3 * len(self.world.log) + 3 * len(self.records) + 3):
            entries = self.world.fetches("zoe")
            for first, last, _ in entries:
                delivered |= set(range(first, last + 1))
                assert self.world.acknowledges([Acknowledgement(first, last, [ACCEPT])], "zoe") == (E.none, None)
        assert not delivered & self.accepted
        for batch in self.world.log:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                record = self.records.get(offset, Record())
                done = IS_TERMINAL[record.state] or offset in delivered or offset < self.world.log_start
                assert done, f"{offset} was never delivered: {record}"
        assert self.world.partition.in_flight.is_empty


TestPromises = Promises.TestCase
TestPromises.settings = examples(3, steps=40)
