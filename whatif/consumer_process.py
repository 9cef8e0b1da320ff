"""Processes with a consumer in them: the application's poll loop, its batches and commits, and the library's timers.

An event of a process is a plain callback of the virtual cluster. The protocol is that of the members in this folder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kohort.protocol.errors import ErrorCode as E
from kohort.whatif.clients.calling import Caller
from kohort.whatif.clients.client_libraries import JAVA_CONSUMER, LIBRARIES
from kohort.whatif.clients.group_member import Said
from kohort.whatif.process_clock import ProcessClock
from kohort.whatif.quiet_time import play_quiet_time
from kohort.whatif.virtual_cluster import FETCH_MS

if TYPE_CHECKING:
    from kohort.whatif.played_settings import Settings
    from kohort.whatif.virtual_cluster import Scheduled, VirtualCluster

RETRY_MS = 100  # retry.backoff.ms
CLOSE_MS = (1, 8)
# A refresh of metadata is requested between two polls of the network, after the age is reached, and the next age counts
# from its response.
METADATA_DELAY_MS = (150, 450)

Batch = dict[int, tuple[int, int]]  # first offset and the one after the last, by partition


class ConsumerProcess:
    """A process with one consumer. Subclasses add the protocol."""

    def __init__(self, run: Any, name: str, settings: Settings, startup_ms: int | None = None) -> None:
        self.run, self.name, self.settings = run, name, settings
        self.cluster: VirtualCluster = run.cluster
        self.clock = ProcessClock(run.cluster)
        self.delay, self.after = self.clock.delay, self.clock.after
        is_java_consumer = settings.is_consumer and settings.library == "java"
        self.library = JAVA_CONSUMER if is_java_consumer else LIBRARIES[settings.library]
        self.member = self._new_member()
        self.connection = run.cluster.connect(Caller(name), self.delay)
        self.in_poll = False
        self.polled_at_ms = 0
        self.stop_requested = False
        self.slow_ms = 0
        self.read: dict[int, int] = {}  # next offset to read, by owned partition
        self.ready_ms: dict[int, int] = {}  # when the first fetch of a partition returns
        self.pending: dict[int, int] = {}  # offsets of finished batches that are not committed
        self.next_commit_ms = 0
        self._deferred: list[Callable[[], None]] = []  # work for the application's thread
        self._runs_deferred = False
        self.wake_timer: Scheduled | None = None
        self.heartbeat_timer: Scheduled | None = None
        self.expiry_timer: Scheduled | None = None
        self.ahead_ms = 0  # the process has played quiet time until then
        startup = self.delay(self.library.startup_ms) if startup_ms is None else startup_ms
        age_ms: int = settings.metadata_ms
        self.metadata_due_ms: int = self.cluster.now_ms + startup + age_ms + self.delay(METADATA_DELAY_MS)
        self.partitions_known = run.cluster.topics.partitions_of(run.script.topic)
        self.after(startup, self._begin)

    # To be defined by a protocol

    def _new_member(self) -> Any:
        raise NotImplementedError

    def _poll_protocol(self) -> None:
        """Perform the work of the group in the application's thread."""
        raise NotImplementedError

    def _leave(self) -> Said | None:
        """Return the request with which the process leaves when it closes."""
        raise NotImplementedError

    def _on_poll_timeout(self) -> None:
        """Handle an application that does not poll within max.poll.interval.ms."""
        raise NotImplementedError

    def send_heartbeat(self) -> None:
        raise NotImplementedError

    @property
    def is_settled(self) -> bool:
        """Whether the process only reads, commits and sends heartbeats until something happens to it."""
        is_undisturbed = not (self.clock.is_frozen or self.stop_requested or self.slow_ms)
        return is_undisturbed and not self._deferred and self.expiry_timer is None

    def is_current(self) -> bool:
        """Return whether the coordinator has the member in the generation or epoch that the member has."""
        raise NotImplementedError

    def _begin(self) -> None:
        self.next_commit_ms = self.cluster.now_ms + (self.settings.auto_commit_ms or 0)
        self.poll()

    # The application's thread

    def poll(self) -> None:
        """Enter the poll call of the application."""
        if self.stop_requested:
            self.close()
            return
        self.in_poll = True
        self.polled_at_ms = self.cluster.now_ms
        if self.expiry_timer is not None:
            self.expiry_timer.cancel()
            self.expiry_timer = None
        self._continue_poll()

    def _continue_poll(self) -> None:
        """Look for work in the poll call: on entry, and when something has woken it."""
        if not self.in_poll or not self.clock.alive:
            return
        self._runs_deferred = True
        while self._deferred and self.in_poll:
            self._deferred.pop(0)()
        self._runs_deferred = False
        if not self.in_poll:
            return
        self._refresh_metadata()
        self._poll_protocol()
        self._commit_by_interval()
        if not self.in_poll:
            return
        if self.read and play_quiet_time(self):
            return
        if self.read and (batch := self._next_batch(self.cluster.now_ms)):
            self.return_batch(batch)
        else:
            self.await_work()

    def await_work(self) -> None:
        """Let the poll call wait for records, a timer, or its timeout if the application is to do something else."""
        if self.wake_timer is not None:
            self.wake_timer.cancel()
        now_ms = self.cluster.now_ms
        self.wake_timer = self.after(self._next_wake_ms(now_ms) - now_ms, self.on_wake)

    def _next_wake_ms(self, now_ms: int) -> int:
        """Return the time at which a poll call that found nothing looks for work again."""
        wake_ms: int = now_ms + 60_000
        for partition, offset in self.read.items():
            times = self.run.script.arrivals.get(partition)
            if times is not None and offset < len(times):
                arrival_ms = times[offset] + self.delay(FETCH_MS)
                wake_ms = min(wake_ms, max(arrival_ms, self.ready_ms[partition]))
        if self.slow_ms or self.stop_requested:
            wake_ms = min(wake_ms, self.poll_end_ms)
        if self.settings.auto_commit_ms:
            wake_ms = min(wake_ms, self.next_commit_ms)
        return max(min(wake_ms, self.metadata_due_ms), now_ms + 1)

    def on_wake(self) -> None:
        self.wake_timer = None
        if not self.in_poll:
            return
        if (self.slow_ms or self.stop_requested) and self.cluster.now_ms >= self.poll_end_ms:
            self._return_nothing()
        else:
            self._continue_poll()

    @property
    def poll_end_ms(self) -> int:
        """End of the current poll call if it returns no records: the application polls again and again."""
        timeout_ms: int = self.run.script.poll_ms
        now_ms = self.cluster.now_ms
        return self.polled_at_ms + max(-(-(now_ms - self.polled_at_ms) // timeout_ms), 1) * timeout_ms

    def _return_nothing(self) -> None:
        self.in_poll = False
        slow, self.slow_ms = self.slow_ms, 0
        self._work(slow, self.poll)

    def wake(self) -> None:
        """Let a waiting poll call look for work: a response has arrived."""
        if self.in_poll and not self._runs_deferred and self.cluster.now_ms >= self.ahead_ms:
            self._continue_poll()

    def in_application(self, call: Callable[[], None]) -> None:
        """Run a call in the application's thread: now if it waits in a poll, otherwise at the next poll."""
        if self.in_poll:
            call()
        else:
            self._deferred.append(call)

    def _work(self, ms: int, on_done: Callable[[], None]) -> None:
        self._expect_expiry(ms)
        self.after(ms, on_done)

    def _next_batch(self, now_ms: int) -> Batch:
        script, arrivals = self.run.script, self.run.script.arrivals
        batch: Batch = {}
        remaining = self.settings.max_poll_records
        for partition in self._in_turn():
            if self.ready_ms[partition] > now_ms or remaining <= 0:
                continue
            first, times = self.read[partition], arrivals.get(partition, ())
            if first < len(times) and times[first] < now_ms:
                count = min(script.appended(partition, now_ms - 1) - first, remaining)
                batch[partition] = first, first + count
                remaining -= count
        return batch

    def return_batch(self, batch: Batch) -> None:
        self.in_poll = False
        self.polled_at_ms = self.poll_end_ms - self.run.script.poll_ms  # a long wait consists of several polls
        work_ms = self.slow_ms + self._read_batch(batch, self.cluster.now_ms)
        self.slow_ms = 0
        poison = self.run.poison
        if poison is not None and poison.partition in batch:
            first, end = batch[poison.partition]
            if first <= poison.offset < end:
                self.after(work_ms, lambda: self._digest(batch, poison.work_ms))
                self._expect_expiry(work_ms + poison.work_ms)
                return
        self._work(work_ms, lambda: self._finish(batch))

    def _read_batch(self, batch: Batch, now_ms: int) -> int:
        """Move the positions behind a batch. Return the time that the work on it takes."""
        script = self.run.script
        records = 0
        for partition, (first, end) in batch.items():
            self.read[partition] = end
            records += end - first
            self.run.count_read(partition, first, end, now_ms)
        work_ms: int = script.work_ms + records * script.work_per_record_ms
        return work_ms

    def _in_turn(self) -> list[int]:
        """Return the owned partitions in the order in which their records are returned."""
        partitions = sorted(self.read)
        if self.takes_turns():
            turn = self.run.turns.get(self.name, 0) % len(partitions)
            self.run.turns[self.name] = turn + 1
            return partitions[turn:] + partitions[:turn]
        return partitions

    def takes_turns(self) -> bool:
        """Return whether each poll returns records of the next partition first."""
        return self.settings.max_poll_records < 1_000 and len(self.read) > 1

    def _digest(self, batch: Batch, ms: int) -> None:
        """Process a poisoned record in steps, since it may be removed meanwhile."""
        if ms <= 0 or self.run.poison is None:
            self._finish(batch)
        else:
            self.after(min(ms, 50), lambda: self._digest(batch, ms - 50))

    def _expect_expiry(self, ms: int) -> None:
        timeout_ms = self.polled_at_ms + self.settings.max_poll_ms
        if self.cluster.now_ms + ms > timeout_ms:
            self._expire_at(timeout_ms)

    def _expire_at(self, timeout_ms: int) -> None:
        self.run.end_quiet_time()
        self.expiry_timer = self.after(max(timeout_ms - self.cluster.now_ms, 0), self._on_poll_timeout)

    def _record_progress(self, batch: Batch, now_ms: int) -> None:
        for partition, (_, end) in batch.items():
            self.run.progress[partition].append((now_ms, end))
            if partition in self.read:
                self.pending[partition] = end
        self.run.worked[self.name] = now_ms

    def _finish(self, batch: Batch) -> None:
        self._record_progress(batch, self.cluster.now_ms)
        if self.settings.auto_commit_ms is None:
            self._commit(self.poll)
        else:
            self.poll()

    # Commits

    def _commit(self, on_done: Callable[[], None]) -> None:
        """Commit finished batches and wait for the response."""
        if not self.pending:
            on_done()
            return
        offsets, member = dict(self.pending), self.member

        def answered(error: E) -> None:
            if error is E.none:
                for partition, offset in offsets.items():
                    if self.pending.get(partition) == offset:
                        del self.pending[partition]
                self.run.commit(offsets, self.cluster.now_ms)
            elif error in (E.unknown_member_id, E.illegal_generation, E.fenced_instance_id):
                self.pending.clear()
            on_done()

        if not self._can_commit():
            on_done()
            return
        request = member.commit_all(self.run.script.topic, offsets)
        self.connection.send(request, lambda error: self.clock.run(lambda: answered(error)))

    def _can_commit(self) -> bool:
        """Return whether the library sends a commit now."""
        return True

    def _commit_by_interval(self) -> None:
        interval_ms = self.settings.auto_commit_ms
        if interval_ms is None or self.cluster.now_ms < self.next_commit_ms:
            return
        self.next_commit_ms = self.cluster.now_ms + interval_ms
        self._commit_in_background()

    def _commit_in_background(self, *, always: bool = False) -> None:
        """Commit finished batches without waiting.

        Args:
            always: Commit during a rebalance, too, as callbacks of the rebalance can.
        """
        if self.pending and (always or self._can_commit()):
            offsets, self.pending = self.pending, {}

            def answered(error: E) -> None:
                if error is E.none:
                    self.run.commit(offsets, self.cluster.now_ms)
                else:
                    self.pending = offsets | self.pending

            request = self.member.commit_all(self.run.script.topic, offsets)
            self.connection.send(request, lambda error: self.clock.run(lambda: answered(error)))

    # Partitions

    def own(self) -> None:
        """Update the partitions that are read to those of the member."""
        owned = {partition for _, partition in self.member.owned}
        for partition in [partition for partition in self.read if partition not in owned]:
            del self.read[partition]
            self.ready_ms.pop(partition, None)
            self.pending.pop(partition, None)
        now_ms = self.cluster.now_ms
        ready_ms = now_ms + self.delay(self.library.first_fetch_ms)
        for partition in owned - self.read.keys():
            self.read[partition] = self.cluster.committed(self.run.script.topic, partition)
            self.ready_ms[partition] = ready_ms
        self.run.record_owners(self.name, owned)

    def _refresh_metadata(self) -> None:
        now_ms = self.cluster.now_ms
        if now_ms < self.metadata_due_ms:
            return
        self.metadata_due_ms = now_ms + self.settings.metadata_ms + self.delay(METADATA_DELAY_MS)
        count = self.cluster.topics.partitions_of(self.run.script.topic)
        if count != self.partitions_known:
            self.partitions_known = count
            self._on_new_partitions()

    def _on_new_partitions(self) -> None:
        """Handle new partitions in the client's metadata."""

    # The end

    def stop(self) -> None:
        """Request the application to close its consumer. It notices when its poll returns."""
        self.stop_requested = True
        if self.in_poll:
            self.await_work()

    def close(self) -> None:
        """Close the consumer: commit, revoke, leave."""
        self.in_poll = False
        if self.settings.auto_commit_ms is not None:
            self._commit_in_background()
        self.after(self.delay(CLOSE_MS), self._close)

    def _close(self) -> None:
        if self.member.owned:
            self.run.moved(self.name, "revoked")
        request = self._leave()
        if request is None:
            self.end()
        else:
            self.connection.send(request, lambda _: self.end())
            if self.connection.pending:
                self.after(5_000, self.end)
        self._stop_timers()

    def end(self) -> None:
        """End at once: the process was killed, or its application stops reading because of a fatal error."""
        self.clock.alive = False
        self.run.end_quiet_time()
        self._stop_timers()
        self.connection.close()
        self.run.record_owners(self.name, set())

    def _stop_timers(self) -> None:
        for timer in (self.wake_timer, self.heartbeat_timer, self.expiry_timer):
            if timer is not None:
                timer.cancel()
