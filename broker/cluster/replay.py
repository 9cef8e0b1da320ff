"""Replay of a partition's log into the coordinator that takes it over: its groups, or its transactions.

A log can be long, and other requests must be handled meanwhile: it is read in slices, each in a turn of its own.
Partitions are loaded one after the other, in the order in which they were taken over. An empty log is loaded
immediately.

An unreadable record ends the load, and the node does not coordinate that partition (Kafka: `CoordinatorLoaderImpl`,
state FAILED); records of unknown types are skipped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from math import inf
from typing import TYPE_CHECKING, ClassVar, Protocol

from kohort.base.logs import log
from kohort.protocol.batches import BatchInfo, read_batches
from kohort.protocol.errors import DecodeError
from kohort.protocol.records.schema import RecordError
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.base.clock import Clock
    from kohort.purgatory import Purgatory
    from kohort.storage.log import PartitionLog

SLICE_MS = 5  # Maximum time of a slice, and so the delay of a heartbeat. One more step may begin within it.
SLICE_BYTES = 1 << 20  # maximum bytes of a slice, for a clock that does not advance
STEP_BYTES = 64 << 10  # bytes read between two looks at the clock: a millisecond or two of commits
PAUSE_MS = 1  # pause between slices, in which other requests are handled


class Loader(Protocol):
    """The target of a replay (`coordinator.groups.loading.Loading`)."""

    loads: ClassVar[str]  # what it creates, as a plural noun for log lines
    records: int  # number of records applied so far

    def apply_batch(self, data: bytes | memoryview, batch: BatchInfo) -> Iterator[None] | None:
        """Apply the records of a batch in `data`. For a large one the remaining steps are returned.

        Raises:
            RecordError: As the steps do.
            DecodeError: As the steps do.
        """
        ...

    def prepare(self, now_ms: int) -> bool:
        """Perform a part of the work of `finish`, after all records were read. Return whether there is more."""
        ...

    def finish(self, now_ms: int) -> int:
        """Begin to serve what was loaded. Return the number of groups or transactions."""
        ...

    def fail(self) -> None:
        """Reject requests for what could not be loaded."""
        ...


# called when everything has been read: whether to hold the load until `Replays.release`
Gate = Callable[["Replay"], bool]


class Replay:
    """One partition's log on its way into a loader."""

    def __init__(self, name: str, source: PartitionLog, loader: Loader, now_ms: int) -> None:
        self.name = name
        self.over = False  # finished, failed or cancelled
        self.held = False  # everything has been read, but the load is held
        self.source = source
        self._loader = loader
        self._offset = source.log_start_offset
        self._steps: Iterator[None] | None = None  # the rest of a large batch that ends before `_behind`
        self._behind = 0
        self._began_at_ms = now_ms

    def cancel(self) -> None:
        if not self.over:
            self.over = True
            self._loader.fail()

    def step(self, now_ms: Callable[[], int], gate: Gate | None = None) -> int:
        """Replay a little more, and return the number of bytes. Sets `over` at the end.

        Args:
            gate: May hold the load at its end, which sets `held`.
        """
        try:
            size = STEP_BYTES if self._applies() else self._read()
            if self._steps is None and self._offset >= self.source.log_end_offset:
                if self._loader.prepare(now_ms()):
                    return size or STEP_BYTES
                self.held = gate is not None and gate(self)
                if self.held:
                    return size
                self.over = True
                self._log(self._loader.finish(now_ms()), now_ms())
            return size
        except OSError as problem:
            self.over = True
            self._loader.fail()
            log.warning(
                f"{self.name}: {problem.strerror or problem} at {self._position()}; until its "
                "leadership moves, this node does not coordinate the partition; check the disk and restart the broker",
                partition=self.name,
                offset=self._offset,
            )
            return STEP_BYTES
        except (RecordError, DecodeError) as problem:
            self.over = True
            self._loader.fail()
            log.warning(
                f"{self.name}: {self._position()} cannot be read: {problem}; until its leadership "
                "moves, this node does not coordinate the partition (nor would Apache Kafka); restore its files "
                "from a copy",
                partition=self.name,
                offset=self._offset,
            )
            return STEP_BYTES
        except Exception:
            self.over = True
            self._loader.fail()
            log.error(
                f"{self.name}: {self._position()} cannot be read; until its leadership moves, "
                "this node does not coordinate the partition",
                partition=self.name,
                offset=self._offset,
            )
            return STEP_BYTES

    def _position(self) -> str:
        """Return where in the log a record is that causes an error. What is decoded at the end may be anywhere."""
        if self._offset >= self.source.log_end_offset:
            return f"a record before offset {self._offset}"
        return f"a record from offset {self._offset} on"

    def _applies(self) -> bool:
        if self._steps is None:
            return False
        if next(self._steps, self._steps) is self._steps:
            self._steps, self._offset = None, self._behind
        return True

    def _read(self) -> int:
        source = self.source
        offset = max(self._offset, source.log_start_offset)
        size = 0
        for chunk in source.read(offset, STEP_BYTES):
            for batch in read_batches(chunk):
                # The first one may begin before the log does, since records before it were deleted: as in Kafka, it
                # counts whole.
                self._steps = self._loader.apply_batch(chunk, batch)
                if self._steps is not None:
                    self._behind = batch.last_offset + 1
                    return STEP_BYTES
                self._offset = batch.last_offset + 1
            size += len(chunk)
        if not size:
            self._offset = source.log_end_offset  # compaction has removed what there was
        return size

    def _log(self, count: int, now_ms: int) -> None:
        records = self._loader.records
        if records and log.info_enabled:
            took_ms = now_ms - self._began_at_ms
            log.info(
                f"{self.name}: loaded {count:,} {self._loader.loads} from {records:,} records in {took_ms:,} ms",
                partition=self.name,
                loaded=count,
                records=records,
                ms=took_ms,
            )


class Replays:
    """The loads of all nodes, one after the other."""

    def __init__(self, clock: Clock, purgatory: Purgatory, gate: Gate | None = None) -> None:
        self._clock = clock
        self._purgatory = purgatory
        self._waiting: deque[Replay] = deque()
        self._slice: _Slice | None = None
        self._gate = gate
        self._on_loaded: deque[Callable[[], None]] = deque()

    def start(self, name: str, source: PartitionLog, loader: Loader, now_ms: int) -> Replay:
        """Start replaying `source` into `loader`. Only an empty log is loaded when this returns."""
        replay = Replay(name, source, loader, now_ms)
        if source.log_start_offset == source.log_end_offset:
            replay.step(self._clock.now_ms, self._gate)
        else:
            self._waiting.append(replay)
            self._go_on(now_ms)
        return replay

    def release(self, replay: Replay, now_ms: int) -> None:
        """Finish a load that was held, after reading what was written to the log meanwhile."""
        replay.held = False
        while not replay.over:
            replay.step(self._clock.now_ms)

    def run_at_once(self, max_bytes: float = inf) -> None:
        """Load without pauses, at a start without clients, until everything or `max_bytes` were read."""
        while self._waiting and max_bytes > 0:
            replay = self._waiting[0]
            if not replay.over:
                max_bytes -= replay.step(self._clock.now_ms)
            if replay.over:
                self._waiting.popleft()
        if self._waiting and self._slice is not None:  # the listeners open first
            self._purgatory.postpone(self._slice, self._clock.now_ms() + PAUSE_MS)
        self._report_loaded()

    def when_loaded(self, action: Callable[[], None]) -> None:
        """Call `action` when no load is waiting: immediately, or after the last one."""
        self._on_loaded.append(action)
        self._report_loaded()

    def _report_loaded(self) -> None:
        while self._on_loaded and not self._waiting:
            self._on_loaded.popleft()()

    def slice(self) -> None:
        """Load for a while, and schedule the rest for a later turn."""
        self._slice = None
        room, until_ms = SLICE_BYTES, self._clock.now_ms() + SLICE_MS
        try:
            while self._waiting and room > 0 and self._clock.now_ms() < until_ms:
                replay = self._waiting[0]
                if not replay.over:
                    room -= replay.step(self._clock.now_ms, self._gate)
                if replay.over or replay.held:
                    self._waiting.popleft()
        finally:
            if self._waiting:
                # Based on the current time, not on `now_ms`: what is due before it would run in this same turn.
                self._go_on(self._clock.now_ms() + PAUSE_MS)
            self._report_loaded()

    def _go_on(self, at_ms: int) -> None:
        if self._slice is None:
            self._slice = _Slice(self, at_ms)
            self._purgatory.wait(self._slice)


class _Slice(DelayedOperation):
    """The turn of the next slice."""

    __slots__ = ("_replays",)

    def __init__(self, replays: Replays, at_ms: int) -> None:
        super().__init__(at_ms)
        self._replays = replays

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._replays.slice()
