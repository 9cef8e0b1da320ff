"""What a cluster does again and again: coordinators drop what has expired, logs what is old."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kohort.broker.logs import log
from kohort.coordinator.deleting import Sweep
from kohort.coordinator.transactions.expiring import AbortTimedOut, RemoveExpired
from kohort.purgatory import DelayedOperation, Purgatory

if TYPE_CHECKING:
    from kohort.broker.cluster.shared_state import SharedState
    from kohort.coordinator.coordinator import GroupCoordinator
    from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator


def start_sweeps(
    purgatory: Purgatory,
    groups: Iterable[GroupCoordinator],
    transactions: Iterable[TransactionCoordinator],
    now_ms: int,
) -> None:
    """From now on coordinators drop what has expired."""
    for coordinator in groups:
        purgatory.wait(Sweep(coordinator, now_ms))
    for each in transactions:
        purgatory.wait(AbortTimedOut(each, now_ms))
        purgatory.wait(RemoveExpired(each, now_ms))


def start_upkeep(state: SharedState, now_ms: int) -> None:
    """From now on logs drop what is old, and are compacted."""
    upkeep = _Upkeep(state)
    state.housekeeping.append(upkeep)
    upkeep.wait(now_ms)


class _Upkeep(DelayedOperation):
    """Lets the topics drop what is old and compact what is to be compacted, now and then, for as long as they live."""

    __slots__ = ("_state",)

    def __init__(self, state: SharedState) -> None:
        super().__init__(0)
        self._state = state

    def wait(self, now_ms: int) -> None:
        # At least a millisecond, even when there is more to do at once: requests come between. Counted from now: what
        # is due before the clock's time runs in this same turn, and steps longer than the pause would pile up.
        pause_ms = max(self._maintain(now_ms), 1)
        self.deadline_ms = self._state.clock.now_ms() + pause_ms
        self.completed = False
        self._state.purgatory.wait(self)

    def _maintain(self, now_ms: int) -> int:
        state = self._state
        try:
            return state.topics.maintain(now_ms + state.clock.epoch_ms)
        except OSError as problem:
            state.storage_failed("making room in logs", problem)
        except Exception:  # other logs are to be looked after all the same
            log.error("making room in logs failed")
        return state.settings.log_cleaner_backoff_ms

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self.wait(now_ms)
