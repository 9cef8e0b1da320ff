"""How nodes reach share coordinators: whoever keeps a share partition is found and asked, if need be several times.

All nodes share a process, so that the coordinator is called where Kafka sends a request. What Kafka sends again is
asked again here, as often and after the same pauses.
Source: Kafka's `PersisterStateManager`, `DefaultStatePersister`; share-groups §15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from kohort.coordinator.share_state.share_partition_key import SharePartitionKey, TopicIdPartition
from kohort.coordinator.share_state.state_outcome import StateOutcome, refused
from kohort.coordinator.share_state.state_requests import (
    delete_state,
    initialize_state,
    read_state,
    summarize_state,
    write_state,
)
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation, Purgatory

if TYPE_CHECKING:
    from kohort.broker.cluster.share_state_topic import ShareStateTopic
    from kohort.coordinator.share_state.share_coordinator import ShareCoordinator
    from kohort.coordinator.share_state.state_outcome import OnOutcome
    from kohort.coordinator.share_state.state_requests import StateWrite

MOST_ATTEMPTS: Final = 5
FIRST_PAUSE_MS: Final = 1_000
LONGEST_PAUSE_MS: Final = 30_000
"""Kafka's REQUEST_BACKOFF_MS and REQUEST_BACKOFF_MAX_MS, without the chance that is added there."""

_ASK_AGAIN: Final = frozenset(
    {
        ErrorCode.coordinator_not_available,
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.not_coordinator,
    }
)
_ASK_FOR_SUMMARY_AGAIN: Final = _ASK_AGAIN | {ErrorCode.unknown_topic_or_partition}
"""A summary of a partition that the topic does not have takes half a minute in Kafka 4.3.0 (heard)."""

_NO_COORDINATOR: Final = refused(
    ErrorCode.coordinator_not_available,
    "Error in find coordinator. Exhausted max retries to find coordinator without success.",
)

OnOutcomes = Callable[[dict[TopicIdPartition, StateOutcome], int], None]
"""Gets the outcome of each partition, and the time; perhaps before the call that was made has returned."""

_Question = Callable[["ShareCoordinator", SharePartitionKey, "OnOutcome", int], None]


class SharePersister:
    """What group coordinators and leaders ask share coordinators. Each call answers once, for all its partitions."""

    def __init__(self, topic: ShareStateTopic, purgatory: Purgatory) -> None:
        self._topic = topic
        self._purgatory = purgatory

    def initialize(
        self, group_id: str, partitions: Mapping[TopicIdPartition, tuple[int, int]], then: OnOutcomes, now_ms: int
    ) -> None:
        """Begins share partitions anew, each with its state epoch and start offset (-1: to be decided)."""

        def ask(coordinator: ShareCoordinator, key: SharePartitionKey, then: OnOutcome, now_ms: int) -> None:
            state_epoch, start_offset = partitions[key.topic_id, key.partition]
            initialize_state(coordinator, key, state_epoch, start_offset, then, now_ms)

        self._ask_all(group_id, partitions, ask, then, now_ms)

    def read(self, group_id: str, partitions: Mapping[TopicIdPartition, int], then: OnOutcomes, now_ms: int) -> None:
        """Reads all that is known of share partitions, for their leaders of these epochs."""

        def ask(coordinator: ShareCoordinator, key: SharePartitionKey, then: OnOutcome, now_ms: int) -> None:
            read_state(coordinator, key, partitions[key.topic_id, key.partition], then, now_ms)

        self._ask_all(group_id, partitions, ask, then, now_ms)

    def write(
        self, group_id: str, partitions: Mapping[TopicIdPartition, StateWrite], then: OnOutcomes, now_ms: int
    ) -> None:
        """Notes what has become of records."""

        def ask(coordinator: ShareCoordinator, key: SharePartitionKey, then: OnOutcome, now_ms: int) -> None:
            write_state(coordinator, key, partitions[key.topic_id, key.partition], then, now_ms)

        self._ask_all(group_id, partitions, ask, then, now_ms)

    def delete(self, group_id: str, partitions: Iterable[TopicIdPartition], then: OnOutcomes, now_ms: int) -> None:
        """Forgets share partitions."""
        self._ask_all(group_id, partitions, delete_state, then, now_ms)

    def read_summary(
        self, group_id: str, partitions: Mapping[TopicIdPartition, int], then: OnOutcomes, now_ms: int
    ) -> None:
        """Reads epochs, start offset and count of complete deliveries; what is not known: NONE and a start of -1.

        Kafka sends the leader epochs along, and nobody looks at them.
        """

        def ask(coordinator: ShareCoordinator, key: SharePartitionKey, then: OnOutcome, now_ms: int) -> None:
            then(summarize_state(coordinator, key), now_ms)

        self._ask_all(group_id, partitions, ask, then, now_ms, _ASK_FOR_SUMMARY_AGAIN)

    def _ask_all(
        self,
        group_id: str,
        partitions: Iterable[TopicIdPartition],
        ask: _Question,
        then: OnOutcomes,
        now_ms: int,
        ask_again: frozenset[ErrorCode] = _ASK_AGAIN,
    ) -> None:
        wanted = tuple(partitions)
        outcomes: dict[TopicIdPartition, StateOutcome] = {}

        def known(which: TopicIdPartition, outcome: StateOutcome, now_ms: int) -> None:
            outcomes[which] = outcome
            if len(outcomes) == len(wanted):
                then(outcomes, now_ms)

        for which in wanted:
            key = SharePartitionKey(group_id, *which)
            _Asking(self._topic, self._purgatory, key, ask, partial(known, which), ask_again).go(now_ms)
        if not wanted:
            then(outcomes, now_ms)


class _Asking(DelayedOperation):
    """One question about one share partition, until there is an answer that counts."""

    __slots__ = ("_ask", "_ask_again", "_attempts", "_key", "_purgatory", "_then", "_topic")

    def __init__(
        self,
        topic: ShareStateTopic,
        purgatory: Purgatory,
        key: SharePartitionKey,
        ask: _Question,
        then: OnOutcome,
        ask_again: frozenset[ErrorCode],
    ) -> None:
        super().__init__(0)
        self._topic = topic
        self._purgatory = purgatory
        self._key = key
        self._ask = ask
        self._then = then
        self._ask_again = ask_again
        self._attempts = 0

    def go(self, now_ms: int) -> None:
        """Asks whoever keeps the share partition, if there is somebody."""
        self._attempts += 1
        topic = self._topic
        coordinator = topic.coordinator_of(self._key.text)
        if coordinator is None:
            topic.create(now_ms)
            coordinator = topic.coordinator_of(self._key.text)
        if coordinator is None:
            self._answered(_NO_COORDINATOR, now_ms)
        else:
            self._ask(coordinator, self._key, self._answered, now_ms)

    def _answered(self, outcome: StateOutcome, now_ms: int) -> None:
        if outcome.error_code not in self._ask_again or self._attempts >= MOST_ATTEMPTS:
            self._then(outcome, now_ms)
            return
        self.completed = False
        self.deadline_ms = now_ms + min(FIRST_PAUSE_MS << (self._attempts - 1), LONGEST_PAUSE_MS)
        self._purgatory.wait(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self.go(now_ms)
