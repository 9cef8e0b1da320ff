"""A process with a consumer of the consumer protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kohort.protocol.errors import ErrorCode as E
from kohort.whatif.clients.consumer_group_member import ConsumerMember
from kohort.whatif.clients.group_member import Said
from kohort.whatif.consumer_process import RETRY_MS, ConsumerProcess

if TYPE_CHECKING:
    from kohort.whatif.played_settings import Settings


class ConsumerProtocolProcess(ConsumerProcess):
    """A consumer with the consumer protocol (KIP-848)."""

    member: ConsumerMember

    def __init__(self, run: Any, name: str, settings: Settings, startup_ms: int | None = None) -> None:
        self.in_flight = False
        self.reconciling = False
        self.reports_soon = False  # it has accepted an assignment, and waits for a response before it reports that
        self.is_stale = False  # it was not polled in time, and has left the group
        super().__init__(run, name, settings, startup_ms)

    def _new_member(self) -> ConsumerMember:
        return ConsumerMember(
            name=self.name,
            group_id=self.run.group_id,
            names=(self.run.script.topic,),
            topics=self.run.cluster.topics,
            instance=self.name if self.settings.static else None,
            rebalance_ms=self.settings.max_poll_ms,
            member_id=f"{self.cluster.random.getrandbits(64):016x}-{self.name}",
        )

    def _begin(self) -> None:
        self.polled_at_ms = self.cluster.now_ms
        self._send(self.member.join())
        super()._begin()

    @property
    def is_settled(self) -> bool:
        member = self.member
        has_target = member.epoch > 0 and member.has_assignment and member.owned == member.told
        is_busy = self.reconciling or self.reports_soon or self.is_stale
        return has_target and not is_busy and super().is_settled

    def is_current(self) -> bool:
        group = self.cluster.coordinator.consumer_group(self.run.group_id)
        member = None if group is None else group.members.get(self.member.member_id)
        return member is not None and member.current.epoch == self.member.epoch

    def _poll_protocol(self) -> None:
        if self.is_stale:
            self.is_stale = False
            self.own()
            self._send(self.member.join())

    # Heartbeats

    def _send(self, request: Said) -> None:
        if self.in_flight:
            return
        self.in_flight = True
        if self.heartbeat_timer is not None:
            self.heartbeat_timer.cancel()
        delay_ms = self.delay(self.library.heartbeat_delay_ms)
        self.heartbeat_timer = self.after(self.settings.heartbeat_ms + delay_ms, self.send_heartbeat)
        self.connection.send(request, lambda error: self.clock.run(lambda: self._answered(error)))

    def send_heartbeat(self) -> None:
        if self.is_stale:
            return
        member = self.member
        if member.epoch <= 0:
            self._send(member.join())
        else:
            self._send(member.tell() if member.is_full else member.beat())

    def _answered(self, error: E) -> None:
        self.in_flight = False
        if self.is_stale:
            return
        if error in (E.unreleased_instance_id, E.unsupported_assignor, E.group_id_not_found, E.invalid_request):
            self.end()
            return
        if error is not E.none:
            if error in (E.unknown_member_id, E.fenced_member_epoch):
                self.run.moved_later(self, "lost")
                self.in_application(self.own)
            self.after(RETRY_MS, self.send_heartbeat)
            return
        if self.member.owned != self.member.told or (self.member.epoch > 0 and not self.member.has_assignment):
            self._reconcile()

    def _reconcile(self) -> None:
        """Revoke and accept partitions with callbacks in the application's thread, and report the result."""
        if self.reconciling:
            return
        self.reconciling = True
        self._at_callback(self._revoke)

    def _at_callback(self, call: Callable[[], None]) -> None:
        if not self.library.callbacks_at_poll:
            self.in_application(call)
        elif self.in_poll and self.cluster.now_ms > self.polled_at_ms:
            # The poll call waits for records, and looks for callbacks when it is entered again.
            self._deferred.append(call)
            self.after(self.poll_end_ms - self.cluster.now_ms, self._poll_again)
        else:
            self._deferred.append(call)
            if self.in_poll:
                self.after(0, self.wake)

    def _poll_again(self) -> None:
        if self.in_poll and self._deferred:
            self.poll()

    def _revoke(self) -> None:
        revoked = self.member.owned - self.member.told
        if not revoked:
            self._accept()
            return
        self._commit_in_background(always=True)
        self.run.moved(self.name, "revoked")
        for _, partition in revoked:
            self.read.pop(partition, None)
            self.ready_ms.pop(partition, None)
        if self.library.callbacks_at_poll:
            self._at_callback(self._accept)
        else:
            self._accept()

    def _accept(self) -> None:
        self.reconciling = False
        member = self.member
        if member.epoch <= 0:
            return
        request = member.next()
        member.has_assignment = True
        self.run.moved(self.name, "assigned")
        self.own()
        if self.in_flight:
            self.reports_soon = True
            self.after(2, self._report)
        else:
            self._send(request)
        self.after(0, self.wake)

    def _report(self) -> None:
        self.reports_soon = False
        self._send(self.member.beat(topic_partitions=self.member.as_request()))

    def _on_poll_timeout(self) -> None:
        """Leave the group until the next poll."""
        if self.member.epoch <= 0:
            return
        self.is_stale = True
        request = self.member.leave() if self.member.instance is None else self.member.step_out()
        self.connection.send(request, lambda _: None)
        if self.heartbeat_timer is not None:
            self.heartbeat_timer.cancel()
        self.in_flight = False
        self.reconciling = False
        self._deferred.clear()
        self.member.forget()
        self.pending.clear()
        self.run.moved_later(self, "lost")

    def _leave(self) -> Said | None:
        if self.member.epoch <= 0:
            return None
        return self.member.leave() if self.member.instance is None else self.member.step_out()
