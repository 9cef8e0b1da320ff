"""Settings of the transaction coordinator. Names are Kafka's, with `_` for `.`; times are in milliseconds."""

from typing import NamedTuple


class TransactionSettings(NamedTuple):
    """Kafka's settings of the transaction coordinator, with the defaults of Kafka 4.4."""

    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3_600_000
