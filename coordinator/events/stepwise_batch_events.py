"""Events of groups whose members revoke partitions or tasks before other members receive them.

These are consumer groups and streams groups (consumer-groups §8, streams-groups §9).
"""

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

from kohort.coordinator.events.event_state import StepwiseEventState
from kohort.coordinator.events.modern_batch_events import BatchEvent, ModernBatchEvents
from kohort.coordinator.modern.modern_values import STATIC_LEAVING_EPOCH
from kohort.protocol.topic_partition import TopicPartition

# causes of a removal because the member delayed the others
TOO_SLOW = ("epoch_timeout", "barrier_timeout", "sync_timeout")

StepStateT = TypeVar("StepStateT", bound=StepwiseEventState)


class StepwiseBatchEvents(ModernBatchEvents[StepStateT]):
    """Creates the events of one batch."""

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
