"""The events of one batch of changes of a consumer group (offsets-topic §9.5)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kohort.coordinator.consumer.consumer_group import CONSUMER, ConsumerGroup
from kohort.coordinator.consumer.consumer_member import FIRST
from kohort.coordinator.consumer.consumer_states import GroupState, MemberState
from kohort.coordinator.consumer.request_changes import ChangeSet
from kohort.coordinator.consumer.targets import is_homogeneous, preferred_assignor
from kohort.coordinator.consumer.values import STEPPING_OUT_EPOCH, CurrentAssignment, Kind, MemberMetadata
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_state import ConsumerEventState
from kohort.coordinator.events.member_stats import MemberStats
from kohort.coordinator.events.modern_batch_events import Made, share
from kohort.coordinator.events.stepwise_batch_events import StepwiseBatchEvents
from kohort.coordinator.requesting_client import Client
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.coordinator.events.event_emitter import EventEmitter


class BatchEvents(StepwiseBatchEvents[ConsumerEventState]):
    """Makes the events of one batch, in their order, when the changes count already."""

    kinds = Kind
    first = FIRST
    stable = MemberState.STABLE
    unrevoked = MemberState.UNREVOKED_PARTITIONS

    def __init__(self, emitter: "EventEmitter", state: ConsumerEventState, changes: ChangeSet, cause: Cause) -> None:
        """`state`: what is remembered of the group from before the batch."""
        converts = changes.converts
        super().__init__(emitter, state, changes, cause, 0 if converts is None else converts.carried_over)
        self._converts = converts
        for member in changes.leaving:
            self._before[member.member_id] = member.metadata
            self._found.pop(member.member_id, None)

    def make(self) -> list[Made]:
        """All of them."""
        if self._converts is not None and self._converts.to_protocol != CONSUMER:
            return [*self._members(), self._converted()]
        made = [self._converted()] if self._converts is not None else []
        made += super().make()
        for name in self._before:  # records may have made a member anew; what was counted of it goes on
            if name in self._group.members:
                self._group.members[name].stats = self._state.stats.get(name)
        return made

    # Members

    def _converted(self) -> Made:
        converts = self._converts
        assert converts is not None, "asked by whoever looked"
        policy = self._group.coordinator.settings.group_consumer_migration_policy
        return self._made(
            "group_converted",
            None,
            group_type=converts.to_protocol,
            cause="protocol_migration",
            member_id=self._cause.member_id or None,
            client=Client(self._cause.client_id, self._cause.client_host),
            members=converts.members,
            detail={"from": converts.from_protocol, "to": converts.to_protocol, "policy": policy},
        )

    def _members(self) -> Iterator[Made]:
        gone = {name for name, before in self._before.items() if before is not None and name not in self._found}
        successors = self._successors(gone)
        for name, before in self._before.items():
            now = self._found.get(name)
            if name in successors:
                yield self._replaced(name, successors[name])
            elif before is None and now is not None:
                yield self._added(name, now)
            elif before is not None and now is not None:
                yield from self._metadata_changed(name, before, now)
            elif before is not None and name in gone and name not in successors.values():
                yield self._removed(name, before)
        for name, had in self._had.items():
            member = self._group.members.get(name)
            if member is not None and had.epoch != STEPPING_OUT_EPOCH == member.current.epoch:
                kept = sum(map(len, member.current.assigned.values()))
                yield self._of_member("member_stepped_out", name, Kind.CURRENT, partitions=kept)

    def _successors(self, gone: set[str]) -> dict[str, str]:
        """Who has taken the place of a static member, and of whom; perhaps of itself."""
        holders = {
            before.instance_id: name
            for name, before in self._before.items()
            if before is not None and before.instance_id is not None
        }
        found = {}
        for name in self._before:
            now = self._found.get(name)
            old = None if now is None or now.instance_id is None else holders.get(now.instance_id)
            if now is None or old is None:
                continue
            before = self._before[old]
            assert before is not None, "it was a member"
            came_back = self._had.get(old, FIRST).epoch == STEPPING_OUT_EPOCH
            if (old in gone) if old != name else (came_back or (before.classic is None) != (now.classic is None)):
                found[name] = old
        return found

    def _added(self, name: str, metadata: MemberMetadata) -> Made:
        cause = "join_new" if metadata.instance_id is None else "join_static"
        self._initialize(name)
        return self._of_member("member_added", name, Kind.MEMBER, cause=cause, detail={"speaks": _speaks(metadata)})

    def _replaced(self, name: str, old: str) -> Made:
        state = self._state
        if old != name:
            state.stats.pop(old, None)
            state.renamed(old, name)
            self._had[name] = self._had.pop(old, FIRST)
        self._initialize(name)
        bumps = (Kind.GROUP_EPOCH, None) in self._records
        detail = {"old_member_id": old, "rebalance": "true" if bumps else "false", "speaks": _speaks(self._found[name])}
        return self._of_member("member_replaced", name, Kind.MEMBER, detail=detail)

    def _metadata_changed(self, name: str, before: MemberMetadata, now: MemberMetadata) -> Iterator[Made]:
        what = _what_changed(before, now)
        if what is not None:
            yield self._of_member("member_metadata_changed", name, Kind.MEMBER, detail={"what": what})

    def _removed(self, name: str, before: MemberMetadata) -> Made:
        self._forget(name)
        stats = self._state.stats.pop(name, None)
        software = None if stats is None else stats.client_software
        return self._made(
            "member_removed",
            self._records.get((Kind.MEMBER, name)),
            client=Client(before.client_id, before.client_host, software),
            member_id=name,
            instance_id=before.instance_id,
            cause=self._cause.name,
            reason=self._cause.reason,
            members=len(self._found),
            duration_us=None if stats is None else (self._now_us // 1_000 - stats.heard_ms) * 1_000,
            rebalance_timeout_ms=before.rebalance_timeout_ms,
            detail={"speaks": _speaks(before)},
        )

    def _initialize(self, name: str) -> None:
        """A member that is new: what is measured of it begins now."""
        ticket = self._changes.ticket
        software = None if ticket is None else self._emitter.client_of(ticket).client_software
        self._state.stats[name] = MemberStats(software, self._now_us // 1_000)

    # Epochs

    def _bumped_state(self) -> str:
        return str((GroupState.ASSIGNING if self._found else GroupState.EMPTY).value)

    def _instance_of(self, member_id: str) -> str | None:
        metadata = self._found.get(member_id) or self._before.get(member_id)
        return None if metadata is None else metadata.instance_id

    def _assignor(self) -> str:
        return preferred_assignor(self._group)

    def _target_says(self, shares: Mapping[str, frozenset[TopicPartition]]) -> tuple[dict[str, Any], dict[str, str]]:
        group, owners = self._group, self._state.owners
        names = group.subscribed_names()
        moves = owners.moves_to(shares, names, alike=is_homogeneous(group))
        owners.assigned(shares, names)
        states = {"state_from": GroupState.ASSIGNING.value, "state_to": GroupState.RECONCILING.value}
        return states | {"duration_us": self._changes.assignor_us}, moves.as_detail()

    # What members have

    def _each_of(self, had: Mapping[UUID, frozenset[int]]) -> frozenset[TopicPartition]:
        return share(self._group.coordinator.topics, had)

    def _step(self, name: str, had: CurrentAssignment, has: CurrentAssignment) -> Iterator[Made]:
        """A static member that steps out for a while keeps what it has, and nobody waits for it."""
        if has.epoch != STEPPING_OUT_EPOCH:
            yield from super()._step(name, had, has)
            return
        self._state.owners.synced(name, share_of(self._group, has), self._now_us)
        self._state.revoking_since_us.pop(name, None)

    def _is_reconciled(self) -> bool:
        return self._group.state in (GroupState.STABLE, GroupState.EMPTY)

    def _end_says(self) -> tuple[dict[str, Any], dict[str, str]]:
        _, detail = super()._end_says()
        came_from = GroupState.RECONCILING if self._group.members else GroupState.EMPTY
        return {"state_from": came_from.value}, detail

    # Within

    def _software_of(self, name: str) -> str | None:
        stats = self._state.stats.get(name)
        return None if stats is None else stats.client_software

    def _about(self, name: str, metadata: MemberMetadata) -> dict[str, Any]:
        return {
            "instance_id": metadata.instance_id,
            "session_timeout_ms": session_timeout_of(self._group, metadata),
            "rebalance_timeout_ms": metadata.rebalance_timeout_ms,
        }


def session_timeout_of(group: ConsumerGroup, metadata: MemberMetadata) -> int:
    """For how long a member may be silent."""
    if metadata.classic is not None:
        return metadata.classic.session_timeout_ms
    return group.coordinator.consumer_config(group.group_id).session_timeout_ms


def share_of(group: ConsumerGroup, current: CurrentAssignment) -> frozenset[TopicPartition]:
    """What a member has, what it is still giving up included."""
    topics = group.coordinator.topics
    return share(topics, current.assigned) | share(topics, current.revoking)


def _speaks(metadata: MemberMetadata) -> str:
    return "consumer" if metadata.classic is None else "classic"


def _what_changed(before: MemberMetadata, now: MemberMetadata) -> str | None:
    """Which part of what a member says of itself differs, if one does. What a classic member owns is no part."""
    if (before.classic is None) != (now.classic is None):
        return "protocols"
    if (before.topic_names, before.topic_regex) != (now.topic_names, now.topic_regex):
        return "subscription"
    if before.assignor != now.assignor:
        return "assignor"
    if before.rack_id != now.rack_id:
        return "rack"
    was, is_now = (None if each.classic is None else each.classic.session_timeout_ms for each in (before, now))
    if before.rebalance_timeout_ms != now.rebalance_timeout_ms or was != is_now:
        return "timeouts"
    return None
