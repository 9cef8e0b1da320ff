"""Interface of the share coordinators for share groups."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from kohort.coordinator.share.state_partitions import TopicIdPartition
from kohort.protocol.errors import ErrorCode


class Outcome(Protocol):
    """Response of a share coordinator for one partition."""

    @property
    def error_code(self) -> ErrorCode: ...

    @property
    def error_message(self) -> str | None: ...

    @property
    def leader_epoch(self) -> int: ...

    @property
    def start_offset(self) -> int:
        """In a summary: start offset of the share partition, or -1 if it is unknown."""
        ...

    @property
    def delivery_complete_count(self) -> int:
        """In a summary: completed records after the start offset, or -1 if their count is unknown."""
        ...


# Callback for the outcome of each partition, and the time. It may be called before the call returns.
OnOutcomes = Callable[[Mapping[TopicIdPartition, Outcome], int], None]


class Persister(Protocol):
    """Client of the share coordinators. Each call has one response for all of its partitions."""

    def initialize(
        self,
        group_id: str,
        partitions: Mapping[TopicIdPartition, tuple[int, int]],
        on_outcomes: OnOutcomes,
        now_ms: int,
    ) -> None:
        """Initialize partitions with a state epoch and a start offset; -1: decided by `share.auto.offset.reset`."""
        ...

    def delete(
        self, group_id: str, partitions: Iterable[TopicIdPartition], on_outcomes: OnOutcomes, now_ms: int
    ) -> None: ...

    def read_summary(
        self, group_id: str, partitions: Mapping[TopicIdPartition, int], on_outcomes: OnOutcomes, now_ms: int
    ) -> None:
        """Read summaries, given the leader epochs.

        A partition without state has the error NONE and a start offset of -1.
        """
        ...
