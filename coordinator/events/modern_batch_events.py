"""Events of one batch of changes, independent of the newer protocol that the group uses.

The state of a group results from its records, and its events from the changes of records.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar
from uuid import UUID

from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_state import EpochEventState
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.coordinator.topic_info import TopicView
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.coordinator.events.event_emitter import EventEmitter

OF_A_REBALANCE = frozenset({
    "epoch_bumped", "target_computed", "member_revoking", "member_revoked", "member_assigned", "member_reconciled",
    "group_reconciled",
})  # fmt: skip

StateT = TypeVar("StateT", bound=EpochEventState)


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
