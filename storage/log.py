"""A partition's log: where offsets come from, where segments begin, and when old ones go.

The bytes are in segments (segment.py), which a store keeps, in memory or on disk (store.py). There is one copy of each
log, so what is appended is committed: the high watermark is the end, or, where a store syncs before anything is
acknowledged, the end of what is synced.
Source: Kafka's `UnifiedLog`, `LocalLog`, `LeaderEpochFileCache`.
"""

from collections.abc import Callable, Generator, Iterator, Sequence

from kohort.storage import leader_epochs, memory, segment_reading
from kohort.storage.batch_records import find_time
from kohort.storage.compaction import AT_ONCE, Compaction
from kohort.storage.largest_timestamp import largest_timestamp, of_dropped
from kohort.storage.memory import Memory
from kohort.storage.producers import Producers
from kohort.storage.segment import CHUNK_BYTES, Chunk, Segment, batches_of
from kohort.storage.store import IN_MEMORY, Epochs, Found, Merged, Store
from kohort.storage.topic_configs import LogConfig


class PartitionLog:
    """Record batches of one partition, in the order of their offsets.

    Costs next to nothing while it is empty: its first segment is made by the first batch.
    """

    __slots__ = (
        "_config",
        "_epochs",
        "_memory",
        "_open_that_went",
        "_roll_bytes",
        "_roll_ms",
        "_segments",
        "_store",
        "high_watermark",
        "log_end_offset",
        "log_start_offset",
        "size_bytes",
    )

    def __init__(
        self, config: LogConfig, room: Memory | None = None, store: Store = IN_MEMORY, found: Found | None = None
    ) -> None:
        """`room`: what all logs together hold and may hold. `found`: what the store holds of the log already."""
        self._store = store
        self.config = config
        self.log_start_offset = 0
        self.log_end_offset = 0
        """The offset that the next record gets."""
        self.high_watermark = 0
        """The offset up to which consumers may read."""
        self.size_bytes = 0
        self._memory = room if room is not None else Memory()
        self._segments: list[Segment] | tuple[()] = ()
        self._open_that_went: tuple[int, int] | None = None
        """The largest timestamp, and its offset, of an open segment whose records were all deleted."""
        self._epochs: Epochs = leader_epochs.FIRST
        if found is not None:
            self._take_over(found)

    def _take_over(self, found: Found) -> None:
        self._segments = found.segments
        self.size_bytes = sum(segment.size_bytes for segment in found.segments)
        self._memory.used_bytes += self.size_bytes
        self.log_start_offset = found.log_start_offset
        end = found.segments[-1].next_offset if found.segments else found.log_start_offset
        self.log_end_offset = self.high_watermark = end
        self._epochs = found.epochs or leader_epochs.FIRST

    @property
    def config(self) -> LogConfig:
        """Replaced when the topic's settings change."""
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = config
        # Looked at by every append, hence worked out once.
        self._roll_bytes, self._roll_ms = config.segment_bytes, config.segment_ms
        if self._store.in_memory:
            self._roll_bytes, self._roll_ms = memory.roll_bytes(config), memory.roll_ms(config)

    # Writing

    def append(self, batch: bytes, *, wall_ms: int, leader_epoch: int = 0) -> int:
        """Writes one validated batch; returns the offset of its first record.

        Offset and leader epoch are stamped into its head, which the checksum does not cover. Raises OSError if it
        cannot be stored; then it is not part of the log.
        """
        base_offset = self.log_end_offset
        if leader_epoch != self._epochs[-1][0]:
            self.start_epoch(leader_epoch)
        size = len(batch)
        segments = self._segments
        if segments:
            segment = segments[-1]
            if segment.size_bytes:
                filled, age_ms = segment.size_bytes + size, segment.age_ms(batch, wall_ms)
                if filled > self._roll_bytes or age_ms > self._roll_ms:
                    config = self._config
                    goes_on = filled <= config.segment_bytes and age_ms <= config.segment_ms
                    segment = self._roll(wall_ms)
                    segment.goes_on = goes_on
        else:
            segment = self._roll(wall_ms)
        segment.append(batch, base_offset, leader_epoch)
        self.log_end_offset = segment.next_offset
        if not self._store.delays:
            self.high_watermark = segment.next_offset
        self.size_bytes += size
        self._memory.used_bytes += size
        return base_offset

    def synced(self, offset: int) -> None:
        """What lies before `offset` would survive the machine: consumers may read it."""
        self.high_watermark = max(self.high_watermark, offset)
        self._store.synced(offset)

    def start_epoch(self, leader_epoch: int) -> None:
        """Notes that records from here on are written under a new leader (KIP-101)."""
        self._set_epochs(leader_epochs.begun(self._epochs, leader_epoch, self.log_end_offset))

    def _set_epochs(self, epochs: Epochs) -> None:
        self._store.epochs_changed(epochs)
        self._epochs = epochs

    def _roll(self, wall_ms: int) -> Segment:
        if self._segments:
            self._segments[-1].close()
            self._open_that_went = None
        segment = self._store.new_segment(self.log_end_offset, wall_ms)
        self._segments = [*self._segments, segment]
        # By size at once, so that memory stays within it; by time only in `trim`, as in Kafka.
        self._trim_to_size()
        room_is_over = self._store.in_memory and self._memory.used_bytes > self._memory.limit_bytes
        if room_is_over and not self.config.compact:
            excess = self._memory.used_bytes - self._memory.limit_bytes
            self._memory.dropped_bytes += self._drop_oldest(lambda oldest, dropped: dropped < excess)
        return segment

    # Reading

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool = True) -> list[Chunk]:
        """Whole batches from the one that holds `offset`, or the next there is, within `max_bytes`.

        at_least_one: the first batch comes even when it alone is larger. The caller has checked that `offset` lies
        between `log_start_offset` and `log_end_offset`. A batch may begin before `offset`, as in Kafka.
        """
        assert self.log_start_offset <= offset <= self.log_end_offset, "the caller checks the range"
        return segment_reading.read(self._segments, offset, max_bytes, at_least_one, everywhere=True)[0]

    def read_segment(self, offset: int, max_bytes: int, *, at_least_one: bool) -> tuple[list[Chunk], bool]:
        """As `read`, of one segment: what a fetch gets. And whether `max_bytes` left something of it out."""
        assert self.log_start_offset <= offset <= self.log_end_offset, "the caller checks the range"
        return segment_reading.read(self._segments, offset, max_bytes, at_least_one, everywhere=False)

    def is_in_older_segment(self, offset: int, end: int) -> bool:
        """Whether no fetch from `offset` comes to `end`, which is in a later segment."""
        return segment_reading.is_in_older(self._segments, offset, end)

    def aborted_until(self, offset: int, end: int) -> int:
        """Before which offset aborted transactions begin that a fetch tells of; it got what lies between the two."""
        return segment_reading.aborted_until(self._segments, offset, end, self.log_end_offset)

    @property
    def segment_count(self) -> int:
        """How many segments there are."""
        return len(self._segments)

    def batches(self) -> Iterator[Chunk]:
        """Every batch there is, in order: what a coordinator replays."""
        for segment in self._segments:
            for chunk in segment.chunks():
                yield from batches_of(chunk)

    def offset_for_timestamp(self, timestamp: int) -> Generator[None, None, tuple[int, int] | None]:
        """Timestamp and offset of the first record that is not before `timestamp`; None: there is none.

        A little at a step. What is appended in between may be found or not; segments that are dropped are passed over.
        """
        for segment in self._segments:
            if segment.max_timestamp < timestamp:
                continue
            for batch in segment.batches_since(timestamp):
                found = yield from find_time(batch, timestamp, self.log_start_offset)
                if found is not None:
                    return found
                yield
                if segment not in self._segments:
                    break
        return None

    def offset_of_max_timestamp(self) -> Generator[None, None, tuple[int, int] | None]:
        """The largest timestamp and the first offset that has it; None: there is none. A little at a step.

        As in Kafka, it counts after its record was deleted, until its segment goes: the open one stays there. Here it
        goes too, and what it held is remembered until the next one is full.
        """
        return (yield from largest_timestamp(self._segments, self._open_that_went))

    @property
    def latest_epoch(self) -> int:
        """The leader epoch of the last who wrote here, or will write."""
        return self._epochs[-1][0]

    def epoch_at(self, offset: int) -> int:
        """The leader epoch under which `offset` was or will be written."""
        return leader_epochs.epoch_at(self._epochs, offset)

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """The largest epoch that is not above `leader_epoch`, and the offset where it ended; (-1, -1): unknown.

        Source: KIP-101, KIP-320; Kafka's `LeaderEpochFileCache.endOffsetFor`.
        """
        return leader_epochs.end_offset_for(self._epochs, leader_epoch, self.log_end_offset)

    # Forgetting

    def trim(self, wall_ms: int) -> int:
        """Drops whole segments that retention does not cover any more; returns how many bytes.

        Source: Kafka's `UnifiedLog.deleteOldSegments`: by time, the open segment too, then by size; oldest first.
        """
        config = self.config
        dropped = 0
        if config.delete and config.retention_ms >= 0:
            dropped += self._drop_oldest(
                lambda segment, _: wall_ms - _latest_ms(segment) > config.retention_ms, even_open=True
            )
        return dropped + self._trim_to_size()

    def _trim_to_size(self) -> int:
        most = self.config.retention_bytes
        if most < 0 or not self.config.delete:
            return 0
        size = self.size_bytes
        return self._drop_oldest(lambda segment, dropped: size - dropped - segment.size_bytes >= most)

    def delete_before(self, offset: int) -> None:
        """Makes `offset` the start of the log; segments that lie before it are dropped."""
        assert self.log_start_offset <= offset <= self.log_end_offset, "the caller checks the range"
        try:
            self._store.start_moved(offset)
        except OSError:  # on a full disk, what goes makes room for the note
            self._drop_before(offset)
            self._store.start_moved(offset)
        self._drop_before(offset)
        self.log_start_offset = offset
        self._set_epochs(leader_epochs.from_offset(self._epochs, offset))

    def _drop_before(self, offset: int) -> None:
        self._drop_oldest(lambda segment, _: segment.next_offset <= offset, even_open=True)

    def clear(self) -> None:
        """Drops everything: the topic is gone. Nothing may be appended any more."""
        self._store.removed()
        self._memory.used_bytes -= self.size_bytes
        self._segments, self.size_bytes = (), 0
        self.log_start_offset = self.high_watermark = self.log_end_offset

    def _drop_oldest(self, too_old: Callable[[Segment, int], bool], *, even_open: bool = False) -> int:
        """Drops segments from the oldest on while `too_old(segment, bytes dropped so far)`; returns the bytes."""
        dropped = 0
        segments = list(self._segments)
        gone: list[Segment] = []
        while (
            segments and (even_open or len(segments) > 1) and segments[0].size_bytes and too_old(segments[0], dropped)
        ):
            gone.append(segments.pop(0))
            dropped += gone[-1].size_bytes
        if gone:
            if not segments:
                self._open_that_went = of_dropped(gone[-1], self._open_that_went)
            if not segments and not self._store.in_memory:
                # The name of an empty file is what remembers where the log ends.
                segments.append(self._store.new_segment(self.log_end_offset, gone[-1].created_at_ms, alone=True))
            went = 0
            try:
                for segment in gone:
                    self._store.dropped((segment,))
                    went += 1
            finally:  # what could not be removed is still there, as the next start would find it
                self._segments = [*gone[went:], *segments]
                self._have_gone(gone[:went])
        return dropped

    def _have_gone(self, segments: Sequence[Segment]) -> None:
        if segments:
            size = sum(segment.size_bytes for segment in segments)
            self.size_bytes -= size
            self._memory.used_bytes -= size
            self.log_start_offset = max(self.log_start_offset, segments[-1].next_offset)
            self._set_epochs(leader_epochs.from_offset(self._epochs, self.log_start_offset))

    # Compaction

    def needs_compaction(self, wall_ms: int, producers: Producers | None = None) -> bool:
        """Whether the share of closed segments that were never compacted passes `min.cleanable.dirty.ratio`."""
        config = self.config
        if not config.compact or len(self._segments) < 2:
            return False
        closed = self._closed_segments(wall_ms, producers)
        dirty = [segment for segment in closed if not segment.clean]
        if not dirty:
            return False
        if wall_ms - dirty[0].first_timestamp > config.max_compaction_lag_ms:
            return True
        size = sum(segment.size_bytes for segment in closed)
        return sum(segment.size_bytes for segment in dirty) >= config.min_cleanable_dirty_ratio * size

    def compact(self, wall_ms: int, producers: Producers | None = None) -> Generator[None, None, int]:
        """Compacts the closed segments, a millisecond a step; returns how many bytes that saved.

        `producers`: what is remembered of who wrote here; segments with an undecided transaction are left alone.

        Nothing changes until the last step, and nothing at all if old segments were dropped meanwhile. Records may be
        appended between the steps: they go to segments that are not looked at.
        """
        closed = self._closed_segments(wall_ms, producers)
        kept: list[tuple[Segment, list[Chunk]]] = []
        for tombstones_go in (True, False):
            compaction = Compaction(wall_ms, self.config.delete_retention_ms, producers, tombstones_go=tombstones_go)
            kept.clear()
            for segment in reversed(closed):
                chunks: list[Chunk] = []
                for chunk in reversed(segment.chunks()):
                    remaining = yield from self._unless_lost(compaction.compact(chunk), closed)
                    if remaining is None:
                        return 0
                    if compaction.effort >= AT_ONCE:
                        compaction.effort = 0
                        yield
                        if self._has_lost(closed):
                            return 0
                    # Joined, which also lets the chunk itself go: most of it may be what does not stay.
                    if joined := b"".join(remaining):
                        chunks.append(joined)
                chunks.reverse()
                kept.insert(0, (segment, chunks))
            if not compaction.unsafe:
                break
        for _, chunks in () if compaction.finished else kept:
            chunks[:] = [left for chunk in chunks if (left := compaction.finish(chunk))]
            yield
        merged = self._merged(kept)
        made = yield from self._store.write_merged(merged)
        if self._has_lost(closed):
            self._store.dropped(made)
            return 0
        saved = self._put_merged(merged, made)
        if producers is not None:
            producers.transactions.forget_markers(compaction.gone_markers)
        return saved

    def _unless_lost(
        self, steps: Generator[None, None, list[Chunk]], closed: list[Segment]
    ) -> Generator[None, None, list[Chunk] | None]:
        """What the steps come to; None: segments were dropped meanwhile."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                result: list[Chunk] = end.value
                return result
            yield
            if self._has_lost(closed):
                return None

    def _has_lost(self, closed: list[Segment]) -> bool:
        """Whether segments were dropped since: the oldest goes first."""
        return bool(closed) and (not self._segments or self._segments[0] is not closed[0])

    def _closed_segments(self, wall_ms: int, producers: Producers | None) -> list[Segment]:
        """Those that may be compacted: all but the open one, old enough, and all of it decided."""
        lag_ms = self.config.min_compaction_lag_ms
        closed = list(self._segments[:-1])
        if producers is not None:
            stable = producers.transactions.last_stable_offset(self.high_watermark)
            while closed and closed[-1].next_offset > stable:
                closed.pop()
        while closed and lag_ms and wall_ms - _latest_ms(closed[-1]) < lag_ms:
            closed.pop()
        return closed

    def _merged(self, kept: list[tuple[Segment, list[Chunk]]]) -> list[Merged]:
        """Several become one, as in Kafka's cleaner; else a long log would end as many nearly empty segments."""
        merged: list[Merged] = []
        size = 0
        for segment, remaining in kept:
            remaining_size = sum(map(len, remaining))
            if merged and size + remaining_size <= self._roll_bytes:
                merged[-1].segments.append(segment)
                merged[-1].chunks.extend(remaining)
                size += remaining_size
            else:
                merged.append(Merged([segment], remaining))
                size = remaining_size
        return [Merged(segments, _gathered(chunks)) for segments, chunks in merged]

    def _put_merged(self, merged: list[Merged], made: list[Segment]) -> int:
        before = self.size_bytes
        self._store.put_merged(merged, made)
        for segment in made:
            segment.clean = True
        self._segments = [*made, *self._segments[sum(len(each.segments) for each in merged) :]]
        self.size_bytes = sum(segment.size_bytes for segment in self._segments)
        self._memory.used_bytes += self.size_bytes - before
        return before - self.size_bytes


def _latest_ms(segment: Segment) -> int:
    return segment.max_timestamp if segment.max_timestamp >= 0 else segment.created_at_ms


def _gathered(pieces: list[Chunk]) -> list[Chunk]:
    """Pieces joined to chunks of a decent size."""
    chunks: list[Chunk] = []
    waiting: list[Chunk] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            chunks.append(b"".join(waiting))
            waiting, size = [], 0
    if waiting:
        chunks.append(b"".join(waiting))
    return chunks
