"""Compaction of what producers with ids have written: transactions, markers, sequence numbers."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kohort.protocol.batches import CONTROL, TRANSACTIONAL, BatchInfo, Marker, marker_batch, read_batches
from kohort.storage.log import PartitionLog
from kohort.storage.producers import Producers, Remembered
from kohort.storage.topic_configs import LogConfig
from tests.storage.on_disk import OnDisk
from tests.support.batches import batch, contents, split
from tests.support.effort import examples

EVERYTHING = 1 << 30
ADA, BOB, CYD = 7, 8, 9


class Story:
    """A compacted log in small segments, written to by producers."""

    def __init__(self, segment_bytes: int = 1, delete_retention_ms: int = 1_000) -> None:
        config = LogConfig(
            compact=True, delete=False, segment_bytes=segment_bytes, delete_retention_ms=delete_retention_ms
        )
        self.log = PartitionLog(config)
        self.producers = Producers()
        self.now_ms = 0
        self._sequences: dict[int, int] = {}

    def writes(self, producer_id: int, *pairs: tuple[bytes, bytes | None], transactional: bool = True) -> None:
        sequence = self._sequences.get(producer_id, 0)
        self._sequences[producer_id] = sequence + len(pairs)
        made = batch(
            *pairs,
            at=self.now_ms,
            attributes=TRANSACTIONAL if transactional else 0,
            producer=(producer_id, 0, sequence),
        )
        offset = self.log.append(made, wall_ms=self.now_ms)
        remembered = Remembered(sequence, sequence + len(pairs) - 1, offset, self.now_ms)
        self.producers.appended(producer_id, 0, remembered, self.now_ms, transactional=transactional)

    def ends(self, producer_id: int, *, committed: bool) -> None:
        offset = self.log.append(marker_batch(Marker(committed, 0), producer_id, 0, self.now_ms), wall_ms=self.now_ms)
        self.producers.ended(producer_id, 0, offset, 0, self.now_ms, committed=committed)

    def plainly(self, *pairs: tuple[bytes, bytes | None]) -> None:
        self.log.append(batch(*pairs, at=self.now_ms), wall_ms=self.now_ms)

    def compacts(self, after_ms: int = 0) -> None:
        self.now_ms += after_ms
        for _ in self.log.compact(self.now_ms, self.producers):
            pass

    @property
    def markers(self) -> list[int]:
        """Where markers stand."""
        return [header.base_offset for header in self._headers() if header.attributes & CONTROL]

    @property
    def empty(self) -> list[tuple[int, int]]:
        """Offset and first sequence number of batches without records."""
        return [(header.base_offset, header.base_sequence) for header in self._headers() if not header.record_count]

    @property
    def stable(self) -> int:
        return self.producers.transactions.last_stable_offset(self.log.high_watermark)

    def _headers(self) -> list[BatchInfo]:
        return [read_batches(each)[0] for each in split(self.log.read(self.log.log_start_offset, EVERYTHING))]

    def records(self) -> list[tuple[int, bytes | None, bytes | None]]:
        found = []
        for each in split(self.log.read(self.log.log_start_offset, EVERYTHING)):
            if not read_batches(each)[0].attributes & CONTROL:
                found += contents([each])
        return found

    def committed(self) -> list[tuple[int, bytes | None, bytes | None]]:
        """Return the records of a read_committed reader, which skips aborted ones like clients do."""
        stable = self.stable
        aborted = sorted(
            (transaction.first_offset, transaction.producer_id)
            for transaction in self.producers.transactions.aborted_in(0, stable)
        )
        passed: set[int] = set()
        found = []
        for each in split(self.log.read(self.log.log_start_offset, EVERYTHING)):
            header = read_batches(each)[0]
            if header.base_offset >= stable:
                break
            while aborted and aborted[0][0] <= header.last_offset:
                passed.add(aborted.pop(0)[1])
            if header.attributes & CONTROL:
                passed.discard(header.producer_id)
            elif not (header.attributes & TRANSACTIONAL and header.producer_id in passed):
                found += contents([each])
        return found

    def told_again(self) -> Producers:
        """Return the producer state that a reader of the log gets."""
        replayed = Producers()
        for each in split(self.log.read(self.log.log_start_offset, EVERYTHING)):
            replayed.replay(each, read_batches(each)[0])
        return replayed


def test_aborted_records_are_dropped() -> None:
    story = Story()
    story.plainly((b"a", b"before"))
    story.writes(ADA, (b"a", b"aborted"), (b"b", b"aborted"))
    story.ends(ADA, committed=False)
    story.writes(BOB, (b"c", b"old"))
    story.writes(BOB, (b"c", b"committed"))
    story.ends(BOB, committed=True)
    story.plainly((b"z", b"open segment"))
    story.compacts()
    assert story.records() == [(0, b"a", b"before"), (5, b"c", b"committed"), (7, b"z", b"open segment")]
    assert story.markers == [3, 6]
    assert story.committed() == story.records()


def test_obsolete_marker_is_dropped_after_retention() -> None:
    story = Story()
    story.writes(ADA, (b"a", b"1"))
    story.ends(ADA, committed=True)
    story.writes(BOB, (b"b", b"1"))
    story.ends(BOB, committed=False)
    story.plainly((b"a", b"2"))
    story.writes(ADA, (b"x", b"goes on"))
    story.ends(ADA, committed=True)
    story.writes(BOB, (b"y", b"goes on"))
    story.ends(BOB, committed=True)
    story.plainly((b"z", b"open segment"))
    story.compacts(after_ms=5_000)
    assert story.records()[0] == (4, b"a", b"2")
    assert story.markers == [1, 3, 6, 8]
    assert len(story.producers.transactions.aborted_in(0, 99)) == 1
    story.compacts()
    story.compacts(after_ms=999)
    assert story.markers == [1, 3, 6, 8], (
        "since the compaction that met nothing of it, delete.retention.ms are not over"
    )
    story.compacts(after_ms=1)
    assert story.markers == [6, 8]
    assert story.producers.transactions.aborted_in(0, 99) == []


def test_last_producer_batch_stays_empty() -> None:
    story = Story()
    story.writes(ADA, (b"a", b"1"), (b"b", b"1"), transactional=False)
    story.writes(ADA, (b"a", b"2"), transactional=False)
    story.writes(BOB, (b"c", b"aborted"))
    story.ends(BOB, committed=False)
    story.plainly((b"a", b"3"), (b"b", b"3"))
    story.plainly((b"z", b"open segment"))
    for _ in range(3):
        story.compacts(after_ms=2_000)
        assert story.records() == [(5, b"a", b"3"), (6, b"b", b"3"), (7, b"z", b"open segment")]
        assert story.empty == [(2, 2), (3, 0)]
        producers = story.told_again()
        assert producers.last_batches() == story.producers.last_batches()
    story.producers.expire(100 * 86_400_000)
    story.compacts()
    assert story.empty == []
    story.compacts(after_ms=2_000)
    assert story.markers == [4], "what is left of Bob's transaction was met until now"
    story.compacts(after_ms=2_000)
    assert story.markers == []


def test_producer_keeps_its_only_marker() -> None:
    story = Story()
    story.ends(ADA, committed=False)
    story.ends(BOB, committed=False)
    story.writes(BOB, (b"b", b"1"))
    story.ends(BOB, committed=True)
    story.plainly((b"z", b"open segment"))
    story.compacts(after_ms=5_000)
    assert story.markers == [0, 1, 3]
    story.compacts(after_ms=5_000)
    assert story.markers == [0, 3], "nothing else contains Ada's epoch"


def test_open_transactions_are_not_compacted() -> None:
    story = Story()
    story.plainly((b"a", b"1"))
    story.plainly((b"a", b"2"))
    story.writes(ADA, (b"a", b"undecided"))
    story.plainly((b"a", b"3"))
    story.plainly((b"a", b"4"))
    story.compacts(after_ms=5_000)
    assert [offset for offset, _, _ in story.records()] == [1, 2, 3, 4]
    assert not story.log.needs_compaction(story.now_ms, story.producers)
    story.ends(ADA, committed=False)
    story.plainly((b"z", b"open segment"))
    assert story.log.needs_compaction(story.now_ms, story.producers)
    story.compacts()
    assert story.records() == [(4, b"a", b"4"), (6, b"z", b"open segment")]


def test_open_segment_contains_marker() -> None:
    story = Story(segment_bytes=150)
    story.plainly((b"a", b"1"))
    story.writes(ADA, (b"a", b"aborted"))
    story.plainly((b"b", b"1"))
    story.ends(ADA, committed=False)
    story.compacts(after_ms=5_000)
    assert story.records() == [(0, b"a", b"1"), (2, b"b", b"1")]
    assert story.committed() == story.records()


def test_adopts_log_from_disk(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path, compact=True, delete=False, segment_bytes=200, delete_retention_ms=1_000)
    story = Story()

    def comes_back() -> None:
        assert on_disk.dies_and_comes_back() == []
        story.log, story.producers = on_disk.log, on_disk.topics.producers_of(on_disk.topic.partitions[0])

    story.log, story.producers = on_disk.log, on_disk.topics.producers_of(on_disk.topic.partitions[0])
    for number in range(30):
        story.writes((ADA, BOB)[number % 2], (b"key %d" % (number % 3), b"%d" % number))
        if number % 5 == 4:
            for producer_id in (ADA, BOB):
                story.ends(producer_id, committed=number % 2 == 0)
    story.writes(CYD, (b"key 0", b"idempotent"), transactional=False)
    story.writes(ADA, (b"key 0", b"undecided"))
    for after_ms in (0, 500, 5_000):
        story.compacts(after_ms)
        expected = story.committed(), story.producers.last_batches(), story.stable, story.markers
        comes_back()
        assert (story.committed(), story.producers.last_batches(), story.stable, story.markers) == expected
    story.ends(ADA, committed=True)
    story.plainly((b"z", b"open segment"))
    story.compacts()
    assert {key: value for _, key, value in story.committed()}[b"key 0"] == b"undecided"
    on_disk.directory.close()


what_happens = st.one_of(
    st.tuples(
        st.sampled_from(["writes", "plainly", "idempotent"]),
        st.sampled_from([ADA, BOB, CYD]),
        st.lists(
            st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.one_of(st.none(), st.binary(max_size=40))),
            min_size=1,
            max_size=3,
        ),
    ),
    st.tuples(st.just("ends"), st.sampled_from([ADA, BOB, CYD]), st.booleans()),
    st.tuples(st.just("compacts"), st.integers(0, 1_500), st.none()),
)


@examples(2)
@given(st.lists(what_happens, max_size=60), st.integers(1, 400))
def test_read_committed_finds_last_values(story_of: list[tuple], segment: int) -> None:  # type: ignore[type-arg]
    story, plain = Story(segment, delete_retention_ms=1_000), Story(EVERYTHING)
    for what, who, more in [*story_of, ("compacts", 500, None), ("compacts", 5_000, None)]:
        if what == "compacts":
            before = story.producers.last_batches(), story.stable
            story.compacts(after_ms=who)
            plain.now_ms = story.now_ms
            producers = story.told_again()
            assert (story.producers.last_batches(), story.stable) == before
            assert producers.last_batches() == story.producers.last_batches()
            assert producers.transactions.last_stable_offset(story.log.high_watermark) == story.stable
            _has_lost_nothing(story, plain)
            continue
        for each in (story, plain):
            if what == "writes":
                each.writes(who, *more)
            elif what == "idempotent" and each.producers.transactions.first_offset(who) is None:
                each.writes(who, *more, transactional=False)
            elif what == "plainly":
                each.plainly(*more)
            elif what == "ends":
                each.ends(who, committed=more)


def _has_lost_nothing(story: Story, plain: Story) -> None:
    """Compare with an uncompacted log: the last value of each key is equal, and no record is new."""
    seen, expected = story.committed(), plain.committed()
    assert set(seen) <= set(expected)
    assert [offset for offset, _, _ in seen] == sorted({offset for offset, _, _ in seen})

    def last(records: list[tuple[int, bytes | None, bytes | None]]) -> dict[bytes | None, bytes]:
        latest = {key: value for _, key, value in records}
        return {key: value for key, value in latest.items() if value is not None}

    assert last(seen) == last(expected)
