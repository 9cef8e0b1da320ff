"""A transactional id: its producer and the state of its transaction. Source: Kafka's `TransactionMetadata`."""

from collections.abc import Callable
from dataclasses import field
from enum import Enum
from typing import NamedTuple

from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape
from kohort.protocol.topic_partition import TopicPartition

NO_PRODUCER = -1
NO_EPOCH = -1
NOT_BEGUN = -1  # start time of a transaction that has not begun

# Epochs end one before the largest short, so that the coordinator always has one with which to fence.
LAST_EPOCH = 2**15 - 2

# The version of transactions in which each one increments the epoch (KIP-890); older clients send 0.
WITH_EPOCH_BUMP = 2

Partitions = frozenset[TopicPartition]


class Producer(NamedTuple):
    """A producer id and its epoch."""

    producer_id: int
    epoch: int


NO_RESULT = Producer(NO_PRODUCER, NO_EPOCH)

# Callback with the result of a request for a producer: NONE and the producer, or an error and NO_RESULT.
OnProducer = Callable[[ErrorCode, Producer], None]


class State(Enum):
    """State of a transaction. The value is Kafka's name; the order is that of the numbers in the log."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


BY_NUMBER = tuple(State)
NUMBERS = {state: number for number, state in enumerate(BY_NUMBER)}

ENDING = (State.PREPARE_COMMIT, State.PREPARE_ABORT)  # the decision is written, the markers are not
# Without an open transaction: the id may be removed, or start a transaction.
OVER = (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)


@shape
class Transaction:
    """The coordinator's data about a transactional id, most of which is in the log. Times are wall clock."""

    transactional_id: str
    producer_id: int
    producer_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER
    next_producer_id: int = NO_PRODUCER  # used when the epochs of the current one are exhausted
    # The epoch before the last increment, by which a repeated request is recognized. Not in the log.
    last_producer_epoch: int = NO_EPOCH
    timeout_ms: int
    state: State = State.EMPTY
    partitions: Partitions = frozenset()
    started_ms: int = NOT_BEGUN
    updated_ms: int
    client_version: int = 0
    # The state that is being written to the log. Until then no other change is possible.
    pending: State | None = field(default=None, compare=False)

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the next epoch needs another producer id."""
        return self.producer_epoch >= LAST_EPOCH

    @property
    def is_in_transition(self) -> bool:
        """Whether the next state is being written, or will be when the markers are written.

        Source: Kafka's `TransactionMetadata.pendingTransitionInProgress`, which is set from the decision to the
        completion.
        """
        return self.pending is not None or self.state in ENDING
