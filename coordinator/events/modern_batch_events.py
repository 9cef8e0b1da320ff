"""Events of one batch of changes, independent of the newer protocol that the group uses.

The state of a group results from its records, and its events from the changes of records.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar
from uuid import UUID

from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_state import EpochEventState, StepwiseEventState
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.modern_values import STATIC_LEAVING_EPOCH
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.coordinator.topic_info import TopicView
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.coordinator.events.event_emitter import EventEmitter

OF_A_REBALANCE = frozenset({
    "epoch_bumped", "target_computed", "member_revoking", "member_revoked", "member_assigned", "member_reconciled",
    "group_reconciled",
})  # fmt: skip

# causes of a removal because the member delayed the others
TOO_SLOW = ("epoch_timeout", "barrier_timeout", "sync_timeout")

StateT = TypeVar("StateT", bound=EpochEventState)
StepStateT = TypeVar("StepStateT", bound=StepwiseEventState)


class BatchEvent(NamedTuple):
    """An event, and the index of the group's own record in the batch that it describes, if any."""

    event: GroupEvent
    record: int | None


class ModernBatchEvents(Generic[StateT]):
    """Creates the events of one batch, in order, after its changes were applied."""

    kinds: ClassVar[Any]  # record types of the protocol: MEMBER, GROUP_EPOCH, TARGET_EPOCH, TARGET, CURRENT
    first: ClassVar[Any]  # assignment of a new member

    def __init__(
        self, emitter: "EventEmitter", state: StateT, changes: GroupChanges, cause: Cause, carried_over: int = 0
    ) -> None:
        """Collect the changes of the batch. `state` precedes the batch; for `carried_over` see `Conversion`."""
        self._emitter = emitter
        self._state = state
        self._changes = changes
        self._cause = cause
        self._group: Any = changes.group
        self._now_us = emitter.now_us()
        self._begin = carried_over
        # metadata of the members after the batch
        self._metadata: dict[str, Any] = {name: member.metadata for name, member in self._group.members.items()}
        self._old_metadata: dict[str, Any] = {}  # previous metadata of changed members; None for new ones
        self._old_assignments: dict[str, Any] = {}  # previous assignments of changed members
        self._records: dict[tuple[IntEnum, str | None], int] = {}
        for number, (change, old_value) in enumerate(changes.applied):
            self._records[change.kind, change.name] = number
            if number < self._begin or change.name is None:
                continue
            if change.kind is self.kinds.MEMBER:
                self._old_metadata.setdefault(change.name, old_value)
            elif change.kind is self.kinds.CURRENT:
                self._old_assignments.setdefault(change.name, self.first if old_value is None else old_value)

    def create(self) -> list[BatchEvent]:
        events = (
            [self._new_event("group_created", None, cause=self._cause.name, members=0)] if self._changes.creates else []
        )
        return [*events, *self._members(), *self._epoch(), *self._target(), *self._steps(), *self._end()]

    # Parts that depend on the protocol

    def _members(self) -> Iterator[BatchEvent]:
        """Create the events of members that joined, changed or left."""
        raise NotImplementedError

    def _steps(self) -> Iterator[BatchEvent]:
        """Create the events of changed assignments."""
        raise NotImplementedError

    def _member_columns(self, name: str, metadata: Any) -> dict[str, Any]:
        """Return the columns that all events of a member have."""
        raise NotImplementedError

    def _instance_of(self, member_id: str) -> str | None:
        metadata = self._metadata.get(member_id) or self._old_metadata.get(member_id)
        return getattr(metadata, "instance_id", None)  # share groups have no static members

    def _software_of(self, name: str) -> str | None:
        """Return the client software, which is only known in a request of the member for itself."""
        ticket = self._changes.ticket if name == self._cause.member_id else None
        return None if ticket is None else self._emitter.client_of(ticket).client_software

    def _bumped_state(self) -> str:
        """Return the state after an increment of the group epoch."""
        return str(self._group.state.value)

    def _target_of(self, name: str) -> frozenset[Any]:
        return named_partitions(self._group.coordinator.topics, self._group.target_of(name))

    def _target_columns(self, targets: Mapping[str, frozenset[Any]]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return further columns and details of a computed target."""
        return {}, {}

    def _end_columns(self) -> tuple[dict[str, Any], dict[str, str]]:
        return {}, {}

    # Epochs

    def _own(self, kind: IntEnum) -> int | None:
        """Return the index of the group's record of that type, unless it was carried over."""
        record = self._records.get((kind, None))
        return None if record is None or record < self._begin else record

    def _epoch(self) -> Iterator[BatchEvent]:
        record = self._own(self.kinds.GROUP_EPOCH)
        if record is None:
            return
        state, group, cause = self._state, self._group, self._cause
        previous: Any = self._changes.applied[record][1]
        if previous.epoch == group.epoch:
            return  # a streams group writes it again when the state of its topology description changes
        member_ids = set(self._metadata)
        stable_us = None if state.is_open else self._now_us - state.stable_us
        state.rebalances += 1
        state.rebalance_id = f"{group.group_id}/{self._emitter.epoch(group.partition)}/{state.rebalances}"
        state.started_us, state.is_open = self._now_us, True
        yield self._new_event(
            "epoch_bumped",
            record,
            cause=self._epoch_cause(),
            reason=cause.reason,
            client=Client(cause.client_id, cause.client_host),
            member_id=cause.member_id or None,
            instance_id=self._instance_of(cause.member_id),
            state_from=self._changes.from_state.value,
            state_to=self._bumped_state(),
            duration_us=stable_us,
            members=len(member_ids),
            **state.who_changed(member_ids),
        )

    def _epoch_cause(self) -> str:
        name = self._changes.epoch_cause or self._cause.name
        return "join_static" if name == "join_new" and self._instance_of(self._cause.member_id) is not None else name

    def _target(self) -> Iterator[BatchEvent]:
        record = self._own(self.kinds.TARGET_EPOCH)
        # A group that is empty now only raises the epoch (newer-release §3 rule 4).
        if record is None or not self._metadata:
            return
        group, kind = self._group, self.kinds.TARGET
        targets = {name: self._target_of(name) for name in group.members}
        changed = sum(
            record_type is kind and number >= self._begin for (record_type, _), number in self._records.items()
        )
        columns, detail = self._target_columns(targets)
        yield self._new_event(
            "target_computed",
            record,
            members=len(group.members),
            partitions=sum(map(len, targets.values())),
            detail={"changed_members": str(changed), "since_bump_us": str(self._since_bump_us())} | detail,
            **columns,
        )

    def _end(self) -> Iterator[BatchEvent]:
        state, group = self._state, self._group
        if not state.is_open or not group.is_reconciled:
            return
        columns, detail = self._end_columns()
        took_us = self._since_bump_us()
        columns |= {"state_to": group.state.value, "members": len(group.members), "duration_us": took_us}
        columns["detail"] = {"total_us": str(took_us)} | detail
        state.is_open, state.stable_us = False, self._now_us
        last = next((name for name in reversed(self._old_assignments) if name in group.members), None)
        if last is None:
            yield self._new_event("group_reconciled", None, **columns)
        else:
            yield self._of_member("group_reconciled", last, self.kinds.CURRENT, **columns)

    # Internals

    def _since_bump_us(self) -> int:
        return self._now_us - self._state.started_us

    def _since_bump(self, kind: str, name: str, **values: Any) -> BatchEvent:
        return self._of_member(kind, name, self.kinds.CURRENT, duration_us=self._since_bump_us(), **values)

    def _of_member(self, kind: str, name: str, record: IntEnum, **values: Any) -> BatchEvent:
        metadata, member = self._metadata[name], self._group.members[name]
        values.setdefault("members", len(self._metadata))
        return self._new_event(
            kind,
            self._records.get((record, name)),
            client=Client(metadata.client_id, metadata.client_host, self._software_of(name)),
            member_id=name,
            member_epoch=member.current.epoch,
            **(self._member_columns(name, metadata) | values),
        )

    def _new_event(self, kind: str, record: int | None, *, client: Client = NOBODY_KNOWN, **values: Any) -> BatchEvent:
        event = modern_event(self._emitter, kind, self._group, client, self._now_us, **values)
        if kind in OF_A_REBALANCE:
            event.rebalance_id = self._state.rebalance_id
        return BatchEvent(event, record)


class StepwiseBatchEvents(ModernBatchEvents[StepStateT]):
    """Creates the events of groups whose members revoke partitions or tasks before other members receive them.

    These are consumer groups and streams groups (consumer-groups §8, streams-groups §9).
    """

    stable: ClassVar[Any]  # state of a member with exactly its target
    unrevoked: ClassVar[Any]  # state of a member that has to revoke something

    # Parts that depend on the protocol

    def _flatten(self, assignment: Any) -> frozenset[Any]:
        """Return the set of partitions or tasks of an assignment."""
        raise NotImplementedError

    def _owned(self, partitions: frozenset[Any]) -> frozenset[TopicPartition]:
        """Return the partitions or tasks that only one member at a time may own."""
        return partitions

    def _names(self, partitions: frozenset[Any]) -> dict[str, str]:
        """Return details of an event in addition to the number of partitions."""
        return {}

    def _returns_as_itself(self, name: str) -> bool:
        """Return whether a static member whose ID stays the same replaces itself."""
        return self._left_temporarily(name)

    # Static members

    def _successors(self) -> dict[str, str]:
        """Return the old member ID by the ID of the static member that replaces it, which can be the same."""
        holders = {
            old_metadata.instance_id: name
            for name, old_metadata in self._old_metadata.items()
            if old_metadata is not None and old_metadata.instance_id is not None
        }
        replaced_ids = {}
        for name in self._old_metadata:
            new = self._metadata.get(name)
            old = None if new is None or new.instance_id is None else holders.get(new.instance_id)
            if old is not None and (old not in self._metadata if old != name else self._returns_as_itself(name)):
                replaced_ids[name] = old
        return replaced_ids

    def _left_temporarily(self, name: str) -> bool:
        return bool(self._old_assignments.get(name, self.first).epoch == STATIC_LEAVING_EPOCH)

    def _replaced(self, name: str, old: str, detail: dict[str, str]) -> BatchEvent:
        if old != name:
            self._state.renamed(old, name)
            self._old_assignments[name] = self._old_assignments.pop(old, self.first)
        bumps = (self.kinds.GROUP_EPOCH, None) in self._records
        detail = {"old_member_id": old, "rebalance": "true" if bumps else "false"} | detail
        return self._of_member("member_replaced", name, self.kinds.MEMBER, detail=detail)

    def _stepped_out(self) -> Iterator[BatchEvent]:
        """Create the events of static members that leave temporarily and keep what they own."""
        for name in self._old_assignments:
            member = self._group.members.get(name)
            if member is not None and member.current.epoch == STATIC_LEAVING_EPOCH and not self._left_temporarily(name):
                kept = len(self._flatten(member.current.assigned))
                yield self._of_member("member_stepped_out", name, self.kinds.CURRENT, partitions=kept)

    # Assignments

    def _steps(self) -> Iterator[BatchEvent]:
        for name, old_assignment in self._old_assignments.items():
            member = self._group.members.get(name)
            if member is not None:
                yield from self._step(name, old_assignment, member.current)

    def _step(self, name: str, old: Any, new: Any) -> Iterator[BatchEvent]:
        state = self._state
        if new.epoch == STATIC_LEAVING_EPOCH:  # it keeps what it owns, and no other member waits for it
            kept = self._flatten(new.assigned) | self._flatten(new.revoking)
            state.owners.synced(name, self._owned(kept), self._now_us)
            state.revoking_since_us.pop(name, None)
            return
        still_revoking = self._flatten(old.revoking)
        old_partitions = self._flatten(old.assigned) | still_revoking
        assigned, revoking = self._flatten(new.assigned), self._flatten(new.revoking)
        unowned_us = state.owners.synced(name, self._owned(assigned | revoking), self._now_us)
        if lost := old_partitions - assigned - revoking:
            yield self._revoked(name, lost)
        if new.state is not self.unrevoked:
            state.revoking_since_us.pop(name, None)
        elif len(revoking) > len(still_revoking) or name not in state.revoking_since_us:
            state.revoking_since_us.setdefault(name, self._now_us)
            yield self._since_bump("member_revoking", name, **self._partition_columns(revoking))
        if gained := assigned - old_partitions:
            yield self._since_bump("member_assigned", name, **self._partition_columns(gained, unowned_us))
        target_epoch = self._group.target_epoch
        arrived = new.state is self.stable and new.epoch == target_epoch
        if arrived and state.is_open and not (old.state is self.stable and old.epoch == target_epoch):
            yield self._since_bump("member_reconciled", name, **self._partition_columns(assigned))

    def _partition_columns(self, partitions: frozenset[Any], unowned_us: int = 0) -> dict[str, Any]:
        detail = self._names(partitions) | ({"unowned_us": str(unowned_us)} if unowned_us else {})
        return {"partitions": len(partitions), "detail": detail or None}

    def _revoked(self, name: str, lost: frozenset[Any]) -> BatchEvent:
        state = self._state
        since_us = state.revoking_since_us.get(name)
        took_us = None if since_us is None else self._now_us - since_us
        if took_us is not None and (state.slowest is None or took_us > state.slowest[1]):
            state.slowest = (name, took_us)
        return self._of_member(
            "member_revoked", name, self.kinds.CURRENT, duration_us=took_us, **self._partition_columns(lost)
        )

    def _forget(self, name: str) -> None:
        state = self._state
        state.owners.release_member(name, self._now_us)
        state.revoking_since_us.pop(name, None)
        if self._cause.name in TOO_SLOW:
            state.evicted.append(name)

    # Epochs

    def _epoch(self) -> Iterator[BatchEvent]:
        for event in super()._epoch():
            self._state.slowest = None
            yield event

    def _end_columns(self) -> tuple[dict[str, Any], dict[str, str]]:
        state = self._state
        detail = {} if state.slowest is None else {"slowest": state.slowest[0], "slowest_us": str(state.slowest[1])}
        state.slowest = None
        if not self._group.members:
            state.owners.release_all()
        return {}, detail


def modern_event(
    emitter: "EventEmitter", kind: str, group: ModernGroup, client: Client, now_us: int, **values: Any
) -> GroupEvent:
    values.setdefault("group_type", group.group_type)
    return emitter.event(
        kind,
        group.partition,
        client,
        now_us,
        group_id=group.group_id,
        protocol_type=group.group_type,
        protocol=group.assignor_name,
        generation=group.epoch,
        **values,
    )


def named_partitions(topics: TopicView, owned: Mapping[UUID, Iterable[int]]) -> frozenset[TopicPartition]:
    """Return partitions with the names of their topics, or with the IDs of deleted topics."""
    return frozenset((_name(topics, topic_id), number) for topic_id, numbers in owned.items() for number in numbers)


def _name(topics: TopicView, topic_id: UUID) -> str:
    topic = topics.by_id(topic_id)
    return str(topic_id) if topic is None else topic.name
