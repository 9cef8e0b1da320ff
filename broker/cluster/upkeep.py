"""Periodic work of a cluster: coordinators expire state, and logs are cleaned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kohort.base.logs import log
from kohort.coordinator.groups.deleting import Sweep
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
    for coordinator in groups:
        purgatory.wait(Sweep(coordinator, now_ms))
    for transaction_coordinator in transactions:
        purgatory.wait(AbortTimedOut(transaction_coordinator, now_ms))
        purgatory.wait(RemoveExpired(transaction_coordinator, now_ms))


def start_upkeep(state: SharedState, now_ms: int) -> None:
    upkeep = _Upkeep(state)
    state.housekeeping.append(upkeep)
    upkeep.wait(now_ms)


class _Upkeep(DelayedOperation):
    """Retention and compaction of topics, at intervals."""

    __slots__ = ("_state",)

    def __init__(self, state: SharedState) -> None:
        super().__init__(0)
        self._state = state

    def wait(self, now_ms: int) -> None:
        # At least a millisecond, even if there is more to do, so that requests are handled. Based on the current time:
        # what is due before it would run in this same turn, and steps longer than the pause would accumulate.
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
        except Exception:  # other logs must be cleaned all the same
            log.error("making room in logs failed")
        return state.settings.log_cleaner_backoff_ms

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self.wait(now_ms)
