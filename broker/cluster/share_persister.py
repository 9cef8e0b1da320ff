"""How nodes reach share coordinators: whoever keeps a share partition is found and asked, if need be several times.

All nodes share a process, so that the coordinator is called where Kafka sends a request. What Kafka sends again is
asked again here, as often and after the same pauses. Of one share partition one thing is asked at a time, until that is
answered: a write that was asked again and came after a newer one would take a start back, and give out anew what was
accepted; and who has read before it came would not know of it. Kafka keeps no such order.
Source: Kafka's `PersisterStateManager`, `DefaultStatePersister`; share-groups §15.
"""

from __future__ import annotations

from collections import deque
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
FIRST_PAUSE_MS: Final = 2_000
"""Twice Kafka's REQUEST_BACKOFF_MS, as there, without the chance added there: five attempts take half a minute; its
maximum is not reached.
"""

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
        self.topic = topic
        self.purgatory = purgatory
        self._lines: dict[SharePartitionKey, deque[_Asking]] = {}
        """By share partition of which something is asked: what waits until that is answered."""

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

        self._ask_all(group_id, partitions, ask, then, now_ms, is_summary=True)

    def _ask_all(
        self,
        group_id: str,
        partitions: Iterable[TopicIdPartition],
        ask: _Question,
        then: OnOutcomes,
        now_ms: int,
        *,
        is_summary: bool = False,
    ) -> None:
        """A summary changes nothing, so it waits for nobody, and nobody for it."""
        wanted = tuple(partitions)
        outcomes: dict[TopicIdPartition, StateOutcome] = {}

        def known(which: TopicIdPartition, outcome: StateOutcome, now_ms: int) -> None:
            outcomes[which] = outcome
            if len(outcomes) == len(wanted):
                then(outcomes, now_ms)

        for which in wanted:
            key = SharePartitionKey(group_id, *which)
            asking = _Asking(self, key, ask, partial(known, which), is_summary=is_summary)
            if is_summary:
                asking.go(now_ms)
            else:
                self._ask_in_turn(asking, now_ms)
        if not wanted:
            then(outcomes, now_ms)

    def _ask_in_turn(self, asking: _Asking, now_ms: int) -> None:
        line = self._lines.get(asking.key)
        if line is None:
            self._lines[asking.key] = deque()
            asking.go(now_ms)
        else:
            line.append(asking)

    def go_on(self, key: SharePartitionKey, now_ms: int, *, at_once: bool) -> None:
        """What was asked of a share partition is answered, so the next one is asked.

        at_once: the answer came before the call that asked had returned. Then the next one has a turn of its own:
        however many are refused, none is called from within another.
        """
        line = self._lines[key]
        if not line:
            del self._lines[key]
        elif at_once:
            self.purgatory.wait_for_a_turn(line.popleft())
        else:
            line.popleft().go(now_ms)


class _Asking(DelayedOperation):
    """One question about one share partition, until there is an answer that counts."""

    __slots__ = ("_ask", "_ask_again", "_attempts", "_is_being_asked", "_is_summary", "_persister", "_then", "key")

    def __init__(
        self,
        persister: SharePersister,
        key: SharePartitionKey,
        ask: _Question,
        then: OnOutcome,
        *,
        is_summary: bool,
    ) -> None:
        super().__init__(0)
        self._persister = persister
        self.key = key
        self._ask = ask
        self._then = then
        self._is_summary = is_summary
        self._ask_again = _ASK_FOR_SUMMARY_AGAIN if is_summary else _ASK_AGAIN
        self._attempts = 0
        self._is_being_asked = False
        """Whether the call that asks has not returned."""

    def go(self, now_ms: int) -> None:
        """Asks whoever keeps the share partition, if there is somebody."""
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
        if outcome.error_code in self._ask_again and self._attempts < MOST_ATTEMPTS:
            self._pause(now_ms)
            return
        try:
            self._then(outcome, now_ms)
        finally:
            if not self._is_summary:
                self._persister.go_on(self.key, now_ms, at_once=self._is_being_asked)

    def _pause(self, now_ms: int) -> None:
        """Asks again after a while."""
        self.completed = False
        self.deadline_ms = now_ms + (FIRST_PAUSE_MS << (self._attempts - 1))
        self._persister.purgatory.wait(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self.go(now_ms)
