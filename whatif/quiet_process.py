"""A consumer process that plays quiet time of its group ahead, without an event for each step."""

from __future__ import annotations

from operator import itemgetter

from kohort.whatif.consumer_process import Batch, ConsumerProcess
from kohort.whatif.virtual_cluster import REQUEST_MS, WRITE_MS

LONGEST_REQUEST_MS = 2 * REQUEST_MS[1] + WRITE_MS


class QuietProcess(ConsumerProcess):
    """A process with one consumer. Subclasses add the protocol."""

    @property
    def is_settled(self) -> bool:
        """Whether the process only reads, commits and sends heartbeats until something happens to it."""
        is_undisturbed = not (self.is_frozen or self.stop_requested or self.slow_ms)
        return is_undisturbed and not self._deferred and self._expiry is None

    def _send_heartbeat(self) -> None:
        raise NotImplementedError

    def _play_quiet_time(self) -> bool:
        """Read, work, commit and send heartbeats until something else may happen, without an event for each step.

        Times and random delays are those of the events. Of the requests, the coordinator receives the last ones only.
        Return False if this is not possible now.
        """
        run, begin_ms, beat = self.run, self.cluster.now_ms, self._beat
        if self.connection.is_busy or self._wake is not None or beat is None or beat.at_ms < begin_ms:
            return False
        commits_each_batch = self.settings.auto_commit_ms is None
        until_ms = min(run.quiet_until_ms(), self.metadata_due_ms, begin_ms + self.settings.max_poll_ms)
        if not commits_each_batch:
            until_ms = min(until_ms, self.next_commit_ms)
        offsets: dict[int, int] = {}
        now_ms, committed_ms, beaten_ms, beat_ms = begin_ms, 0, 0, beat.at_ms
        while True:
            self._ahead_ms = now_ms
            batch = self._next_batch(now_ms)
            if not batch:
                now_ms = self._next_wake_ms(True, now_ms)
                while beat_ms + LONGEST_REQUEST_MS < min(now_ms, until_ms):
                    next_beat_ms = beat_ms + self.settings.heartbeat_ms + self.delay(self.library.heartbeat_delay_ms)
                    beaten_ms, beat_ms = beat_ms + self.delay(REQUEST_MS), next_beat_ms
                    self.delay(REQUEST_MS)
                if now_ms >= min(until_ms, beat_ms):
                    self._wake = self.after(now_ms - begin_ms, self._woken)
                    break
                continue
            work_ms = self._work_ms(sum(end - first for first, end in batch.values()))
            if now_ms + work_ms + LONGEST_REQUEST_MS >= min(until_ms, beat_ms):
                self._resume(batch, now_ms - begin_ms)
                break
            self._read_batch(batch, now_ms)
            now_ms += work_ms
            self._record_progress(batch, now_ms)
            if commits_each_batch:
                committed_ms = now_ms + self.delay(REQUEST_MS)
                now_ms = committed_ms + WRITE_MS + self.delay(REQUEST_MS)
                run.commit(self.pending, now_ms)
                offsets |= self.pending
                self.pending.clear()
            self.polled_at_ms = now_ms
        requests = [(committed_ms, self.member.commit_all(run.script.topic, offsets))] if offsets else []
        if beaten_ms:
            beat.cancel()
            self._beat = self.after(beat_ms - begin_ms, self._send_heartbeat)
            requests.append((beaten_ms, self.member.beat()))
        for arrival_ms, request in sorted(requests, key=itemgetter(0)):
            self.connection.send_ahead(request, arrival_ms)
        return True

    def _resume(self, batch: Batch, after_ms: int) -> None:
        """Return a batch to the application after some time."""
        if after_ms:
            self.after(after_ms, lambda: self._return_batch(batch))
        else:
            self._return_batch(batch)
