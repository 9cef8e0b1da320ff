"""A partition's log: assigns offsets, starts segments, and drops old ones.

The bytes are in segments (segment.py), which a store keeps in memory or on disk (store.py). Each log has one copy, so
appended records are committed: the high watermark is the log end offset, or, if a store syncs before responses are
sent, the end of the synced records.
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
    """Record batches of one partition, ordered by offset.

    An empty log uses almost no memory: its first segment is created with the first batch.
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
        self, config: LogConfig, room: Memory | None = None, store: Store = IN_MEMORY, recovered: Found | None = None
    ) -> None:
        """Open a log.

        Args:
            room: Memory limit that all logs share.
            found: Recovered content of the store, if any.
        """
        self._store = store
        self.config = config
        self.log_start_offset = 0
        self.log_end_offset = 0  # Offset of the next record.
        self.high_watermark = 0  # Consumers read records before this offset.
        self.size_bytes = 0
        self._memory = room if room is not None else Memory()
        self._segments: list[Segment] | tuple[()] = ()
        # Largest timestamp of an open segment whose records were all deleted, and its offset.
        self._open_that_went: tuple[int, int] | None = None
        self._epochs: Epochs = leader_epochs.FIRST
        if recovered is not None:
            self._take_over(recovered)

    def _take_over(self, recovered: Found) -> None:
        self._segments = recovered.segments
        self.size_bytes = sum(segment.size_bytes for segment in recovered.segments)
        self._memory.used_bytes += self.size_bytes
        self.log_start_offset = recovered.log_start_offset
        end = recovered.segments[-1].next_offset if recovered.segments else recovered.log_start_offset
        self.log_end_offset = self.high_watermark = end
        self._epochs = recovered.epochs or leader_epochs.FIRST

    @property
    def config(self) -> LogConfig:
        """Configuration of the topic; replaced when the topic's configuration changes."""
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
        """Write one validated batch and return the offset of its first record.

        The offset and leader epoch are written to the batch header, which the checksum does not cover.

        Raises:
            OSError: The batch cannot be stored and is not part of the log.
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
        """Advance the high watermark: records before `offset` are on disk."""
        self.high_watermark = max(self.high_watermark, offset)
        self._store.synced(offset)

    def start_epoch(self, leader_epoch: int) -> None:
        """Record that a new leader writes the following records (KIP-101)."""
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
        """Return complete batches from the one that contains `offset`, or the next one, within `max_bytes`.

        The caller has checked that `offset` is between `log_start_offset` and `log_end_offset`. A batch can start
        before `offset`, as in Kafka.

        Args:
            at_least_one: Return the first batch even if it is larger than `max_bytes`.
        """
        assert self.log_start_offset <= offset <= self.log_end_offset, "the caller checks the range"
        return segment_reading.read(self._segments, offset, max_bytes, at_least_one, everywhere=True)[0]

    def read_segment(self, offset: int, max_bytes: int, *, at_least_one: bool) -> tuple[list[Chunk], bool]:
        """Read as `read` does, but from one segment only, as a fetch does.

        Also return whether `max_bytes` cut it short.
        """
        assert self.log_start_offset <= offset <= self.log_end_offset, "the caller checks the range"
        return segment_reading.read(self._segments, offset, max_bytes, at_least_one, everywhere=False)

    def is_in_older_segment(self, offset: int, end: int) -> bool:
        """Return whether no fetch from `offset` can reach `end`, because it is in a later segment."""
        return segment_reading.is_in_older(self._segments, offset, end)

    def aborted_until(self, offset: int, end: int) -> int:
        """Return the offset before which a fetch from `offset` to `end` reports aborted transactions."""
        return segment_reading.aborted_until(self._segments, offset, end, self.log_end_offset)

    @property
    def segment_count(self) -> int:
        """Number of segments."""
        return len(self._segments)

    def batches(self) -> Iterator[Chunk]:
        """Yield all batches in order, for a coordinator's replay."""
        for segment in self._segments:
            for chunk in segment.chunks():
                yield from batches_of(chunk)

    def offset_for_timestamp(self, timestamp: int) -> Generator[None, None, tuple[int, int] | None]:
        """Find timestamp and offset of the first record at or after `timestamp`, or None.

        Works in slices. Records that are appended between slices may or may not be found; dropped segments are skipped.
        """
        for segment in self._segments:
            if segment.max_timestamp < timestamp:
                continue
            for batch in segment.batches_since(timestamp):
                timestamp_and_offset = yield from find_time(batch, timestamp, self.log_start_offset)
                if timestamp_and_offset is not None:
                    return timestamp_and_offset
                yield
                if segment not in self._segments:
                    break
        return None

    def offset_of_max_timestamp(self) -> Generator[None, None, tuple[int, int] | None]:
        """Find the largest timestamp and the first offset that has it, or None in an empty log. Works in slices.

        As in Kafka, a deleted record counts until its segment is dropped, and Kafka keeps the open segment. kohort
        drops it, too, and remembers its largest timestamp until the next segment is full.
        """
        return (yield from largest_timestamp(self._segments, self._open_that_went))

    @property
    def latest_epoch(self) -> int:
        """Leader epoch of the latest leader."""
        return self._epochs[-1][0]

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch in which `offset` was or will be written."""
        return leader_epochs.epoch_at(self._epochs, offset)

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """Return the largest epoch up to `leader_epoch` and its end offset, or (-1, -1) if it is unknown.

        Source: KIP-101, KIP-320; Kafka's `LeaderEpochFileCache.endOffsetFor`.
        """
        return leader_epochs.end_offset_for(self._epochs, leader_epoch, self.log_end_offset)

    # Forgetting

    def trim(self, wall_ms: int) -> int:
        """Drop complete segments by retention and return the number of bytes.

        Source: Kafka's `UnifiedLog.deleteOldSegments`: by time, including the open segment, then by size; oldest first.
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
        """Make `offset` the log start offset and drop segments before it."""
        assert self.log_start_offset <= offset <= self.log_end_offset, "the caller checks the range"
        try:
            self._store.start_moved(offset)
        except OSError:  # on a full disk, deleting files first makes room for the checkpoint
            self._drop_before(offset)
            self._store.start_moved(offset)
        self._drop_before(offset)
        self.log_start_offset = offset
        self._set_epochs(leader_epochs.from_offset(self._epochs, offset))

    def _drop_before(self, offset: int) -> None:
        self._drop_oldest(lambda segment, _: segment.next_offset <= offset, even_open=True)

    def clear(self) -> None:
        """Drop everything, because the topic is deleted. Nothing can be appended afterwards."""
        self._store.removed()
        self._memory.used_bytes -= self.size_bytes
        self._segments, self.size_bytes = (), 0
        self.log_start_offset = self.high_watermark = self.log_end_offset

    def _drop_oldest(self, too_old: Callable[[Segment, int], bool], *, even_open: bool = False) -> int:
        """Drop segments from the oldest on while `too_old(segment, dropped bytes)`; return the dropped bytes."""
        dropped = 0
        segments = list(self._segments)
        oldest: list[Segment] = []
        while (
            segments and (even_open or len(segments) > 1) and segments[0].size_bytes and too_old(segments[0], dropped)
        ):
            oldest.append(segments.pop(0))
            dropped += oldest[-1].size_bytes
        if oldest:
            if not segments:
                self._open_that_went = of_dropped(oldest[-1], self._open_that_went)
            if not segments and not self._store.in_memory:
                # The name of an empty file preserves the log end offset.
                segments.append(self._store.new_segment(self.log_end_offset, oldest[-1].created_at_ms, alone=True))
            went = 0
            try:
                for segment in oldest:
                    self._store.dropped((segment,))
                    went += 1
            finally:  # the next start would find the files that could not be deleted
                self._segments = [*oldest[went:], *segments]
                self._have_gone(oldest[:went])
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
        """Return whether the part of closed segments that is not compacted exceeds `min.cleanable.dirty.ratio`."""
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
        """Compact the closed segments in slices of a millisecond and return the number of saved bytes.

        Segments with an open transaction are skipped. Nothing changes until the last slice, and nothing at all if old
        segments were dropped meanwhile. Records appended between slices go to segments that are not compacted.
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
                    # Joining copies the pieces, so that the original chunk, most of which may be garbage, can be freed.
                    if joined := b"".join(remaining):
                        chunks.append(joined)
                chunks.reverse()
                kept.insert(0, (segment, chunks))
            if not compaction.unsafe:
                break
        for _, chunks in () if compaction.finished else kept:
            chunks[:] = [rest for chunk in chunks if (rest := compaction.finish(chunk))]
            yield
        merged = self._merged(kept)
        segments = yield from self._store.write_merged(merged)
        if self._has_lost(closed):
            self._store.dropped(segments)
            return 0
        saved = self._put_merged(merged, segments)
        if producers is not None:
            producers.transactions.forget_markers(compaction.gone_markers)
        return saved

    def _unless_lost(
        self, steps: Generator[None, None, list[Chunk]], closed: list[Segment]
    ) -> Generator[None, None, list[Chunk] | None]:
        """Return the result of the steps, or None if segments were dropped meanwhile."""
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
        """Return whether segments were dropped since; the oldest is dropped first."""
        return bool(closed) and (not self._segments or self._segments[0] is not closed[0])

    def _closed_segments(self, wall_ms: int, producers: Producers | None) -> list[Segment]:
        """Return the segments to compact: closed, old enough, without open transactions."""
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
        """Combine small segments, as Kafka's cleaner does, so that a long log does not become many small segments."""
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

    def _put_merged(self, merged: list[Merged], segments: list[Segment]) -> int:
        old_bytes = self.size_bytes
        self._store.put_merged(merged, segments)
        for segment in segments:
            segment.clean = True
        self._segments = [*segments, *self._segments[sum(len(group.segments) for group in merged) :]]
        self.size_bytes = sum(segment.size_bytes for segment in self._segments)
        self._memory.used_bytes += self.size_bytes - old_bytes
        return old_bytes - self.size_bytes


def _latest_ms(segment: Segment) -> int:
    return segment.max_timestamp if segment.max_timestamp >= 0 else segment.created_at_ms


def _gathered(pieces: list[Chunk]) -> list[Chunk]:
    """Join pieces to chunks of a useful size."""
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
