"""Epochs of consumer groups from kohort's event log, for when the log of the offsets topic is missing.

Events contain members, causes, epochs and waits, but not the owners of partitions: dependent figures stay empty.
"""

from __future__ import annotations

from dataclasses import replace

from kohort.pipeline.history.consumer_timeline import (
    LEFT_FOR_A_WHILE,
    UNRELEASED,
    UNREVOKED,
    ConsumerTimeline,
    Epoch,
    Stay,
    Wait,
)
from kohort.pipeline.history.inputs import Generation, GroupInput, Member
from kohort.pipeline.sources.source_rows import GroupEvent

CONSUMER = "consumer"


def consumer_timeline_from_events(group: GroupInput) -> ConsumerTimeline | None:
    """Return the timeline of a consumer group, or None for other groups and without kohort's events."""
    events = [event for event in group.events if event.origin == "event_log"]
    if not any(event.group_type == CONSUMER for event in events):
        return None
    walk = _Walk(group.names)
    for event in events:
        handle = _HANDLERS.get(event.kind)
        if handle is not None:
            handle(walk, event)
    walk.timeline.waits += walk.revoking.values()
    return walk.timeline


class _Walk:
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.timeline = ConsumerTimeline()
        self.members: dict[str, Member] = {}
        self.stays: dict[str, Stay] = {}
        self.revoking: dict[str, Wait] = {}

    # --- members

    def added(self, event: GroupEvent) -> None:
        if event.member_id is None:
            return
        speaks = (event.detail or {}).get("speaks", "classic")
        member = Member(
            event.member_id,
            event.instance_id,
            event.client_id or "",
            event.client_host or "",
            event.session_timeout_ms,
            event.rebalance_timeout_ms,
            speaks=speaks,
            called=self.names.get(event.member_id),
        )
        self.members[event.member_id] = member
        if event.group_type == CONSUMER:
            self._stays_on(member, event.ts)

    def _stays_on(self, member: Member, ts_ms: int) -> None:
        if member.member_id not in self.stays:
            self.stays[member.member_id] = Stay(member, ts_ms)
            self.timeline.stays.append(self.stays[member.member_id])

    def removed(self, event: GroupEvent) -> None:
        self._remove(event.member_id or "", event.ts)

    def _remove(self, member_id: str, ts_ms: int) -> None:
        self.members.pop(member_id, None)
        self._end_revoking(member_id, ts_ms, "gone")
        if stay := self.stays.pop(member_id, None):
            stay.end_ms = ts_ms

    def replaced(self, event: GroupEvent) -> None:
        old = (event.detail or {}).get("old_member_id", "")
        if event.group_type == CONSUMER and event.instance_id and event.member_id:
            self.timeline.returned.append((event.ts, event.instance_id, event.member_id))
        if old != event.member_id:
            self._remove(old, event.ts)
        self.added(event)

    def stepped_out(self, event: GroupEvent) -> None:
        name = event.instance_id or event.member_id or ""
        self.timeline.away.append((event.ts, name))
        if member := self.members.get(event.member_id or ""):
            member.epoch = LEFT_FOR_A_WHILE

    # --- epochs

    def converted(self, event: GroupEvent) -> None:
        if (event.detail or {}).get("to") != CONSUMER:
            for stay in self.stays.values():
                stay.end_ms, stay.converted = event.ts, True
            self.stays.clear()
            return
        for member in self.members.values():
            self._stays_on(member, event.ts)
        generation = self._snapshot(event)
        epoch = Epoch(event.generation or 0, event.ts, "protocol_migration", "certain", None, generation, [], [])
        epoch.stable_ms, epoch.generation = event.ts, self._snapshot(event)
        self.timeline.epochs.append(epoch)

    def bumped(self, event: GroupEvent) -> None:
        joined, left_ids = list(event.joined or ()), [*(event.left or ()), *(event.evicted or ())]
        generation = self._snapshot(event)
        for epoch in self.timeline.epochs:
            epoch.superseded |= epoch.stable_ms is None
        settled = [epoch.generation for epoch in self.timeline.epochs if epoch.generation is not None]
        generation.members = dict(settled[-1].members) if settled else {}
        generation.size = len(generation.members)
        trigger = self.members.get(event.member_id or "") or generation.members.get(event.member_id or "")
        epoch = Epoch(
            event.generation or 0, event.ts, event.cause or "unknown", "certain", trigger, generation, joined, left_ids
        )
        self.timeline.epochs.append(epoch)

    def target(self, event: GroupEvent) -> None:
        for epoch in self.timeline.epochs:
            if epoch.target_ms is None and epoch.number <= (event.generation or 0):
                epoch.target_ms = event.ts

    def reconciled(self, event: GroupEvent) -> None:
        for epoch in self.timeline.epochs:
            if epoch.stable_ms is None and event.member_id:
                epoch.reconciled.setdefault(event.member_id, event.ts)

    def settled(self, event: GroupEvent) -> None:
        for epoch in self.timeline.epochs:
            if epoch.stable_ms is None:
                epoch.stable_ms, epoch.generation = event.ts, self._snapshot(event)

    def _snapshot(self, event: GroupEvent) -> Generation:
        members = {member_id: replace(member) for member_id, member in self.members.items()}
        return Generation(
            event.generation or 0, event.ts, None, members, {}, CONSUMER, CONSUMER, size=len(members), from_events=True
        )

    # --- waits

    def told_to_revoke(self, event: GroupEvent) -> None:
        if event.member_id and event.member_id not in self.revoking:
            name = event.client_id or event.instance_id or event.member_id
            timeout = event.rebalance_timeout_ms
            self.revoking[event.member_id] = Wait(
                event.member_id, name, UNREVOKED, event.ts, rebalance_timeout_ms=timeout
            )

    def revoked(self, event: GroupEvent) -> None:
        self._end_revoking(event.member_id or "", event.ts, "done")

    def _end_revoking(self, member_id: str, ts_ms: int, how: str) -> None:
        if wait := self.revoking.pop(member_id, None):
            wait.end_ms, wait.ended = ts_ms, how
            self.timeline.waits.append(wait)

    def assigned(self, event: GroupEvent) -> None:
        """Handle an assignment.

        A member with partitions assigned after the target was computed has waited for them since then.
        """
        epoch = self.timeline.epochs[-1] if self.timeline.epochs else None
        if epoch is None or epoch.target_ms is None or event.ts <= epoch.target_ms or not event.member_id:
            return
        name = event.client_id or event.instance_id or event.member_id
        self.timeline.waits.append(Wait(event.member_id, name, UNRELEASED, epoch.target_ms, event.ts, "done"))


_HANDLERS = {
    "member_added": _Walk.added,
    "member_removed": _Walk.removed,
    "member_replaced": _Walk.replaced,
    "member_stepped_out": _Walk.stepped_out,
    "group_converted": _Walk.converted,
    "epoch_bumped": _Walk.bumped,
    "target_computed": _Walk.target,
    "member_reconciled": _Walk.reconciled,
    "group_reconciled": _Walk.settled,
    "member_revoking": _Walk.told_to_revoke,
    "member_revoked": _Walk.revoked,
    "member_assigned": _Walk.assigned,
}
