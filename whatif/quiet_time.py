"""Quiet time of a group, which a process plays ahead without an event for each step."""

from __future__ import annotations

from array import array
from operator import itemgetter
from typing import TYPE_CHECKING

from kohort.whatif.virtual_cluster import FETCH_MS, REQUEST_MS, WRITE_MS

if TYPE_CHECKING:
    from kohort.whatif.clients.group_member import Said
    from kohort.whatif.consumer_process import Batch, ConsumerProcess

LONGEST_REQUEST_MS = 2 * REQUEST_MS[1] + WRITE_MS
_LONGEST_IDLE_MS = 60_000
_NEVER_MS = 1 << 62
_NO_RECORDS: array[int] = array("q")
_FETCH_MS, _FETCH_CHOICES = FETCH_MS[0], FETCH_MS[1] - FETCH_MS[0] + 1
_REQUEST_MS, _REQUEST_CHOICES = REQUEST_MS[0], REQUEST_MS[1] - REQUEST_MS[0] + 1


def play_quiet_time(process: ConsumerProcess) -> bool:
    """Read, work, commit and send heartbeats until something else may happen, without an event for each step.

    Times and random delays are those of the events. Of the requests, the coordinator receives the last ones only.
    Return False if this is not possible now.
    """
    begin_ms, timer, settings = process.cluster.now_ms, process.heartbeat_timer, process.settings
    if process.connection.is_busy or process.wake_timer is not None or timer is None or timer.at_ms < begin_ms:
        return False
    latest_wake_ms = process.metadata_due_ms
    if settings.auto_commit_ms is not None:
        latest_wake_ms = min(latest_wake_ms, process.next_commit_ms)
    until_ms = min(process.run.quiet_until_ms(process), latest_wake_ms, begin_ms + settings.max_poll_ms)
    if until_ms <= begin_ms:
        return False
    reader = _Reader(process)
    now_ms, beaten_ms, beat_ms = begin_ms, 0, timer.at_ms
    while True:
        batch = reader.next_batch(now_ms)
        if batch:
            finished_ms = now_ms + reader.work_ms
            if finished_ms + LONGEST_REQUEST_MS >= until_ms or finished_ms + LONGEST_REQUEST_MS >= beat_ms:
                process.ahead_ms = now_ms
                _return_batch(process, batch, now_ms - begin_ms)
                break
            now_ms = reader.finish(batch, now_ms, finished_ms)
            continue
        process.ahead_ms, now_ms = now_ms, reader.next_arrival_ms(now_ms, latest_wake_ms)
        while beat_ms + LONGEST_REQUEST_MS < now_ms and beat_ms + LONGEST_REQUEST_MS < until_ms:
            next_beat_ms = beat_ms + settings.heartbeat_ms + process.delay(process.library.heartbeat_delay_ms)
            beaten_ms, beat_ms = beat_ms + process.delay(REQUEST_MS), next_beat_ms
            process.delay(REQUEST_MS)
        if now_ms >= until_ms or now_ms >= beat_ms:
            process.wake_timer = process.after(now_ms - begin_ms, process.on_wake)
            break
    requests = reader.end()
    if beaten_ms:
        timer.cancel()
        process.heartbeat_timer = process.after(beat_ms - begin_ms, process.send_heartbeat)
        requests.append((beaten_ms, process.member.beat()))
    for arrival_ms, request in sorted(requests, key=itemgetter(0)):
        process.connection.send_ahead(request, arrival_ms)
    return True


def _return_batch(process: ConsumerProcess, batch: Batch, after_ms: int) -> None:
    if after_ms:
        process.after(after_ms, lambda: process.return_batch(batch))
    else:
        process.return_batch(batch)


class _Reader:
    """Batches and commits of a process. Long histories spend most of their time here: it calls nothing for a batch."""

    def __init__(self, process: ConsumerProcess) -> None:
        self.process, self.run = process, process.run
        self.read, self.ready_ms, self.pending = process.read, process.ready_ms, process.pending
        self.draw, self.script = process.clock.draw, process.run.script
        self.arrivals = {partition: self.script.arrivals.get(partition, _NO_RECORDS) for partition in self.read}
        self.next_ms = {
            partition: times[self.read[partition]] if self.read[partition] < len(times) else _NEVER_MS
            for partition, times in self.arrivals.items()
        }
        ordered = sorted(self.read)
        self.orders = [ordered[n:] + ordered[:n] for n in range(len(ordered) if process.takes_turns() else 1)]
        self.turn: int = self.run.turns.get(process.name, 0)
        self.max_records = process.settings.max_poll_records
        self.commits_each_batch = process.settings.auto_commit_ms is None
        self.work_ms = 0  # on the last batch
        self.committed_ms = 0
        self.offsets: dict[int, int] = {}

    def next_batch(self, now_ms: int) -> Batch:
        next_ms, ready_ms, remaining = self.next_ms, self.ready_ms, self.max_records
        batch: Batch = {}
        order = self.orders[self.turn % len(self.orders)]
        self.turn += 1
        for partition in order:
            if next_ms[partition] < now_ms and ready_ms[partition] <= now_ms and remaining > 0:
                first, times = self.read[partition], self.arrivals[partition]
                end = first + 1
                while end < len(times) and times[end] < now_ms and end - first < remaining:
                    end += 1
                batch[partition] = first, end
                remaining -= end - first
        if batch:
            script = self.script
            self.work_ms = script.work_ms + (self.max_records - remaining) * script.work_per_record_ms
        return batch

    def next_arrival_ms(self, now_ms: int, latest_ms: int) -> int:
        """Return the time at which a poll call that found nothing looks for work again."""
        wake_ms, draw, ready_ms = min(now_ms + _LONGEST_IDLE_MS, latest_ms), self.draw, self.ready_ms
        for partition, arrival_ms in self.next_ms.items():
            if arrival_ms != _NEVER_MS:
                fetched_ms = arrival_ms + _FETCH_MS + int(draw() * _FETCH_CHOICES)
                if fetched_ms < ready_ms[partition]:
                    fetched_ms = ready_ms[partition]
                if fetched_ms < wake_ms:
                    wake_ms = fetched_ms
        return wake_ms if wake_ms > now_ms else now_ms + 1

    def finish(self, batch: Batch, now_ms: int, finished_ms: int) -> int:
        """Process a batch and commit it. Return the time of the next poll."""
        run, pending, read_to = self.run, self.pending, self.run.read_to
        for partition, (first, end) in batch.items():
            times = self.arrivals[partition]
            self.read[partition] = end
            self.next_ms[partition] = times[end] if end < len(times) else _NEVER_MS
            if first < (highest := read_to.get(partition, 0)):
                run.read_again.append((now_ms, min(end, highest) - first))
            if end > highest:
                read_to[partition] = end
            run.progress[partition].append((finished_ms, end))
            pending[partition] = end
        run.worked[self.process.name] = finished_ms
        if not self.commits_each_batch:
            self.process.polled_at_ms = finished_ms
            return finished_ms
        self.committed_ms = finished_ms + _REQUEST_MS + int(self.draw() * _REQUEST_CHOICES)
        committed_ms = self.committed_ms + WRITE_MS + _REQUEST_MS + int(self.draw() * _REQUEST_CHOICES)
        for partition, offset in pending.items():
            run.commits[partition].append((committed_ms, offset))
            self.offsets[partition] = offset
        pending.clear()
        self.process.polled_at_ms = committed_ms
        return committed_ms

    def end(self) -> list[tuple[int, Said]]:
        """Return the commit of all offsets, and the time at which it arrives at the coordinator."""
        if len(self.orders) > 1:
            self.run.turns[self.process.name] = (self.turn - 1) % len(self.orders) + 1
        if not self.offsets:
            return []
        return [(self.committed_ms, self.process.member.commit_all(self.script.topic, self.offsets))]
