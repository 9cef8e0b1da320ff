"""The events of one batch of changes of a group of a newer protocol, as far as they do not depend on which.

All that a group is follows from its records, so its events follow from what the records change.
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


class Made(NamedTuple):
    """An event, and which of the group's own records of the batch it describes; None: of none."""

    event: GroupEvent
    record: int | None


class ModernBatchEvents(Generic[StateT]):
    """Makes the events of one batch, in their order, when the changes count already."""

    kinds: ClassVar[Any]
    """The protocol's kinds of records: MEMBER, GROUP_EPOCH, TARGET_EPOCH, TARGET, CURRENT."""
    first: ClassVar[Any]
    """What a member has that has been given nothing yet."""

    def __init__(
        self, emitter: "EventEmitter", state: StateT, changes: GroupChanges, cause: Cause, carried_over: int = 0
    ) -> None:
        """`state`: what is remembered of the group from before the batch. `carried_over`: see `Conversion`."""
        self._emitter = emitter
        self._state = state
        self._changes = changes
        self._cause = cause
        self._group: Any = changes.group
        self._now_us = emitter.now_us()
        self._begin = carried_over
        self._found: dict[str, Any] = {name: each.metadata for name, each in self._group.members.items()}
        """Members after the batch, and what they say of themselves."""
        self._before: dict[str, Any] = {}
        """What members that are written about said of themselves before; None: they were none."""
        self._had: dict[str, Any] = {}
        """What members that are written about had before."""
        self._records: dict[tuple[IntEnum, str | None], int] = {}
        for number, (change, before) in enumerate(changes.made):
            self._records[change.kind, change.name] = number
            if number < self._begin or change.name is None:
                continue
            if change.kind is self.kinds.MEMBER:
                self._before.setdefault(change.name, before)
            elif change.kind is self.kinds.CURRENT:
                self._had.setdefault(change.name, self.first if before is None else before)

    def make(self) -> list[Made]:
        """All of them."""
        made = [self._made("group_created", None, cause=self._cause.name, members=0)] if self._changes.creates else []
        return [*made, *self._members(), *self._epoch(), *self._target(), *self._steps(), *self._end()]

    # What depends on the protocol

    def _members(self) -> Iterator[Made]:
        """Who came, and who is gone."""
        raise NotImplementedError

    def _steps(self) -> Iterator[Made]:
        """What members have come to."""
        raise NotImplementedError

    def _is_reconciled(self) -> bool:
        """Whether all members have what they are to have."""
        raise NotImplementedError

    def _assignor(self) -> str:
        raise NotImplementedError

    def _about(self, name: str, metadata: Any) -> dict[str, Any]:
        """What every event of a member says of it."""
        raise NotImplementedError

    def _instance_of(self, member_id: str) -> str | None:
        return None

    def _software_of(self, name: str) -> str | None:
        return None

    def _bumped_state(self) -> str:
        """The state that another epoch brings."""
        return str(self._group.state.value)

    def _target_of(self, name: str) -> frozenset[Any]:
        """What a member is to have, one by one."""
        return share(self._group.coordinator.topics, self._group.target_of(name))

    def _target_says(self, shares: Mapping[str, frozenset[Any]]) -> tuple[dict[str, Any], dict[str, str]]:
        """Further columns and details of a target."""
        return {}, {}

    def _end_says(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Further columns and details of the end of a rebalance."""
        return {}, {}

    # Epochs

    def _own(self, kind: IntEnum) -> int | None:
        """The number of the group's record of that kind, if the batch has one of its own."""
        record = self._records.get((kind, None))
        return None if record is None or record < self._begin else record

    def _epoch(self) -> Iterator[Made]:
        record = self._own(self.kinds.GROUP_EPOCH)
        if record is None:
            return
        state, group, cause = self._state, self._group, self._cause
        now = set(self._found)
        stable_us = None if state.is_open else self._now_us - state.stable_us
        state.rebalances += 1
        state.rebalance_id = f"{group.group_id}/{self._emitter.epoch(group.partition)}/{state.rebalances}"
        state.started_us, state.is_open = self._now_us, True
        yield self._made(
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
            members=len(now),
            **state.who_changed(now),
        )

    def _epoch_cause(self) -> str:
        name = self._changes.epoch_cause or self._cause.name
        return "join_static" if name == "join_new" and self._instance_of(self._cause.member_id) is not None else name

    def _target(self) -> Iterator[Made]:
        record = self._own(self.kinds.TARGET_EPOCH)
        if record is None:
            return
        group, kind = self._group, self.kinds.TARGET
        shares = {name: self._target_of(name) for name in group.members}
        changed = sum(each is kind and number >= self._begin for (each, _), number in self._records.items())
        columns, detail = self._target_says(shares)
        yield self._made(
            "target_computed",
            record,
            members=len(group.members),
            partitions=sum(map(len, shares.values())),
            detail={"changed_members": str(changed), "since_bump_us": str(self._since_bump_us())} | detail,
            **columns,
        )

    def _end(self) -> Iterator[Made]:
        state, group = self._state, self._group
        if not state.is_open or not self._is_reconciled():
            return
        columns, detail = self._end_says()
        took_us = self._since_bump_us()
        columns |= {"state_to": group.state.value, "members": len(group.members), "duration_us": took_us}
        columns["detail"] = {"total_us": str(took_us)} | detail
        state.is_open, state.stable_us = False, self._now_us
        last = next((name for name in reversed(self._had) if name in group.members), None)
        if last is None:
            yield self._made("group_reconciled", None, **columns)
        else:
            yield self._of_member("group_reconciled", last, self.kinds.CURRENT, **columns)

    # Within

    def _since_bump_us(self) -> int:
        return self._now_us - self._state.started_us

    def _since_bump(self, kind: str, name: str, **values: Any) -> Made:
        return self._of_member(kind, name, self.kinds.CURRENT, duration_us=self._since_bump_us(), **values)

    def _of_member(self, kind: str, name: str, record: IntEnum, **values: Any) -> Made:
        metadata, member = self._found[name], self._group.members[name]
        values.setdefault("members", len(self._found))
        return self._made(
            kind,
            self._records.get((record, name)),
            client=Client(metadata.client_id, metadata.client_host, self._software_of(name)),
            member_id=name,
            member_epoch=member.current.epoch,
            **(self._about(name, metadata) | values),
        )

    def _made(self, kind: str, record: int | None, *, client: Client = NOBODY_KNOWN, **values: Any) -> Made:
        event = modern_event(self._emitter, kind, self._group, self._assignor(), client, self._now_us, **values)
        if kind in OF_A_REBALANCE:
            event.rebalance_id = self._state.rebalance_id
        return Made(event, record)


def modern_event(
    emitter: "EventEmitter", kind: str, group: ModernGroup, assignor: str, client: Client, now_us: int, **values: Any
) -> GroupEvent:
    """An event of a group as it is now."""
    values.setdefault("group_type", group.group_type)
    return emitter.event(
        kind,
        group.partition,
        client,
        now_us,
        group_id=group.group_id,
        protocol_type=group.group_type,
        protocol=assignor,
        generation=group.epoch,
        **values,
    )


def share(topics: TopicView, owned: Mapping[UUID, Iterable[int]]) -> frozenset[TopicPartition]:
    """Partitions by the names of their topics; one that is gone has its id only."""
    return frozenset((_name(topics, topic_id), number) for topic_id, numbers in owned.items() for number in numbers)


def _name(topics: TopicView, topic_id: UUID) -> str:
    topic = topics.by_id(topic_id)
    return str(topic_id) if topic is None else topic.name
