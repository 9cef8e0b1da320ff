"""Replays the log of a partition into whoever takes over what it keeps: a coordinator's groups, or its transactions.

A log can be long, and others are served meanwhile: it is read in slices, each in a turn of its own. Partitions are
loaded one after the other, in the order in which they were taken over. An empty log is loaded at once.

A record that cannot be read ends the load, and the node does not coordinate that partition (Kafka:
`CoordinatorLoaderImpl`, state FAILED); records of kinds that nobody here knows are passed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar, Protocol

from kohort.broker.logs import log
from kohort.coordinator.offsets_topic_records import UnreadableRecord
from kohort.protocol.batches import BatchInfo, read_batches
from kohort.protocol.errors import DecodeError
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.broker.clock import Clock
    from kohort.purgatory import Purgatory
    from kohort.storage.log import PartitionLog

SLICE_MS = 5
"""How long a slice may take: what a heartbeat waits at most. One step more may begin within."""
SLICE_BYTES = 1 << 20
"""How many bytes of the log a slice reads at most, for a clock that stands still."""
STEP_BYTES = 64 << 10
"""Read between two looks at the clock: a millisecond or two of commits."""
PAUSE_MS = 1
"""From the end of a slice to the beginning of the next: in between, others have their turn."""


class Loader(Protocol):
    """What a log is replayed into (`coordinator.loading.Loading`)."""

    what: ClassVar[str]
    """What it makes of records, as a log line names several."""
    records: int
    """How many it has taken over so far."""

    def apply_batch(self, data: bytes | memoryview, batch: BatchInfo) -> Iterator[None] | None:
        """Take over the records of a batch in `data`. A large one is left to the steps that are returned.

        Raises UnreadableRecord or DecodeError, as the steps do.
        """
        ...

    def prepare(self, now_ms: int) -> bool:
        """All has been read: does some of what `finish` would have to. Returns whether there is more of that."""
        ...

    def finish(self, now_ms: int) -> int:
        """All has been replayed: it is served from now on. Returns how many there are."""
        ...

    def fail(self) -> None:
        """It will not be served here."""
        ...


Gate = Callable[["Replay"], bool]
"""Asked when all has been read: whether to hold the load there, until `Replays.release`."""


class Replay:
    """One partition's log on its way into a loader."""

    def __init__(self, name: str, source: PartitionLog, loader: Loader, now_ms: int) -> None:
        """`name`: of the partition, for the log."""
        self.name = name
        self.over = False
        """Finished, failed or cancelled."""
        self.held = False
        """All has been read, and somebody wants it to end later."""
        self.source = source
        self._loader = loader
        self._offset = source.log_start_offset
        self._steps: Iterator[None] | None = None  # what is left of a large batch that ends before `_behind`
        self._behind = 0
        self._began_at_ms = now_ms

    def cancel(self) -> None:
        """Ends the load: another node leads the partition now, or none does."""
        if not self.over:
            self.over = True
            self._loader.fail()

    def step(self, now_ms: Callable[[], int], gate: Gate | None = None) -> int:
        """Replays a little more; returns how many bytes. `over` says whether that was the end of it.

        `gate`: who may hold it there; `held` says whether that is so.
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
                f"{self.name}: {problem.strerror or problem} at a record from offset {self._offset} on; until its "
                "leadership moves, what it keeps is not coordinated here; see to the disk, and start again",
                partition=self.name,
                offset=self._offset,
            )
            return STEP_BYTES
        except (UnreadableRecord, DecodeError) as problem:
            self.over = True
            self._loader.fail()
            log.warning(
                f"{self.name}: a record from offset {self._offset} on cannot be read: {problem}; until its leadership "
                "moves, what it keeps is not coordinated here (Apache Kafka does not load it either); put its files "
                "back from a copy",
                partition=self.name,
                offset=self._offset,
            )
            return STEP_BYTES
        except Exception:
            self.over = True
            self._loader.fail()
            log.error(
                f"{self.name}: a record from offset {self._offset} on cannot be read; until its leadership moves, "
                "what it keeps is not coordinated here",
                partition=self.name,
                offset=self._offset,
            )
            return STEP_BYTES

    def _applies(self) -> bool:
        """Apply one slice of a large batch. Return whether any was left."""
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
            self._offset = source.log_end_offset  # compaction has taken what there was
        return size

    def _log(self, count: int, now_ms: int) -> None:
        records = self._loader.records
        if records and log.info_enabled:
            took_ms = now_ms - self._began_at_ms
            log.info(
                f"{self.name}: loaded {count:,} {self._loader.what} from {records:,} records in {took_ms:,} ms",
                partition=self.name,
                loaded=count,
                records=records,
                ms=took_ms,
            )


class Replays:
    """The loads of all nodes, one after the other."""

    def __init__(self, clock: Clock, purgatory: Purgatory, gate: Gate | None = None) -> None:
        """`gate`: who may hold loads at their end."""
        self._clock = clock
        self._purgatory = purgatory
        self._waiting: deque[Replay] = deque()
        self._slice: _Slice | None = None
        self._gate = gate

    def start(self, name: str, source: PartitionLog, loader: Loader, now_ms: int) -> Replay:
        """Begins to replay `source` into `loader`. Only an empty log is through when this returns."""
        replay = Replay(name, source, loader, now_ms)
        if source.log_start_offset == source.log_end_offset:
            replay.step(self._clock.now_ms, self._gate)
        else:
            self._waiting.append(replay)
            self._go_on(now_ms)
        return replay

    def release(self, replay: Replay, now_ms: int) -> None:
        """Ends a load that was held; what was written to the log meanwhile is read first."""
        replay.held = False
        while not replay.over:
            replay.step(self._clock.now_ms)

    def run_at_once(self) -> None:
        """Loads all that is waiting: at a start, when there is nobody yet to be kept waiting."""
        while self._waiting:
            replay = self._waiting.popleft()
            while not replay.over:
                replay.step(self._clock.now_ms)

    def slice(self) -> None:
        """Loads for a while; what is left then goes on in a later turn."""
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
                # Counted from now, not from `now_ms`: what is due before the clock's time runs in this same turn.
                self._go_on(self._clock.now_ms() + PAUSE_MS)

    def _go_on(self, at_ms: int) -> None:
        if self._slice is None:
            self._slice = _Slice(self, at_ms)
            self._purgatory.wait(self._slice)


class _Slice(DelayedOperation):
    """The turn in which the next slice is loaded."""

    __slots__ = ("_replays",)

    def __init__(self, replays: Replays, at_ms: int) -> None:
        super().__init__(at_ms)
        self._replays = replays

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._replays.slice()
