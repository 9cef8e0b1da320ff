"""Events of one batch of changes of a consumer group (offsets-topic §9.5)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import FIRST
from kohort.coordinator.consumer.consumer_states import GroupState, MemberState
from kohort.coordinator.consumer.targets import is_homogeneous
from kohort.coordinator.consumer.values import CurrentAssignment, Kind, MemberMetadata
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_state import ConsumerEventState
from kohort.coordinator.events.member_stats import MemberStats
from kohort.coordinator.events.modern_batch_events import BatchEvent, StepwiseBatchEvents, named_partitions
from kohort.coordinator.groups.group import CONSUMER
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.requesting_client import Client
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.coordinator.events.event_emitter import EventEmitter


class BatchEvents(StepwiseBatchEvents[ConsumerEventState]):
    """Creates the events of one batch, in order, after its changes were applied."""

    kinds = Kind
    first = FIRST
    stable = MemberState.STABLE
    unrevoked = MemberState.UNREVOKED_PARTITIONS

    def __init__(self, emitter: "EventEmitter", state: ConsumerEventState, changes: GroupChanges, cause: Cause) -> None:
        converts = changes.converts
        super().__init__(emitter, state, changes, cause, 0 if converts is None else converts.carried_over)
        self._converts = converts
        for member in changes.leaving:
            self._old_metadata[member.member_id] = member.metadata
            self._metadata.pop(member.member_id, None)

    def create(self) -> list[BatchEvent]:
        if self._converts is not None and self._converts.to_protocol != CONSUMER:
            return [*self._members(), self._converted()]
        events = [self._converted()] if self._converts is not None else []
        events += super().create()
        for name in self._old_metadata:  # records may have created a new member object; its statistics continue
            if name in self._group.members:
                self._group.members[name].stats = self._state.stats.get(name)
        return events

    # Members

    def _converted(self) -> BatchEvent:
        converts = self._converts
        assert converts is not None, "only called for conversions"
        policy = self._group.coordinator.settings.group_consumer_migration_policy
        return self._new_event(
            "group_converted",
            None,
            group_type=converts.to_protocol,
            cause="protocol_migration",
            member_id=self._cause.member_id or None,
            client=Client(self._cause.client_id, self._cause.client_host),
            members=converts.members,
            detail={"from": converts.from_protocol, "to": converts.to_protocol, "policy": policy},
        )

    def _members(self) -> Iterator[BatchEvent]:
        successors = self._successors()
        for name, old in self._old_metadata.items():
            new = self._metadata.get(name)
            if name in successors:
                yield self._replaced(name, successors[name], {"speaks": _speaks(self._metadata[name])})
            elif old is None and new is not None:
                yield self._added(name, new)
            elif old is not None and new is not None:
                yield from self._metadata_changed(name, old, new)
            elif old is not None and name not in successors.values():
                yield self._removed(name, old)
        yield from self._stepped_out()

    def _returns_as_itself(self, name: str) -> bool:
        old, new = self._old_metadata[name], self._metadata[name]
        assert old is not None, "an instance ID belongs to an old member"
        return super()._returns_as_itself(name) or (old.classic is None) != (new.classic is None)

    def _added(self, name: str, metadata: MemberMetadata) -> BatchEvent:
        cause = "join_new" if metadata.instance_id is None else "join_static"
        self._initialize(name)
        return self._of_member("member_added", name, Kind.MEMBER, cause=cause, detail={"speaks": _speaks(metadata)})

    def _replaced(self, name: str, old: str, detail: dict[str, str]) -> BatchEvent:
        if old != name:
            self._state.stats.pop(old, None)
        self._initialize(name)
        return super()._replaced(name, old, detail)

    def _metadata_changed(self, name: str, old: MemberMetadata, new: MemberMetadata) -> Iterator[BatchEvent]:
        changed_part = _find_change(old, new)
        if changed_part is not None:
            yield self._of_member("member_metadata_changed", name, Kind.MEMBER, detail={"what": changed_part})

    def _removed(self, name: str, old_metadata: MemberMetadata) -> BatchEvent:
        self._forget(name)
        stats = self._state.stats.pop(name, None)
        software = None if stats is None else stats.client_software
        return self._new_event(
            "member_removed",
            self._records.get((Kind.MEMBER, name)),
            client=Client(old_metadata.client_id, old_metadata.client_host, software),
            member_id=name,
            instance_id=old_metadata.instance_id,
            cause=self._cause.name,
            reason=self._cause.reason,
            members=len(self._metadata),
            duration_us=None if stats is None else (self._now_us // 1_000 - stats.last_active_ms) * 1_000,
            rebalance_timeout_ms=old_metadata.rebalance_timeout_ms,
            detail={"speaks": _speaks(old_metadata)},
        )

    def _initialize(self, name: str) -> None:
        ticket = self._changes.ticket
        software = None if ticket is None else self._emitter.client_of(ticket).client_software
        self._state.stats[name] = MemberStats(software, self._now_us // 1_000)

    # Epochs

    def _bumped_state(self) -> str:
        return str((GroupState.ASSIGNING if self._metadata else GroupState.EMPTY).value)

    def _target_columns(
        self, targets: Mapping[str, frozenset[TopicPartition]]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        group, owners = self._group, self._state.owners
        names = group.subscribed_names()
        moves = owners.moves_to(targets, names, alike=is_homogeneous(group))
        owners.assigned(targets, names)
        states = {"state_from": GroupState.ASSIGNING.value, "state_to": GroupState.RECONCILING.value}
        return states | {"duration_us": self._changes.assignor_us}, moves.as_detail()

    # Assignments

    def _flatten(self, partitions: Mapping[UUID, frozenset[int]]) -> frozenset[TopicPartition]:
        return named_partitions(self._group.coordinator.topics, partitions)

    def _end_columns(self) -> tuple[dict[str, Any], dict[str, str]]:
        _, detail = super()._end_columns()
        came_from = GroupState.RECONCILING if self._group.members else GroupState.EMPTY
        return {"state_from": came_from.value}, detail

    # Internals

    def _software_of(self, name: str) -> str | None:
        stats = self._state.stats.get(name)
        return None if stats is None else stats.client_software

    def _member_columns(self, name: str, metadata: MemberMetadata) -> dict[str, Any]:
        return {
            "instance_id": metadata.instance_id,
            "session_timeout_ms": self._group.session_timeout_of(self._group.members[name]),
            "rebalance_timeout_ms": metadata.rebalance_timeout_ms,
        }


def owned_partitions(group: ConsumerGroup, current: CurrentAssignment) -> frozenset[TopicPartition]:
    """Return the partitions of a member, including those that it has not revoked yet."""
    topics = group.coordinator.topics
    return named_partitions(topics, current.assigned) | named_partitions(topics, current.revoking)


def _speaks(metadata: MemberMetadata) -> str:
    return "consumer" if metadata.classic is None else "classic"


def _find_change(old: MemberMetadata, new: MemberMetadata) -> str | None:
    """Return the changed part of a member's metadata, or None. The partitions of a classic member do not count."""
    if (old.classic is None) != (new.classic is None):
        return "protocols"
    if (old.topic_names, old.topic_regex) != (new.topic_names, new.topic_regex):
        return "subscription"
    if old.assignor != new.assignor:
        return "assignor"
    if old.rack_id != new.rack_id:
        return "rack"
    old_timeout_ms, new_timeout_ms = (
        None if metadata.classic is None else metadata.classic.session_timeout_ms for metadata in (old, new)
    )
    if old.rebalance_timeout_ms != new.rebalance_timeout_ms or old_timeout_ms != new_timeout_ms:
        return "timeouts"
    return None
