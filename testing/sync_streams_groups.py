"""What `kafka.streams_group(…)` is to a test that awaits nothing, for type checkers and editors; see sync.py.

Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kohort.control.waiting import PATIENCE_S
from kohort.testing.sync_groups import SyncEpochGroup

if TYPE_CHECKING:
    from kohort.control.explanation import Explanation
    from kohort.control.numbers import Seconds
    from kohort.control.streams_topology import LabTopology
    from kohort.control.task_members import TaskMember
    from kohort.protocol.topic_partition import TopicPartition


class SyncStreamsGroup(SyncEpochGroup, Protocol):
    """`StreamsGroup`, whose every word waits for its end."""

    @property
    def protocol(self) -> str:
        """The assignor: `sticky`, where there are members."""
        ...

    @property
    def members(self) -> tuple[TaskMember, ...]:
        """In the order in which they joined."""
        ...

    def member(self, who: str) -> TaskMember:
        """One of them, by member id or client id. Raises LookupError, naming those who are there."""
        ...

    @property
    def topology(self) -> LabTopology | None:
        """What the application does, and how many tasks that makes; None: nobody has said so."""
        ...

    @property
    def status(self) -> dict[str, str]:
        """What members are told beside their tasks: `{"MISSING_SOURCE_TOPICS": "Source topics … are missing."}`.

        As it is for all of them since the last heartbeat; empty: nothing keeps tasks from being handed out.
        """
        ...

    @property
    def owners(self) -> dict[str, str]:
        """Who has each active task, by member id; who still gives it up has it."""
        ...

    @property
    def standbys(self) -> dict[str, list[str]]:
        """Who keeps copies of each task, by member id."""
        ...

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """What is committed, by topic and partition."""
        ...

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """How many offsets are still to be committed, by topic and partition, of all topics that the topology reads.

        Where nothing is committed, every record that is there counts.
        """
        ...

    @property
    def is_caught_up(self) -> bool:
        """Whether there is a lag, and it is 0 everywhere."""
        ...

    def explain(self) -> Explanation:
        """Which task waits for whom, which topics are missing, what each client should do now; print it."""
        ...

    def wait_caught_up(self, timeout: Seconds = PATIENCE_S) -> None:
        """Until there is a `lag`, and it is 0 everywhere. Raises TimeoutError, which says where it is not."""
        ...
