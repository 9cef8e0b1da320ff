"""Turns what happens to share groups into events (offsets-topic §9.6), while somebody listens.

As in consumer groups they follow from what a batch of records changes. Members share partitions: nobody has to give up
anything first, and nothing moves from one to another.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.event_state import FENCED, EpochEventState
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.events.owners import Owners
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_observer import ModernObserver
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client
from kohort.coordinator.share.share_group import SHARE, ShareGroup
from kohort.coordinator.share.share_group_state import ShareGroupState
from kohort.coordinator.share.share_member import FIRST
from kohort.coordinator.share.share_values import ShareAssignment, ShareKind, ShareMetadata
from kohort.coordinator.share.simple_assignor import SIMPLE
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.events.event_emitter import EventEmitter

OF_A_REBALANCE = frozenset({"epoch_bumped", "target_computed", "member_assigned", "group_reconciled"})

Made = tuple[GroupEvent, int | None]
"""An event, and which record of the batch it describes; None: of none."""


class ShareEventObserver(ModernObserver[ShareGroup]):
    """Turns what happens to the share groups of one coordinator into events."""

    def __init__(self, emitter: "EventEmitter") -> None:
        self._emitter = emitter
        self._effects = emitter.coordinator.effects
        for group in emitter.coordinator.share_groups.values():
            self._initialize(group)

    def changed(self, changes: GroupChanges, cause: Cause) -> OnWritten:
        """Its events are made now, and reported when it is written."""
        group = changes.group
        assert isinstance(group, ShareGroup), "whose observer this is"
        made = ShareBatchEvents(self._emitter, group, self._of(group, changes), changes, cause).make()

        def written(error: ErrorCode, now_ms: int) -> None:
            if error is ErrorCode.none:
                for event, record in made:
                    event.log_offset = None if record is None else changes.offset_of(record)
                    self._effects.append(event)

        return written

    def taken_back(self, group: ShareGroup) -> None:
        """What was remembered of the group is not so; it is met anew."""
        if group.event_state is not None:
            self._initialize(group, group.event_state.rebalances)

    def refused(
        self,
        group: ShareGroup,
        member_id: str,
        instance_id: str | None,
        epoch: int,
        error: ErrorCode,
        ticket: object,
    ) -> None:
        """Reported if the member was fenced; at most one event a minute."""
        if error is not ErrorCode.fenced_member_epoch:
            return
        if self._of(group).refusals.is_first(member_id, FENCED, NOBODY_KNOWN, epoch):
            client, name = self._emitter.client_of(ticket), error.name.upper()
            self._emit("member_fenced", group, client, member_id=member_id, member_epoch=epoch, error=name)

    def flush_stats(self) -> None:
        """A member that is fenced is reported again from now on."""
        for group in self._emitter.coordinator.share_groups.values():
            self._of(group).refusals.flush()

    def loaded(self, group: ShareGroup, load_us: int) -> None:
        """This node coordinates it from now on."""
        self._initialize(group)
        self._emit("group_loaded", group, duration_us=load_us)

    def group_gone(self, group: ShareGroup, cause: str) -> None:
        """It was deleted, or its coordinator has moved."""
        about: dict[str, Any] = {"state_from": group.state.value, "state_to": "Dead", "cause": cause}
        if cause == "coordinator_failover":
            self._emit("group_unloaded", group, **about)
        else:
            self._emit("group_deleted", group, log_offset=self._emitter.coordinator.appended_offset, **about)

    def _of(self, group: ShareGroup, changes: GroupChanges | None = None) -> EpochEventState:
        """What is remembered of a group, be it from before a batch that counts already."""
        if group.event_state is None or (changes is not None and changes.creates):
            self._initialize(group)
        assert group.event_state is not None, "it was just met"
        if changes is not None and changes.creates:
            group.event_state.known, group.event_state.is_open = set(), False
        return group.event_state

    def _initialize(self, group: ShareGroup, rebalances: int = 0) -> None:
        """A group found at work is taken as it stands."""
        state = EpochEventState(group.members, Owners({}), self._emitter.now_us(), is_open=not is_reconciled(group))
        state.rebalances = rebalances
        group.event_state = state

    def _emit(self, kind: str, group: ShareGroup, client: Client = NOBODY_KNOWN, **values: Any) -> None:
        values.setdefault("members", len(group.members))
        self._effects.append(share_event(self._emitter, kind, group, client, self._emitter.now_us(), **values))


class ShareBatchEvents:
    """Makes the events of one batch, in their order, when the changes count already."""

    def __init__(
        self,
        emitter: "EventEmitter",
        group: ShareGroup,
        state: EpochEventState,
        changes: GroupChanges,
        cause: Cause,
    ) -> None:
        """`state`: what is remembered of the group from before the batch."""
        self._emitter = emitter
        self._group = group
        self._state = state
        self._changes = changes
        self._cause = cause
        self._now_us = emitter.now_us()
        self._records: dict[tuple[int, str | None], int] = {}
        self._before: dict[str, ShareMetadata | None] = {}
        """What members that are written about said of themselves before."""
        self._had: dict[str, ShareAssignment] = {}
        """What members that are written about were to fetch from before."""
        for number, (change, before) in enumerate(changes.made):
            self._records[change.kind, change.name] = number
            if change.kind is ShareKind.MEMBER and change.name is not None:
                self._before.setdefault(change.name, before if isinstance(before, ShareMetadata) else None)
            elif change.kind is ShareKind.CURRENT and change.name is not None:
                self._had.setdefault(change.name, before if isinstance(before, ShareAssignment) else FIRST)

    def make(self) -> list[Made]:
        """All of them."""
        made = [self._made("group_created", None, cause=self._cause.name, members=0)] if self._changes.creates else []
        return [*made, *self._members(), *self._epoch(), *self._target(), *self._assigned(), *self._end()]

    def _members(self) -> Iterator[Made]:
        for name, before in self._before.items():
            if before is None and name in self._group.members:
                ticket = self._changes.ticket
                software = None if ticket is None else self._emitter.client_of(ticket).client_software
                timeout_ms = self._group.coordinator.share_config(self._group.group_id).session_timeout_ms
                yield self._of_member(
                    "member_added", name, ShareKind.MEMBER, software, cause="join_new", session_timeout_ms=timeout_ms
                )
            elif before is not None and name not in self._group.members:
                yield self._made(
                    "member_removed",
                    self._records[ShareKind.MEMBER, name],
                    client=Client(before.client_id, before.client_host),
                    member_id=name,
                    cause=self._cause.name,
                )

    def _epoch(self) -> Iterator[Made]:
        record = self._records.get((ShareKind.GROUP_EPOCH, None))
        if record is None:
            return
        state, group, cause = self._state, self._group, self._cause
        stable_us = None if state.is_open else self._now_us - state.stable_us
        state.rebalances += 1
        state.rebalance_id = f"{group.group_id}/{self._emitter.epoch(group.partition)}/{state.rebalances}"
        state.started_us, state.is_open = self._now_us, True
        yield self._made(
            "epoch_bumped",
            record,
            cause=self._changes.epoch_cause or cause.name,
            client=Client(cause.client_id, cause.client_host),
            member_id=cause.member_id or None,
            state_from=self._changes.from_state,
            state_to=group.state.value,
            duration_us=stable_us,
            **state.who_changed(set(group.members)),
        )

    def _target(self) -> Iterator[Made]:
        record = self._records.get((ShareKind.TARGET_EPOCH, None))
        if record is None:
            return
        changed = sum(kind is ShareKind.TARGET for kind, _ in self._records)
        detail = {"changed_members": str(changed), "since_bump_us": str(self._since_bump_us())}
        given = sum(_size(self._group.target_of(name)) for name in self._group.members)
        yield self._made("target_computed", record, partitions=given, detail=detail)

    def _assigned(self) -> Iterator[Made]:
        for name, had in self._had.items():
            member = self._group.members.get(name)
            if member is not None and member.current.assigned != had.assigned:
                partitions, since_us = _size(member.current.assigned), self._since_bump_us()
                yield self._of_member(
                    "member_assigned", name, ShareKind.CURRENT, partitions=partitions, duration_us=since_us
                )

    def _end(self) -> Iterator[Made]:
        state, group = self._state, self._group
        if not state.is_open or not is_reconciled(group):
            return
        took_us = self._since_bump_us()
        state.is_open, state.stable_us = False, self._now_us
        yield self._made(
            "group_reconciled",
            None,
            state_to=group.state.value,
            duration_us=took_us,
            detail={"total_us": str(took_us)},
        )

    def _since_bump_us(self) -> int:
        return self._now_us - self._state.started_us

    def _of_member(self, kind: str, name: str, record: ShareKind, software: str | None = None, **values: Any) -> Made:
        member = self._group.members[name]
        return self._made(
            kind,
            self._records.get((record, name)),
            client=Client(member.metadata.client_id, member.metadata.client_host, software),
            member_id=name,
            member_epoch=member.current.epoch,
            **values,
        )

    def _made(self, kind: str, record: int | None, *, client: Client = NOBODY_KNOWN, **values: Any) -> Made:
        values.setdefault("members", len(self._group.members))
        event = share_event(self._emitter, kind, self._group, client, self._now_us, **values)
        if kind in OF_A_REBALANCE:
            event.rebalance_id = self._state.rebalance_id
        return event, record


def share_event(
    emitter: "EventEmitter", kind: str, group: ShareGroup, client: Client, now_us: int, **values: Any
) -> GroupEvent:
    """An event of a share group as it is now."""
    return emitter.event(
        kind,
        group.partition,
        client,
        now_us,
        group_id=group.group_id,
        group_type=SHARE,
        protocol_type=SHARE,
        protocol=SIMPLE,
        generation=group.epoch,
        **values,
    )


def is_reconciled(group: ShareGroup) -> bool:
    """Whether every member has been told what the target for the group's epoch gives it."""
    if group.state is ShareGroupState.EMPTY:
        return True
    is_computed = group.target_epoch == group.epoch
    return is_computed and all(member.current.epoch == group.epoch for member in group.members.values())


def _size(target: Any) -> int:
    return sum(map(len, target.values()))
