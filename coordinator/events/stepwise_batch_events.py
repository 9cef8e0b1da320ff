"""The events of groups whose members give up what others are to have, before those get it.

Consumer groups and streams groups are such groups (consumer-groups §8, streams-groups §9).
"""

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

from kohort.coordinator.events.event_state import StepwiseEventState
from kohort.coordinator.events.modern_batch_events import Made, ModernBatchEvents
from kohort.protocol.topic_partition import TopicPartition

TOO_SLOW = ("epoch_timeout", "barrier_timeout", "sync_timeout")
"""Causes of removal by which a member held the others up."""

StepStateT = TypeVar("StepStateT", bound=StepwiseEventState)


class StepwiseBatchEvents(ModernBatchEvents[StepStateT]):
    """Makes the events of one batch."""

    stable: ClassVar[Any]
    """The state of a member that has all of its target, and nothing else."""
    unrevoked: ClassVar[Any]
    """The state of a member that is to give something up."""

    # What depends on the protocol

    def _each_of(self, had: Any) -> frozenset[Any]:
        """Partitions or tasks, one by one, of what a member is noted to have or to give up."""
        raise NotImplementedError

    def _owned(self, had: frozenset[Any]) -> frozenset[TopicPartition]:
        """Those of them that one member at a time may have."""
        return had

    def _named(self, had: frozenset[Any]) -> dict[str, str]:
        """What an event says of them beside how many they are."""
        return {}

    # What members have

    def _steps(self) -> Iterator[Made]:
        for name, had in self._had.items():
            member = self._group.members.get(name)
            if member is not None:
                yield from self._step(name, had, member.current)

    def _step(self, name: str, had: Any, has: Any) -> Iterator[Made]:
        """What a member has come to; how long partitions were nobody's is reported of those that it is given."""
        state = self._state
        still = self._each_of(had.revoking)
        before = self._each_of(had.assigned) | still
        assigned, revoking = self._each_of(has.assigned), self._each_of(has.revoking)
        unowned_us = state.owners.synced(name, self._owned(assigned | revoking), self._now_us)
        if lost := before - assigned - revoking:
            yield self._revoked(name, lost)
        if has.state is not self.unrevoked:
            state.revoking_since_us.pop(name, None)
        elif len(revoking) > len(still) or name not in state.revoking_since_us:
            state.revoking_since_us.setdefault(name, self._now_us)
            yield self._since_bump("member_revoking", name, **self._about_those(revoking))
        if gained := assigned - before:
            yield self._since_bump("member_assigned", name, **self._about_those(gained, unowned_us))
        target_epoch = self._group.target_epoch
        arrived = has.state is self.stable and has.epoch == target_epoch
        if arrived and state.is_open and not (had.state is self.stable and had.epoch == target_epoch):
            yield self._since_bump("member_reconciled", name, **self._about_those(assigned))

    def _about_those(self, had: frozenset[Any], unowned_us: int = 0) -> dict[str, Any]:
        detail = self._named(had) | ({"unowned_us": str(unowned_us)} if unowned_us else {})
        return {"partitions": len(had), "detail": detail or None}

    def _revoked(self, name: str, lost: frozenset[Any]) -> Made:
        state = self._state
        since_us = state.revoking_since_us.get(name)
        took_us = None if since_us is None else self._now_us - since_us
        if took_us is not None and (state.slowest is None or took_us > state.slowest[1]):
            state.slowest = (name, took_us)
        return self._of_member(
            "member_revoked", name, self.kinds.CURRENT, duration_us=took_us, **self._about_those(lost)
        )

    def _forget(self, name: str) -> None:
        """A member is gone."""
        state = self._state
        state.owners.gone(name, self._now_us)
        state.revoking_since_us.pop(name, None)
        if self._cause.name in TOO_SLOW:
            state.evicted.append(name)

    # Epochs

    def _epoch(self) -> Iterator[Made]:
        for made in super()._epoch():
            self._state.slowest = None
            yield made

    def _end_says(self) -> tuple[dict[str, Any], dict[str, str]]:
        state = self._state
        detail = {} if state.slowest is None else {"slowest": state.slowest[0], "slowest_us": str(state.slowest[1])}
        state.slowest = None
        if not self._group.members:
            state.owners.nobody_is_left()
        return {}, detail
