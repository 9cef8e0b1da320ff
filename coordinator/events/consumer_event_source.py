"""Creates events of consumer groups (offsets-topic §9.5) while there is a listener."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.values import CurrentAssignment, Kind
from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.consumer_batch_events import BatchEvents, owned_partitions
from kohort.coordinator.events.event_state import ConsumerEventState
from kohort.coordinator.events.member_stats import MemberStats, flushed
from kohort.coordinator.events.modern_event_source import ModernEventObserver
from kohort.coordinator.events.owners import Owners
from kohort.coordinator.groups.group import CONSUMER
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.events.event_tracer import EventObserver

US_PER_MS = 1_000


class ConsumerEventObserver(ModernEventObserver[ConsumerGroup, ConsumerEventState]):
    """Creates events of the consumer groups of one coordinator."""

    group_type = CONSUMER

    def __init__(self, emitter: "EventObserver") -> None:
        self._classic = emitter
        super().__init__(emitter)

    # Batches of changes

    def changed(self, changes: GroupChanges, cause: Cause) -> OnWritten:
        """Create the events now and report them when the batch is written.

        A group that becomes classic rebalances at once. Its events are reported at once, too, unless earlier ones are
        pending. If the change cannot be written, another event reports that the group was restored.
        """
        group = changes.group
        assert isinstance(group, ConsumerGroup), "only observes consumer groups"
        state = self._state_before(group, changes)
        events = BatchEvents(self._emitter, state, changes, cause).create()
        converts = changes.converts
        becomes_classic = converts is not None and converts.to_protocol != CONSUMER
        if converts is not None and becomes_classic:
            self._classic.of(converts.classic).rebalances = state.rebalances
        if not becomes_classic or group.group_id in self._emitter.coordinator.unwritten:
            return lambda error, now_ms: self._report(changes, events) if error is ErrorCode.none else None
        self._report(changes, events)
        return lambda error, now_ms: self._report_restored(group) if error is not ErrorCode.none else None

    def _state_before(self, group: ConsumerGroup, changes: GroupChanges) -> ConsumerEventState:
        """Return the state of the group before a batch that was applied already."""
        converts = changes.converts
        if changes.creates or (converts is not None and converts.to_protocol == CONSUMER):
            carried = changes.applied[: converts.carried_over] if converts is not None else ()
            owned_by_name = {
                change.name: owned_partitions(group, change.value)
                for change, _ in carried
                if change.kind is Kind.CURRENT and isinstance(change.value, CurrentAssignment)
            }
            by_member = {name: owned for name, owned in owned_by_name.items() if name is not None}
            group.event_state = ConsumerEventState(by_member, Owners(by_member), self._emitter.now_us())
            if converts is not None:
                old_state = converts.classic.event_state
                group.event_state.rebalances = 0 if old_state is None else old_state.rebalances
                self._measure(group, by_member)
        return self._of(group)

    def _report_restored(self, group: ConsumerGroup) -> None:
        detail = {"from": "classic", "to": CONSUMER}
        self._emit("group_converted", group, cause="group_store_failed", members=len(group.members), detail=detail)

    # Heartbeats and commits

    def heartbeat_received(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
        """Count a heartbeat, and report a member that was silent for more than half of its session timeout."""
        stats = member.stats
        assert stats is not None, "only called for members with statistics"
        gap_ms = now_ms - stats.last_active_ms
        stats.last_active_ms = now_ms
        stats.gaps[gap_ms] += 1
        if gap_ms + gap_ms > group.session_timeout_of(member):
            self._of_member("heartbeat_gap", group, member, duration_us=gap_ms * US_PER_MS)

    def committed(self, group: ConsumerGroup, member_id: str, partitions: int) -> None:
        member = group.members.get(member_id)
        if member is not None and member.stats is not None:
            member.stats.commits += 1
            member.stats.committed_partitions += partitions

    def commit_rejected(
        self, group: ConsumerGroup, member_id: str, epoch: int, error: ErrorCode, ticket: object | None
    ) -> None:
        """Report the first rejection of its type at once, and the number of later ones once a minute."""
        member = group.members.get(member_id)
        if member is not None and member.stats is not None:
            member.stats.rejected += 1
        client = _client(member) if member is not None else NOBODY_KNOWN
        if member is None and ticket is not None:
            client = self._emitter.client_of(ticket)
        name = error.name.upper()
        if self._of(group).refusals.is_first(member_id, name, client, epoch):
            self._rejected(group, member_id, name, client, epoch, None)

    def _rejected(
        self, group: ConsumerGroup, member_id: str, error: str, client: Client, epoch: int, more: int | None
    ) -> None:
        detail = None if more is None else {"n": str(more)}
        named_id = member_id or None
        self._emit("commit_rejected", group, client, member_id=named_id, member_epoch=epoch, error=error, detail=detail)

    def _flush(self, group: ConsumerGroup) -> None:
        for member in group.members.values():
            if member.stats is not None:
                for kind, values in flushed(member.stats):
                    self._of_member(kind, group, member, **values)
        for refusal in self._of(group).refusals.flush():
            self._rejected(group, *refusal)

    # Groups

    def offsets_expired(self, group: ConsumerGroup, partitions: int) -> None:
        offset = self._emitter.coordinator.appended_offset
        self._emit("offsets_expired", group, partitions=partitions, log_offset=offset)

    # Internals

    def _new_state(self, group: ConsumerGroup) -> ConsumerEventState:
        owners = Owners({name: owned_partitions(group, member.current) for name, member in group.members.items()})
        return ConsumerEventState(group.members, owners, self._emitter.now_us(), is_open=not group.is_reconciled)

    def _initialize(self, group: ConsumerGroup, rebalances: int = 0) -> None:
        super()._initialize(group, rebalances)
        self._measure(group, group.members)

    def _measure(self, group: ConsumerGroup, names: Iterable[str]) -> None:
        stats = self._of(group).stats
        for name in names:
            stats[name] = MemberStats(None, self._emitter.coordinator_ms())
            if name in group.members:
                group.members[name].stats = stats[name]

    def _of_member(self, kind: str, group: ConsumerGroup, member: ConsumerMember, **values: Any) -> None:
        self._emit(
            kind,
            group,
            _client(member),
            member_id=member.member_id,
            instance_id=member.metadata.instance_id,
            member_epoch=member.current.epoch,
            members=len(group.members),
            session_timeout_ms=group.session_timeout_of(member),
            rebalance_timeout_ms=member.metadata.rebalance_timeout_ms,
            **values,
        )


def _client(member: ConsumerMember) -> Client:
    software = None if member.stats is None else member.stats.client_software
    return Client(member.metadata.client_id, member.metadata.client_host, software)
