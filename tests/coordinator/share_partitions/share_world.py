"""One share partition on a clock of the test's own, its log, and a coordinator whose writes the test lets through."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from uuid import UUID

from kohort.coordinator.at_once import at_once
from kohort.coordinator.pace import Pace
from kohort.coordinator.share.share_config import ShareConfig
from kohort.coordinator.share_partitions.acknowledging import Acknowledgement, acknowledging, badly_formed
from kohort.coordinator.share_partitions.acquiring import AcquireRequest, LogBatch, acquiring
from kohort.coordinator.share_partitions.dead_letters import DeadLetters
from kohort.coordinator.share_partitions.locks import releasing
from kohort.coordinator.share_partitions.record_observer import SESSION_CLOSED, UNOBSERVED, RecordObserver
from kohort.coordinator.share_partitions.record_states import ACCEPT, ACQUIRED, GAP, NAMES, REJECT, RELEASE, RENEW
from kohort.coordinator.share_partitions.share_partition import SharePartition
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.state_batches import UNKNOWN_OFFSET, StateBatches, combine, merge_into
from kohort.coordinator.share_state.state_outcome import SUCCESS, OnOutcome, refused
from kohort.coordinator.share_state.state_requests import StateWrite
from kohort.protocol.errors import ErrorCode as E
from kohort.purgatory import Purgatory

KEY = SharePartitionKey("g", UUID(int=1), 0)
TYPES = {"gap": GAP, "accept": ACCEPT, "release": RELEASE, "reject": REJECT, "renew": RENEW}
LONG = 1_000_000


class World:
    """The share partition, and everything around it."""

    def __init__(self, *, writes_at_once: bool = True, **config: object) -> None:
        self.record_observer: RecordObserver = UNOBSERVED
        self.settings = ShareConfig(record_lock_duration_ms=1_000)._replace(**config)  # type: ignore[arg-type]
        self.purgatory = Purgatory()
        self.now_ms = 0
        self.log: list[LogBatch] = []
        self.log_end = 0
        self.log_start = 0
        self.writes_at_once = writes_at_once
        self.writes: deque[tuple[StateWrite, OnOutcome]] = deque()
        self.written = StateBatches()  # stored state of the share coordinator
        self.written_start = -1
        self.written_complete = -1
        self.woken = self.fences = 0
        self.heard: list[tuple[E, str | None]] = []
        self.letters: list[DeadLetters] = []
        self.partition = self.begin()

    # The host

    def config(self, group_id: str) -> ShareConfig:
        return self.settings

    def write(self, key: SharePartitionKey, write: StateWrite, then: OnOutcome, now_ms: int) -> None:
        self.writes.append((write, then))
        if self.writes_at_once:
            self.lets_write()

    def changed(self, partition: SharePartition, now_ms: int) -> None:
        self.woken += 1

    def fenced(self, partition: SharePartition, now_ms: int) -> None:
        self.fences += 1

    has_dead_letters = True

    def send_dead_letters(self, partition: SharePartition, letters: Sequence[DeadLetters], now_ms: int) -> None:
        """Keep the dead letters of a group with a dead-letter topic; the test writes them."""
        self.letters += letters

    # What the test does

    def begin(self) -> SharePartition:
        """Start a leader with the stored state only."""
        self.partition = SharePartition(KEY, 0, self)
        at_once(self.partition.load(0, max(self.written_start, 0), self.written))
        return self.partition

    def lets_write(self, error: E = E.none) -> None:
        """Complete the oldest write, or let it fail."""
        write, then = self.writes.popleft()
        if error is E.none:
            merge_into(self.written, combine(write.batches, UNKNOWN_OFFSET), write.start_offset)
            self.written_start, self.written_complete = write.start_offset, write.delivery_complete_count
        then(SUCCESS if error is E.none else refused(error), self.now_ms)

    def produces(self, size: int, gap: int = 0) -> None:
        """Append a batch of `size` records, after a gap of offsets without records."""
        first = self.log_end + gap
        self.log.append(LogBatch(first, first + size - 1))
        self.log_end = first + size

    def reads(self, offset: int, most: int = LONG) -> list[LogBatch]:
        """Return the batches from the one that contains the offset, as a read of the log."""
        found = [batch for batch in self.log if batch.last_offset >= max(offset, self.log_start)]
        return found[:most]

    def fetches(
        self,
        member: str = "ada",
        most: int = LONG,
        batch_size: int = LONG,
        *,
        exactly: bool = False,
        batches: int = LONG,
        aborted: tuple[LogBatch, ...] = (),
    ) -> list[tuple[int, int, int]]:
        """Return the acquired records of a fetch: first offset, last offset and delivery count of each entry."""
        partition = self.partition
        if not partition.has_room:
            return []
        offset = partition.next_fetch_offset
        if offset < self.log_start:
            at_once(partition.move_log_start(self.log_start))
            return []
        wanted = AcquireRequest(member, most, batch_size, exactly)
        read = self.reads(offset, batches)
        acquired = at_once(acquiring(partition, wanted, offset, read, aborted, self.now_ms))
        return [tuple(item) for item in acquired]  # type: ignore[misc]

    def says(self, said: str, member: str = "ada") -> tuple[E, str | None] | None:
        """Acknowledge batches such as `0-3 accept, 4 release gap`. Return None while the write is pending."""
        batches = []
        for batch in said.split(","):
            offsets, *types = batch.split()
            first, _, last = offsets.partition("-")
            batches.append(Acknowledgement(int(first), int(last or first), [TYPES[type_] for type_ in types]))
        return self.acknowledges(batches, member)

    def acknowledges(self, batches: list[Acknowledgement], member: str = "ada") -> tuple[E, str | None] | None:
        heard: list[tuple[E, str | None]] = []
        for _ in acknowledging(self.partition, member, batches, self._noting(heard), self.now_ms):
            pass
        self.heard = heard
        return heard[0] if heard else None

    def leaves(self, member: str, cause: str = SESSION_CLOSED) -> None:
        """End a member's session."""
        at_once(releasing(self.partition, member, self.now_ms, cause))

    @staticmethod
    def _noting(heard: list[tuple[E, str | None]]) -> Callable[[E, str | None, int], None]:
        return lambda error, message, now_ms: heard.append((error, message))

    def waits(self, length_ms: int) -> None:
        """Advance the clock."""
        self.now_ms += length_ms
        self.purgatory.advance(self.now_ms)

    def deletes_before(self, offset: int) -> None:
        """Move the start of the log."""
        self.log_start = offset

    # What the test sees

    @property
    def states(self) -> str:
        """`0-3 acquired 1 ada, 4 available 1`: the ranges in flight, from the start on."""
        in_flight = self.partition.in_flight
        shown = []
        for index in range(len(in_flight)):
            first, last = max(in_flight.firsts[index], in_flight.start), in_flight.lasts[index]
            if last < in_flight.start:
                continue
            offsets = str(first) if first == last else f"{first}-{last}"
            words = [offsets, NAMES[in_flight.states[index]], str(in_flight.counts[index])]
            holder = in_flight.holders[index]
            if in_flight.states[index] == ACQUIRED:
                words.append(str(holder))
            elif holder is not None:
                words.append("pending")
            shown.append(" ".join(words))
        return ", ".join(shown)


def is_badly_formed(batches: list[Acknowledgement], highest_type: int, *, renews: bool) -> bool:
    """Run `badly_formed` to its end."""
    return at_once(badly_formed(batches, highest_type, Pace(), renews=renews))
