"""What a partition remembers of idempotent producers: the batches that may come again, and the sequence expected next.

Source: KIP-98, KIP-360; Kafka's `ProducerStateManager`, `ProducerStateEntry`, `ProducerAppendInfo`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from kohort.protocol.errors import ErrorCode

BATCHES_REMEMBERED = 5
"""A producer has at most five requests in flight, so that no older batch comes again (`ProducerStateEntry`)."""

_SEQUENCE_END = 2**31


class Remembered(NamedTuple):
    """A batch that was appended."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    max_timestamp: int


@dataclass(slots=True)
class _Producer:
    epoch: int
    batches: tuple[Remembered, ...]
    last_append_ms: int


def last_sequence(first_sequence: int, count: int) -> int:
    """The sequence number of the last of `count` records; after the largest int comes 0."""
    return (first_sequence + count - 1) % _SEQUENCE_END


class Producers:
    """The idempotent producers of one partition."""

    __slots__ = ("_expiration_ms", "_producers")

    def __init__(self, expiration_ms: int = 86_400_000) -> None:
        """`expiration_ms`: a producer that appends nothing for so long is forgotten (`producer.id.expiration.ms`)."""
        self._expiration_ms = expiration_ms
        self._producers: dict[int, _Producer] = {}

    def __len__(self) -> int:
        """How many producers are remembered."""
        return len(self._producers)

    def find_duplicate(self, producer_id: int, epoch: int, first_sequence: int, count: int) -> Remembered | None:
        """The batch that was appended before with the same sequence numbers: it is answered again, not stored again."""
        producer = self._producers.get(producer_id)
        if producer is None or producer.epoch != epoch:
            return None
        last = last_sequence(first_sequence, count)
        for batch in producer.batches:
            if batch.first_sequence == first_sequence and batch.last_sequence == last:
                return batch
        return None

    def check(self, producer_id: int, epoch: int, first_sequence: int) -> ErrorCode:
        """Whether a batch that is no duplicate may be appended.

        Answers INVALID_PRODUCER_EPOCH for an older epoch, OUT_OF_ORDER_SEQUENCE_NUMBER for a gap. A producer that is
        not known may begin anywhere: its earlier records may be gone by retention.
        """
        producer = self._producers.get(producer_id)
        if producer is None:
            return ErrorCode.none
        if epoch < producer.epoch:
            return ErrorCode.invalid_producer_epoch
        expected = 0 if epoch > producer.epoch else (producer.batches[-1].last_sequence + 1) % _SEQUENCE_END
        return ErrorCode.none if first_sequence == expected else ErrorCode.out_of_order_sequence_number

    def appended(self, producer_id: int, epoch: int, batch: Remembered, wall_ms: int) -> None:
        """Remembers a batch that passed `check` and was appended."""
        # Taken out and put in again, so that the dict is in the order of the last append and `expire` need not search.
        producer = self._producers.pop(producer_id, None)
        batches = producer.batches if producer is not None and producer.epoch == epoch else ()
        self._producers[producer_id] = _Producer(epoch, (*batches, batch)[-BATCHES_REMEMBERED:], wall_ms)

    def expire(self, wall_ms: int) -> int:
        """Forgets producers that appended nothing for long; returns how many."""
        gone = []
        for producer_id, producer in self._producers.items():
            if wall_ms - producer.last_append_ms < self._expiration_ms:
                break
            gone.append(producer_id)
        for producer_id in gone:
            del self._producers[producer_id]
        return len(gone)
