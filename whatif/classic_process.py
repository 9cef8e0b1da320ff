"""A process with a consumer of the classic protocol, eager or cooperative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kohort.protocol.consumer_protocol import (
    Assignment,
    Subscription,
    read_subscription,
    write_assignment,
    write_subscription,
)
from kohort.protocol.errors import ErrorCode as E
from kohort.whatif.clients.assignors import ASSIGNORS, Subscriber
from kohort.whatif.clients.classic_group_member import JOINED, OUT, SYNCED, ClassicMember
from kohort.whatif.clients.client_libraries import LIBRARIES
from kohort.whatif.clients.group_member import Said
from kohort.whatif.consumer_process import RETRY_MS, ConsumerProcess

if TYPE_CHECKING:
    from kohort.whatif.played_settings import Settings

USER_DATA = bytes(31)  # of librdkafka's cooperative-sticky assignor, from the second generation on


@dataclass(eq=False)
class AssigningMember(ClassicMember):
    """A classic member whose leader uses one of the client-side assignors."""

    assignor: str = "range"
    user_data: bool = False

    def _protocols(self) -> tuple[tuple[str, bytes], ...]:
        subscription = Subscription(version=3, topics=self.names, owned_partitions=self.by_name(self.owned))
        return ((self.assignor, write_subscription(subscription)),)

    def shares(self) -> dict[str, bytes]:
        subscribers = []
        for follower in self.followers:
            subscription = read_subscription(follower.metadata)
            if subscription is None:
                continue
            owned = tuple(
                (name, number) for name, numbers in subscription.owned_partitions.items() for number in numbers
            )
            subscribers.append(
                Subscriber(follower.member_id, follower.group_instance_id, tuple(subscription.topics), owned)
            )
        if not subscribers:
            return {}
        counts = {name: self.topics.partitions_of(name) for name in self.names}
        data = USER_DATA if self.user_data and self.generation > 1 else None
        shares = {}
        for member_id, partitions in ASSIGNORS[self.assignor](subscribers, counts).items():
            by_topic: dict[str, tuple[int, ...]] = {}
            for name, number in partitions:
                by_topic[name] = (*by_topic.get(name, ()), number)
            shares[member_id] = write_assignment(Assignment(version=1, partitions=by_topic, user_data=data))
        return shares


class ClassicProcess(ConsumerProcess):
    """A consumer with the classic protocol, eager or cooperative."""

    member: AssigningMember

    def __init__(self, run: Any, name: str, settings: Settings, startup_ms: int | None = None) -> None:
        self.joining = False
        self.joined_at_ms = -1_000_000
        super().__init__(run, name, settings, startup_ms)

    def _new_member(self) -> AssigningMember:
        settings, library = self.settings, LIBRARIES[self.settings.library]
        return AssigningMember(
            name=self.name,
            group_id=self.run.group_id,
            names=(self.run.script.topic,),
            topics=self.run.cluster.topics,
            instance=self.name if settings.static else None,
            rebalance_ms=settings.max_poll_ms if library.has_rebalance_timeout else settings.session_ms,
            session_ms=settings.session_ms,
            cooperative=settings.is_cooperative,
            assignor=settings.assignor,
            user_data=settings.assignor_user_data
            or (library.writes_user_data and settings.assignor in ("sticky", "cooperative-sticky")),
        )

    @property
    def is_settled(self) -> bool:
        return self.member.phase == SYNCED and not self.joining and super().is_settled

    def is_current(self) -> bool:
        group, member = self.cluster.coordinator.classic_group(self.run.group_id), self.member
        return group is not None and group.generation_id == member.generation and member.member_id in group.members

    def _poll_protocol(self) -> None:
        # An eager member revokes its partitions. A cooperative one reads on during the rebalance.
        if self.member.phase == OUT and not self.joining:
            self._prepare_join()

    def _can_commit(self) -> bool:
        """Return False in Java during a rebalance; librdkafka sends the request, which waits (`Connection`)."""
        return self.library.commits_behind_join or (self.member.phase == SYNCED and not self.joining)

    def _prepare_join(self) -> None:
        self._commit_in_background(always=self.settings.auto_commit_ms is not None or not self.member.cooperative)
        if not self.member.cooperative and self.member.owned:
            self.run.moved(self.name, "revoked")
        self.joining = True
        wait_ms = self.joined_at_ms + self.library.join_interval_ms - self.cluster.now_ms
        if wait_ms > 0 and self.member.member_id:
            self.after(wait_ms, self._join)
        else:
            self._join()

    def _join(self) -> None:
        if self.heartbeat_timer is not None:
            self.heartbeat_timer.cancel()
        self.joined_at_ms = self.cluster.now_ms
        if not self.member.cooperative or not self.member.member_id:
            self.member.gives_up(self.member.owned)
            self.own()
        self.connection.send(self.member.join(), self._joined, self._handle)

    def _handle(self, deliver: Callable[[], None]) -> None:
        """Run the delivery of a response to a join or sync in the thread of the library that does it."""
        if self.library.joins_in_poll:
            self.clock.run(lambda: self.in_application(deliver))
        else:
            self.clock.run(deliver)

    def _joined(self, error: E) -> None:
        if error is E.none:
            self._start_heartbeats()
            self._sync()
        elif error is E.member_id_required:
            self.connection.send(self.member.join(), self._joined, self._handle)
        elif error in (E.inconsistent_group_protocol, E.invalid_session_timeout, E.fenced_instance_id):
            self.end()
        else:
            self._retry()

    def _sync(self) -> None:
        member = self.member
        if not member.leads:
            self.connection.send(member.sync({}), self._synced, self._handle)
            return
        self.partitions_known = self.cluster.topics.partitions_of(self.run.script.topic)
        assignor_ms = self.settings.assignor_ms

        def assigned() -> None:
            if member.phase == JOINED:
                self.connection.send(member.sync(member.shares()), self._synced, self._handle)
            else:
                self._retry()

        if assignor_ms:
            self.after(assignor_ms, assigned)
        else:
            assigned()

    def _synced(self, error: E) -> None:
        if error is not E.none:
            self._retry(0)
            return
        self.joining = False
        self.in_application(self._assigned)

    def _assigned(self) -> None:
        if self.member.phase == SYNCED or self.member.cooperative:
            if self.member.phase == OUT:
                self._commit_in_background(always=True)
                self.run.moved(self.name, "revoked")
            self.run.moved(self.name, "assigned")
            if self.settings.auto_commit_ms:
                self.next_commit_ms = self.cluster.now_ms + self.settings.auto_commit_ms
            self.own()
        self.wake()

    def _retry(self, after_ms: int = RETRY_MS) -> None:
        self.joining = False
        self.own()
        self.after(after_ms, self.wake)

    # Heartbeats

    def _start_heartbeats(self) -> None:
        if self.heartbeat_timer is not None:
            self.heartbeat_timer.cancel()
        delay_ms = self.delay(self.library.heartbeat_delay_ms)
        self.heartbeat_timer = self.after(self.settings.heartbeat_ms + delay_ms, self.send_heartbeat)

    def send_heartbeat(self) -> None:
        self._start_heartbeats()
        if self.member.generation >= 0 and self.member.member_id:
            phase = self.member.phase
            self.connection.send(self.member.beat(), lambda error: self.clock.run(lambda: self._beaten(error, phase)))

    def _beaten(self, error: E, phase: str) -> None:
        if error is E.none:
            return
        if error is not E.rebalance_in_progress:
            self.run.moved_later(self, "lost")
        if phase == JOINED:
            return  # the SyncGroup receives the same error
        self.wake()

    def _on_poll_timeout(self) -> None:
        """Leave the group; the next poll joins again."""
        if self.member.generation < 0 or not self.member.member_id:
            return
        if self.member.instance is None:
            self.connection.send(self.member.leave(reason="poll timeout"), lambda _: None)
        if self.heartbeat_timer is not None:
            self.heartbeat_timer.cancel()
        self.member.is_refused(E.unknown_member_id)
        self.pending.clear()
        self.joining = False
        self.run.moved_later(self, "lost")
        self._deferred.insert(0, self.own)

    def _on_new_partitions(self) -> None:
        if self.member.leads and self.member.phase == SYNCED:
            self.member.is_out()

    def _leave(self) -> Said | None:
        member = self.member
        if member.instance is not None or not member.member_id or member.generation < 0:
            return None
        return member.leave()
