"""Transactions that take too long, and transactional ids that nobody uses any more."""

from kohort.coordinator.transactions.transaction import OVER, State, Transaction
from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation


class AbortTimedOut(DelayedOperation):
    """Every `transaction.abort.timed.out.transaction.cleanup.interval.ms`: aborts what is older than its timeout."""

    __slots__ = ("coordinator",)

    def __init__(self, coordinator: TransactionCoordinator, now_ms: int) -> None:
        interval_ms = coordinator.settings.transaction_abort_timed_out_transaction_cleanup_interval_ms
        super().__init__(now_ms + interval_ms)
        self.coordinator = coordinator

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Waits for the next time, which comes even if this one fails, and looks at all transactions."""
        self.coordinator.purgatory.wait(AbortTimedOut(self.coordinator, now_ms))
        wall_ms = self.coordinator.wall_ms(now_ms)
        for each in self.coordinator.transactions.values():
            if each.state is State.ONGOING and each.pending is None and each.started_ms + each.timeout_ms < wall_ms:
                from kohort.coordinator.transactions.ending import fence  # not for brokers without transactions

                fence(self.coordinator, each, lambda error, producer: None, now_ms)


class RemoveExpired(DelayedOperation):
    """Every `transaction.remove.expired.transaction.cleanup.interval.ms`: forgets ids that were not used for long."""

    __slots__ = ("coordinator",)

    def __init__(self, coordinator: TransactionCoordinator, now_ms: int) -> None:
        interval_ms = coordinator.settings.transaction_remove_expired_transaction_cleanup_interval_ms
        super().__init__(now_ms + interval_ms)
        self.coordinator = coordinator

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Waits for the next time, which comes even if this one fails, and looks at all ids."""
        self.coordinator.purgatory.wait(RemoveExpired(self.coordinator, now_ms))
        before_ms = self.coordinator.wall_ms(now_ms) - self.coordinator.settings.transactional_id_expiration_ms
        for each in list(self.coordinator.transactions.values()):
            if each.state in OVER and each.pending is None and each.updated_ms <= before_ms:
                _remove(self.coordinator, each, now_ms)


def _remove(coordinator: TransactionCoordinator, transaction: Transaction, now_ms: int) -> None:
    def written(error: ErrorCode, _: int) -> None:
        transaction.pending = None
        if error is ErrorCode.none:
            coordinator.transactions.pop(transaction.transactional_id, None)

    transaction.pending = State.DEAD
    coordinator.forget(transaction, written, now_ms)
