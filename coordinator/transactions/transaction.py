"""A transactional id: its producer, and where its transaction is. Source: Kafka's `TransactionMetadata`."""

from collections.abc import Callable
from dataclasses import field
from enum import Enum
from typing import NamedTuple

from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape
from kohort.protocol.topic_partition import TopicPartition

NO_PRODUCER = -1
NO_EPOCH = -1
NOT_BEGUN = -1
"""The start of a transaction that has not begun."""

LAST_EPOCH = 2**15 - 2
"""Epochs end one before the largest short, so that the coordinator can always fence once more."""

WITH_EPOCH_BUMP = 2
"""The version of transactions that gives the producer a new epoch with each of them (KIP-890). Older ones are 0."""

Partitions = frozenset[TopicPartition]


class Producer(NamedTuple):
    """A producer id and its epoch."""

    producer_id: int
    epoch: int


NOBODY = Producer(NO_PRODUCER, NO_EPOCH)

OnProducer = Callable[[ErrorCode, Producer], None]
"""What follows a request for a producer: NONE and the producer to go on with, or an error and `NOBODY`."""


class State(Enum):
    """Where a transaction is. The value is Kafka's name; the order is that of the numbers in the log."""

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

ENDING = (State.PREPARE_COMMIT, State.PREPARE_ABORT)
"""Decided and written; the markers are on their way."""
OVER = (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
"""Nothing is open: the id may be forgotten, or begin a transaction."""


@shape
class Transaction:
    """What the coordinator knows of a transactional id, and what its log keeps. Times are wall clock."""

    transactional_id: str
    producer_id: int
    producer_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER
    next_producer_id: int = NO_PRODUCER
    """The one that follows when the epochs of this one are used up."""
    last_producer_epoch: int = NO_EPOCH
    """The epoch before the last bump, by which a repeated request is recognised. Not in the log."""
    timeout_ms: int
    state: State = State.EMPTY
    partitions: Partitions = frozenset()
    started_ms: int = NOT_BEGUN
    updated_ms: int
    client_version: int = 0
    pending: State | None = field(default=None, compare=False)
    """The state that is being written to the log; meanwhile nothing else may happen."""

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the next epoch needs another producer id."""
        return self.producer_epoch >= LAST_EPOCH

    @property
    def is_in_transition(self) -> bool:
        """Whether its next state is being written, or follows by itself when the markers are written.

        Kafka: `TransactionMetadata.pendingTransitionInProgress`, which is so from the decision to the end.
        """
        return self.pending is not None or self.state in ENDING
