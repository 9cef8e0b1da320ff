"""Calls of nodes to share coordinators: the coordinator of a share partition is looked up and called, with retries.

All nodes share a process, so the coordinator is called directly where Kafka sends a request. Retries are as many as in
Kafka, after the same pauses. Calls for one share partition are made one at a time: otherwise a retried write that
follows a newer one would move a start offset back, and accepted records would be delivered again; and a read in between
would miss it. Kafka does not guarantee this order.
Source: Kafka's `PersisterStateManager`, `DefaultStatePersister`; share-groups §15.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from kohort.broker.cluster.retries import MAX_ATTEMPTS, backoff_ms
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

_ASK_AGAIN: Final = frozenset(
    {
        ErrorCode.coordinator_not_available,
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.not_coordinator,
    }
)
# The summary of a partition that the topic does not have takes half a minute in Kafka 4.3.0 (observed).
_ASK_FOR_SUMMARY_AGAIN: Final = _ASK_AGAIN | {ErrorCode.unknown_topic_or_partition}

_NO_COORDINATOR: Final = refused(
    ErrorCode.coordinator_not_available,
    "Error in find coordinator. Exhausted max retries to find coordinator without success.",
)

# called with the outcome of each partition and the time, possibly before the call returns
OnOutcomes = Callable[[dict[TopicIdPartition, StateOutcome], int], None]

_Question = Callable[["ShareCoordinator", SharePartitionKey, "OnOutcome", int], None]


class SharePersister:
    """The interface of group coordinators and leaders to share coordinators.

    Each call has one result for all its partitions.
    """

    def __init__(self, topic: ShareStateTopic, purgatory: Purgatory) -> None:
        self.topic = topic
        self.purgatory = purgatory
        # queues of further calls, by share partition with a pending call
        self._lines: dict[SharePartitionKey, deque[_Asking]] = {}

    def initialize(
        self,
        group_id: str,
        partitions: Mapping[TopicIdPartition, tuple[int, int]],
        on_outcomes: OnOutcomes,
        now_ms: int,
    ) -> None:
        """Initialize share partitions with their state epochs and start offsets (-1: undecided)."""

        def ask(coordinator: ShareCoordinator, key: SharePartitionKey, on_outcome: OnOutcome, now_ms: int) -> None:
            state_epoch, start_offset = partitions[key.topic_id, key.partition]
            initialize_state(coordinator, key, state_epoch, start_offset, on_outcome, now_ms)

        self._ask_all(group_id, partitions, ask, on_outcomes, now_ms)

    def read(
        self, group_id: str, partitions: Mapping[TopicIdPartition, int], on_outcomes: OnOutcomes, now_ms: int
    ) -> None:
        def ask(coordinator: ShareCoordinator, key: SharePartitionKey, on_outcome: OnOutcome, now_ms: int) -> None:
            read_state(coordinator, key, partitions[key.topic_id, key.partition], on_outcome, now_ms)

        self._ask_all(group_id, partitions, ask, on_outcomes, now_ms)

    def write(
        self, group_id: str, partitions: Mapping[TopicIdPartition, StateWrite], on_outcomes: OnOutcomes, now_ms: int
    ) -> None:
        def ask(coordinator: ShareCoordinator, key: SharePartitionKey, on_outcome: OnOutcome, now_ms: int) -> None:
            write_state(coordinator, key, partitions[key.topic_id, key.partition], on_outcome, now_ms)

        self._ask_all(group_id, partitions, ask, on_outcomes, now_ms)

    def delete(
        self, group_id: str, partitions: Iterable[TopicIdPartition], on_outcomes: OnOutcomes, now_ms: int
    ) -> None:
        self._ask_all(group_id, partitions, delete_state, on_outcomes, now_ms)

    def read_summary(
        self, group_id: str, partitions: Mapping[TopicIdPartition, int], on_outcomes: OnOutcomes, now_ms: int
    ) -> None:
        """Read epochs, start offset and count of complete deliveries. For unknown partitions: NONE and a start of -1.

        Kafka sends the leader epochs, too, but ignores them.
        """

        def ask(coordinator: ShareCoordinator, key: SharePartitionKey, on_outcome: OnOutcome, now_ms: int) -> None:
            on_outcome(summarize_state(coordinator, key), now_ms)

        self._ask_all(group_id, partitions, ask, on_outcomes, now_ms, is_summary=True)

    def _ask_all(
        self,
        group_id: str,
        partitions: Iterable[TopicIdPartition],
        ask: _Question,
        on_outcomes: OnOutcomes,
        now_ms: int,
        *,
        is_summary: bool = False,
    ) -> None:
        """Call the coordinators of all partitions. Summaries change nothing, so they bypass the queues."""
        topic_partitions = tuple(partitions)
        outcomes: dict[TopicIdPartition, StateOutcome] = {}

        def collect(topic_partition: TopicIdPartition, outcome: StateOutcome, now_ms: int) -> None:
            outcomes[topic_partition] = outcome
            if len(outcomes) == len(topic_partitions):
                on_outcomes(outcomes, now_ms)

        for partition in topic_partitions:
            key = SharePartitionKey(group_id, *partition)
            asking = _Asking(self, key, ask, partial(collect, partition), is_summary=is_summary)
            if is_summary:
                asking.go(now_ms)
            else:
                self._ask_in_turn(asking, now_ms)
        if not topic_partitions:
            on_outcomes(outcomes, now_ms)

    def _ask_in_turn(self, asking: _Asking, now_ms: int) -> None:
        line = self._lines.get(asking.key)
        if line is None:
            self._lines[asking.key] = deque()
            asking.go(now_ms)
        else:
            line.append(asking)

    def go_on(self, key: SharePartitionKey, now_ms: int, *, at_once: bool) -> None:
        """Make the next call for a share partition after one has completed.

        Args:
            at_once: Whether the call completed before it returned. Then the next one gets a turn of its own, to limit
                recursion.
        """
        line = self._lines[key]
        if not line:
            del self._lines[key]
        elif at_once:
            self.purgatory.wait_for_a_turn(line.popleft())
        else:
            line.popleft().go(now_ms)


class _Asking(DelayedOperation):
    """A call for one share partition, with its retries."""

    __slots__ = (
        "_ask",
        "_ask_again",
        "_attempts",
        "_is_being_asked",
        "_is_summary",
        "_persister",
        "_report_outcome",
        "key",
    )

    def __init__(
        self,
        persister: SharePersister,
        key: SharePartitionKey,
        ask: _Question,
        on_outcome: OnOutcome,
        *,
        is_summary: bool,
    ) -> None:
        super().__init__(0)
        self._persister = persister
        self.key = key
        self._ask = ask
        self._report_outcome = on_outcome
        self._is_summary = is_summary
        self._ask_again = _ASK_FOR_SUMMARY_AGAIN if is_summary else _ASK_AGAIN
        self._attempts = 0
        self._is_being_asked = False  # whether the call has not returned yet

    def go(self, now_ms: int) -> None:
        self._attempts += 1
        self._is_being_asked = True
        self._ask_coordinator(now_ms)
        self._is_being_asked = False

    def _ask_coordinator(self, now_ms: int) -> None:
        topic = self._persister.topic
        coordinator = topic.coordinator_of(self.key.text)
        if coordinator is None:
            topic.create(now_ms)
            coordinator = topic.coordinator_of(self.key.text)
        if coordinator is None:
            self._answered(_NO_COORDINATOR, now_ms)
        else:
            self._ask(coordinator, self.key, self._answered, now_ms)

    def _answered(self, outcome: StateOutcome, now_ms: int) -> None:
        if outcome.error_code in self._ask_again and self._attempts < MAX_ATTEMPTS:
            self._pause(now_ms)
            return
        try:
            self._report_outcome(outcome, now_ms)
        finally:
            if not self._is_summary:
                self._persister.go_on(self.key, now_ms, at_once=self._is_being_asked)

    def _pause(self, now_ms: int) -> None:
        self.completed = False
        self.deadline_ms = now_ms + backoff_ms(self._attempts)
        self._persister.purgatory.wait(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self.go(now_ms)
