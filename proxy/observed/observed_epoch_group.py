"""State of an observed consumer, share or streams group, and its events, which contain only what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kohort.coordinator.events.event_emitter import US_PER_MS, EventEmitter
from kohort.coordinator.events.event_state import EpochEventState
from kohort.coordinator.events.group_event import NO_PARTITION
from kohort.coordinator.events.member_stats import flushed
from kohort.coordinator.events.owners import Owners
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.protocol.errors import ErrorCode
from kohort.proxy.observed.observed_events import (
    ANSWER,
    COUNTED,
    DESCRIBED,
    EVIDENCE,
    REFUSAL,
    REQUEST,
    UNKNOWN_CAUSE,
    ObservedEvents,
)
from kohort.proxy.observed.observed_group import ObservedGroup
from kohort.proxy.observed.observed_member import ObservedMember

if TYPE_CHECKING:
    from kohort.coordinator.effects import Cause
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.protocol.messages.offset_commit import OffsetCommitRequest
    from kohort.proxy.observed.epoch_protocols import EpochProtocol
    from kohort.proxy.observed.observed_group import Traffic
    from kohort.proxy.tap import ObservedCall

_OF_A_REBALANCE: Final = frozenset({
    "epoch_bumped", "member_revoking", "member_revoked", "member_assigned", "group_reconciled",
})  # fmt: skip
_WITHOUT_MEMBERS: Final = ("member_fenced", "commit_rejected")  # events without a number of members


class ObservedEpochGroup(ObservedGroup):
    """Observed group of one of the newer protocols."""

    def __init__(self, group_id: str, protocol: EpochProtocol, traffic: Traffic) -> None:
        super().__init__(group_id, protocol.group_type, traffic)
        self.protocol = protocol
        self.members: dict[str, ObservedMember] = {}
        self.epoch = 0  # highest epoch in a response
        # `is_complete` is set by a description, and if the causes of all epochs since the first are known
        self.next_cause: Cause | None = None  # possible cause of the next epoch
        self.free_partitions: frozenset[Any] = frozenset()  # revoked or released partitions that are not assigned again
        self.freed_us = 0
        self.described_state = ""
        self.described_version = -1  # `version` at the time of the last description
        host = ObservedEvents(traffic.epoch_ms, self._filter_event)
        self._emitter = EventEmitter(host, lambda: traffic.now_us, traffic.client_of, lambda _: NO_PARTITION)
        self.event_state = EpochEventState((), traffic.now_us)
        self.owners = Owners({})

    @property
    def state_name(self) -> str:
        """The described state until a message changes the group; then the observed one."""
        if self.described_version == self.version:
            return self.described_state
        if not self.members:
            return "Empty" if self.is_complete else "Unknown"
        return "Stable" if not self.event_state.is_open and self.is_settled else "Reconciling"

    @property
    def is_settled(self) -> bool:
        present = [member for member in self.members.values() if not member.is_away]
        if self.next_cause is not None:
            return False
        if any(member.revoking or member.epoch != self.epoch for member in present):
            return False
        return not (self.protocol.revokes and self.free_partitions) or all(
            member.settled_us > self.freed_us for member in present
        )

    def by_topic(self, topic_partitions: frozenset[Any]) -> dict[str, tuple[int, ...]]:
        """Return partitions by topic name, or by topic id if the name is unknown; active tasks by subtopology."""
        if self.protocol.has_tasks:
            topic_partitions = self.protocol.find_exclusive(topic_partitions)
        names, by_name = self.traffic.topics, dict[str, list[int]]()
        for topic, number in topic_partitions:
            by_name.setdefault(names.get(topic, str(topic)), []).append(number)
        return {topic: tuple(sorted(numbers)) for topic, numbers in sorted(by_name.items())}

    def find_static_member(self, instance_id: str | None) -> ObservedMember | None:
        holders = (member for member in self.members.values() if member.instance_id == instance_id)
        return None if instance_id is None else next(holders, None)

    def rename(self, member: ObservedMember, new_id: str) -> str:
        """Replace the id of a static member. Return the old one."""
        old_id, member.member_id = member.member_id, new_id
        self.members = {(new_id if other is member else name): other for name, other in self.members.items()}
        self.owners.renamed(old_id, new_id)
        self.event_state.renamed(old_id, new_id)
        return old_id

    def free(self, lost: frozenset[Any]) -> None:
        self.free_partitions, self.freed_us = self.free_partitions | lost, self.traffic.now_us

    def remove(self, member: ObservedMember, cause: str) -> None:
        del self.members[member.member_id]
        self.owners.release_member(member.member_id, self.traffic.now_us)
        self.free(member.assigned | member.revoking)
        silent_us = self.traffic.now_us - member.stats.last_active_ms * US_PER_MS
        self.report_member(
            "member_removed", member, cause=cause, duration_us=silent_us, generation=None, member_epoch=None
        )
        if cause != UNKNOWN_CAUSE:
            self.next_cause = member.cause(cause)

    def note_heartbeat(self, member_id: str) -> None:
        """Note a heartbeat without an error."""
        member = self.members.get(member_id)
        if member is None:
            return
        now_ms = self.traffic.now_us // US_PER_MS
        if self.protocol.counts_heartbeats:
            member.stats.gaps[now_ms - member.stats.last_active_ms] += 1
        member.stats.last_active_ms = now_ms
        if member.epoch == self.epoch and not member.revoking:
            member.settled_us = self.traffic.now_us
            if self.event_state.is_open:
                self.check_settled(member)

    def check_settled(self, last: ObservedMember) -> None:
        state, now_us = self.event_state, self.traffic.now_us
        if not state.is_open or not self.is_settled:
            return
        state.is_open, state.stable_us = False, now_us
        self.free_partitions = frozenset()
        took_us = now_us - state.started_us
        self.evidence = f"{ANSWER} to each of its members"
        detail = {"total_us": str(took_us)}
        self.report_member(
            "group_reconciled", last, duration_us=took_us, state_to=self.protocol.settled_state, detail=detail
        )

    def on_connection_end(self, number: int) -> None:
        for member in self.members.values():
            if member.line == number:
                member.is_connected = False

    # Events

    def committed(self, member_id: str, partitions: int) -> None:
        """Note an accepted commit of this many partitions."""
        member = self.members.get(member_id)
        if member is not None:
            member.stats.commits += 1
            member.stats.committed_partitions += partitions

    def on_commit_error(self, request: OffsetCommitRequest, error: ErrorCode, observed: ObservedCall) -> None:
        member_id, epoch = request.member_id, request.generation_id_or_member_epoch
        member = self.members.get(member_id)
        if member is not None:
            member.stats.rejected += 1
        client = self.traffic.client_of(observed)
        if self.event_state.refusals.is_first(member_id, error.name.upper(), client, epoch):
            self.evidence = REFUSAL
            self._report_rejected_commits(member_id, error.name.upper(), client, epoch, None)

    def _report_rejected_commits(
        self, member_id: str, error: str, client: Client, epoch: int, more: int | None
    ) -> None:
        detail = None if more is None else {"n": str(more)}
        about = {"member_id": member_id or None, "member_epoch": epoch, "generation": None}
        self.report_event("commit_rejected", client, error=error, detail=detail, **about)

    def deleted(self) -> None:
        self.evidence = REQUEST
        self.report_event("group_deleted", NOBODY_KNOWN, cause="group_deleted", state_to="Dead", members=None)

    def flush(self) -> None:
        """Report the events counted since the last call."""
        self.evidence = COUNTED
        for member in self.members.values() if self.protocol.counts_heartbeats else ():
            for kind, values in flushed(member.stats):
                self.report_member(kind, member, **values)
        for item in self.event_state.refusals.flush():
            self._report_rejected_commits(*item)

    def report_partitions(
        self, kind: str, member: ObservedMember, partitions: frozenset[Any], unowned_us: int = 0, **values: Any
    ) -> None:
        detail = self.protocol.name_partitions(partitions) | ({"unowned_us": str(unowned_us)} if unowned_us else {})
        self.report_member(kind, member, partitions=len(partitions), detail=detail, **values)

    def report_member(self, kind: str, member: ObservedMember, **values: Any) -> None:
        about: dict[str, Any] = {"instance_id": member.instance_id, "member_id": member.member_id}
        about["member_epoch"] = member.epoch
        timeout_ms = member.rebalance_timeout_ms
        about["rebalance_timeout_ms"] = timeout_ms if timeout_ms > 0 else None
        self.report_event(kind, member.client, **(about | values))

    def report_event(self, kind: str, client: Client, **values: Any) -> None:
        if kind in self.protocol.omitted_events:
            return
        if kind in _OF_A_REBALANCE:
            values["rebalance_id"] = self.event_state.rebalance_id
        # After a change that bumps the epoch, it is unknown until a response contains it.
        values.setdefault("generation", self.epoch if self.epoch and self.next_cause is None else None)
        now_us = self.traffic.now_us
        self._filter_event(
            self._emitter.event(
                kind,
                NO_PARTITION,
                client,
                now_us,
                group_id=self.group_id,
                group_type=self.group_type,
                protocol_type=self.group_type,
                **(
                    {"members": len(self.members) if self.is_complete and kind not in _WITHOUT_MEMBERS else None}
                    | values
                ),
            )
        )

    def _filter_event(self, event: GroupEvent) -> None:
        event.detail = {**(event.detail or {}), EVIDENCE: self.evidence}
        if self.evidence.startswith(DESCRIBED):  # the time of the change is unknown
            event.duration_us, event.detail = None, {EVIDENCE: self.evidence}
        self.hand_out(event)
