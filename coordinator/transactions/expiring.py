"""Abort of transactions that exceed their timeout, and removal of unused transactional ids."""

from kohort.coordinator.transactions.transaction import OVER, State, Transaction
from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation


class AbortTimedOut(DelayedOperation):
    """Task that aborts expired transactions every `transaction.abort.timed.out.transaction.cleanup.interval.ms`."""

    __slots__ = ("coordinator",)

    def __init__(self, coordinator: TransactionCoordinator, now_ms: int) -> None:
        interval_ms = coordinator.settings.transaction_abort_timed_out_transaction_cleanup_interval_ms
        super().__init__(now_ms + interval_ms)
        self.coordinator = coordinator

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        # The next run comes first: it must happen even if this one fails.
        self.coordinator.purgatory.wait(AbortTimedOut(self.coordinator, now_ms))
        wall_ms = self.coordinator.wall_ms(now_ms)
        for transaction in self.coordinator.transactions.values():
            if (
                transaction.state is State.ONGOING
                and transaction.pending is None
                and transaction.started_ms + transaction.timeout_ms < wall_ms
            ):
                from kohort.coordinator.transactions.ending import fence  # not loaded by brokers without transactions

                fence(self.coordinator, transaction, lambda error, producer: None, now_ms)


class RemoveExpired(DelayedOperation):
    """Task that removes unused ids every `transaction.remove.expired.transaction.cleanup.interval.ms`."""

    __slots__ = ("coordinator",)

    def __init__(self, coordinator: TransactionCoordinator, now_ms: int) -> None:
        interval_ms = coordinator.settings.transaction_remove_expired_transaction_cleanup_interval_ms
        super().__init__(now_ms + interval_ms)
        self.coordinator = coordinator

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        # The next run comes first: it must happen even if this one fails.
        self.coordinator.purgatory.wait(RemoveExpired(self.coordinator, now_ms))
        before_ms = self.coordinator.wall_ms(now_ms) - self.coordinator.settings.transactional_id_expiration_ms
        for transaction in list(self.coordinator.transactions.values()):
            if transaction.state in OVER and transaction.pending is None and transaction.updated_ms <= before_ms:
                _remove(self.coordinator, transaction, now_ms)


def _remove(coordinator: TransactionCoordinator, transaction: Transaction, now_ms: int) -> None:
    def written(error: ErrorCode, _: int) -> None:
        transaction.pending = None
        if error is ErrorCode.none:
            coordinator.transactions.pop(transaction.transactional_id, None)

    transaction.pending = State.DEAD
    coordinator.forget(transaction, written, now_ms)
