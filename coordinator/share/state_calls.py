"""Calls to share coordinators for the partitions of a group, split into slices so that other requests are served.

The first slice is sent at once. Calls of one group are sent in order: a later call for a partition must reach its share
coordinator after an earlier one.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final, NamedTuple
from uuid import UUID

from kohort.coordinator.modern.background_work import BackgroundWork
from kohort.coordinator.share.persister import OnOutcomes, Outcome
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.state_partitions import TopicIdPartition
from kohort.protocol.errors import ErrorCode

# in one slice, which takes a few milliseconds: the share coordinator writes a record for each
PARTITIONS_AT_ONCE: Final = 64


class Result(NamedTuple):
    """Result for a partition or a topic."""

    error: ErrorCode
    message: str | None = None


SUCCESS: Final = Result(ErrorCode.none)

# function that calls the share coordinators of partitions, given the callback for their outcomes and the time
MakeCall = Callable[[list[TopicIdPartition], OnOutcomes, int], None]


class StateCall:
    """Call for partitions of a group, and its results so far."""

    __slots__ = (
        "_is_made",
        "_make",
        "_on_done",
        "_pending_slices",
        "_waiting",
        "failure",
        "partitions",
        "results",
        "topics",
    )

    def __init__(
        self, partitions: Iterable[TopicIdPartition], make: MakeCall, on_done: Callable[["StateCall", int], None]
    ) -> None:
        """Prepare a call of `make` for each slice of `partitions`.

        Args:
            on_done: Called once with the call and the time, after the last result or when the group has been removed.
        """
        self._waiting = iter(partitions)
        self._make = make
        self._on_done = on_done
        self._pending_slices = 0
        self._is_made = False
        self.partitions: dict[UUID, set[int]] = {}  # with a result, by topic
        self.results: dict[TopicIdPartition, Result] = {}
        self.failure: Result | None = None  # the first error
        self.topics: dict[UUID, Result] = {}  # NONE, or the first error of a partition

    def make_slice(self, now_ms: int) -> bool:
        """Call the share coordinators of the next partitions. Return whether there may be more."""
        partitions = list(islice(self._waiting, PARTITIONS_AT_ONCE))
        self._is_made = len(partitions) < PARTITIONS_AT_ONCE
        self._pending_slices += 1
        if partitions:
            self._make(partitions, self._on_outcomes, now_ms)
        else:
            self._on_outcomes({}, now_ms)
        return not self._is_made

    def abandon(self, now_ms: int) -> None:
        """End the call because its group was removed. Later results are ignored."""
        if self._pending_slices or not self._is_made:
            self._is_made, self._pending_slices = True, -1
            self._on_done(self, now_ms)

    def _on_outcomes(self, outcomes: Mapping[TopicIdPartition, Outcome], now_ms: int) -> None:
        if self._pending_slices < 0:
            return
        for topic_partition, outcome in outcomes.items():
            topic_id, partition = topic_partition
            result = SUCCESS
            self.partitions.setdefault(topic_id, set()).add(partition)
            self.topics.setdefault(topic_id, SUCCESS)
            if outcome.error_code is not ErrorCode.none:
                result = Result(outcome.error_code, outcome.error_message)
                self.failure = self.failure or result
                if self.topics[topic_id] is SUCCESS:
                    self.topics[topic_id] = result
            self.results[topic_partition] = result
        self._pending_slices -= 1
        if self._is_made and not self._pending_slices:
            self._on_done(self, now_ms)


def call_in_slices(group: ShareGroup, call: StateCall, now_ms: int) -> None:
    """Send the first slice of a call at once, or queue the call after earlier ones of its group."""
    if group.state_calls:
        group.state_calls.append(call)
    elif call.make_slice(now_ms):
        group.state_calls.append(call)
        group.coordinator.purgatory.wait(_Calling(now_ms, group))


class _Calling(BackgroundWork[ShareGroup]):
    """Background work that sends the remaining slices of a group's calls."""

    __slots__ = ()

    def work(self, now_ms: int) -> bool:
        calls: list[StateCall] = self.group.state_calls
        try:
            is_left = calls[0].make_slice(now_ms)
        except Exception:
            del calls[0]  # the later calls are sent nevertheless
            if calls:
                self.group.coordinator.purgatory.wait(_Calling(now_ms, self.group))
            raise
        if not is_left:
            del calls[0]
        return bool(calls)

    def on_dropped(self, now_ms: int) -> None:
        calls, self.group.state_calls = self.group.state_calls, []
        for call in calls:
            call.abandon(now_ms)
