"""What `kafka.group(…)` is to a test that awaits nothing, for type checkers and editors; see sync.py.

Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from kohort.control.lab_offsets import EARLIEST
from kohort.control.redelivery import BEYOND_ALL
from kohort.control.waiting import PATIENCE_S

if TYPE_CHECKING:
    from kohort.control.explanation import Explanation
    from kohort.control.group_members import GroupMember
    from kohort.control.history import Rebalance
    from kohort.control.lab_group import Migration
    from kohort.control.numbers import Seconds
    from kohort.control.share_records import InFlightRecords, SharePartitionState
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.protocol.topic_partition import TopicPartition


class SyncAnyGroup(Protocol):
    """`AnyGroup`, whose every word waits for its end."""

    id: str

    @property
    def state(self) -> str:
        """As on the wire: `Stable`; `Dead` where there is no such group; `Unknown` while its coordinator loads."""
        ...

    @property
    def type(self) -> str:
        """`classic`, `consumer`, `share` or `streams`; empty where there is no such group."""
        ...

    @property
    def generation(self) -> int:
        """Counts the rebalances; 0 before the first. Of all groups but classic ones the group epoch."""
        ...

    @property
    def assignment_epoch(self) -> int:
        """The epoch that the target assignment was computed for; of a classic group its generation."""
        ...

    @property
    def protocol(self) -> str:
        """The assignor that was chosen; empty: none."""
        ...

    @property
    def size(self) -> int:
        """How many members it has."""
        ...

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """In the order in which they joined."""
        ...

    def member(self, who: str) -> GroupMember:
        """One of them, by member id, instance id or client id. Raises LookupError, naming those who are there."""
        ...

    @property
    def assignments(self) -> dict[str, Mapping[str, tuple[int, ...]]]:
        """Member id to partitions by topic."""
        ...

    @property
    def coordinator(self) -> int | None:
        """The id of the node that looks after it; None while nobody does."""
        ...

    def explain(self) -> Explanation:
        """Whom it waits for and until when, what each client should do now, and what is badly set; print it."""
        ...

    @property
    def history(self) -> list[Rebalance]:
        """Its rebalances so far, the first one first."""
        ...

    @property
    def events(self) -> list[GroupEvent]:
        """Every event that brokers reported of it, in order; the rows of the event log."""
        ...

    def timeline(self, since_us: int = 0) -> str:
        """The group and its events as text, a line each; only those since a moment of the cluster's clock, if given."""
        ...

    @property
    def is_settled(self) -> bool:
        """Whether everybody has their share."""
        ...

    @property
    def is_caught_up(self) -> bool:
        """Whether there is a lag, and it is 0 everywhere."""
        ...

    def move_coordinator(self, node: int) -> None:
        """Lets another node look after it, and after all groups of its partition of `__consumer_offsets`.

        Raises MoveError, which says why not.
        """
        ...

    def delete(self, timeout: Seconds = PATIENCE_S) -> None:
        """Deletes the group and all that is kept of it. Raises ControlError if it has members or is not there."""
        ...

    def wait_stable(self, members: int | None = None, timeout: Seconds = PATIENCE_S) -> None:
        """Until everybody has their share and, if `members` is given, there are so many.

        Raises TimeoutError, which says what the group looks like instead; `timeout` is in real seconds, as everywhere.
        """
        ...

    def wait_state(self, state: str, timeout: Seconds = PATIENCE_S) -> None:
        """Until it is in a state, by its name on the wire. Raises ControlError, with the nearest one, for another."""
        ...

    def wait_for(self, condition: Callable[[], bool], timeout: Seconds = PATIENCE_S, words: str = "so") -> None:
        """Until any other condition of the test holds. `words` complete "group x is not …" should it never."""
        ...


class SyncGroup(SyncAnyGroup, Protocol):
    """`Group`, whose every word waits for its end."""

    @property
    def type(self) -> str:
        """`classic` or `consumer`; empty where there is no such group."""
        ...

    @property
    def generation(self) -> int:
        """Counts the rebalances; 0 before the first. Of a consumer group the group epoch."""
        ...

    @property
    def assignment_epoch(self) -> int:
        """The epoch that the target assignment was computed for; of a classic group its generation."""
        ...

    @property
    def protocol(self) -> str:
        """The assignor that was chosen; empty: none."""
        ...

    @property
    def size(self) -> int:
        """How many members it has."""
        ...

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """In the order in which they joined."""
        ...

    @property
    def owners(self) -> dict[TopicPartition, str]:
        """Who has each partition, by member id; who still gives it up has it."""
        ...

    @property
    def migration(self) -> Migration:
        """Which protocol the group speaks, and how many members speak which."""
        ...

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """What is committed, by topic and partition."""
        ...

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """How many offsets are still to be committed, by topic and partition.

        Of all partitions that the group has committed for or that its members subscribe to by name. Where nothing is
        committed, every record that is there counts. A transaction's marker is an offset, too, as for Kafka's tools.
        """
        ...

    @property
    def is_caught_up(self) -> bool:
        """Whether there is a lag, and it is 0 everywhere."""
        ...

    def explain(self) -> Explanation:
        """Whom it waits for and until when, what each client should do now, and what is badly set; print it."""
        ...

    def commit(self, offsets: Mapping[TopicPartition, int], timeout: Seconds = PATIENCE_S) -> None:
        """Commits for a group without members, as Kafka's tools do: `{("orders", 0): 5}`.

        Raises ControlError for a group that has members, and for what is no topic, partition or offset.
        """
        ...

    def reset(
        self, to: str | int = EARLIEST, topic: str | None = None, timeout: Seconds = PATIENCE_S
    ) -> dict[TopicPartition, int]:
        """Sets a group without members to `earliest`, to `latest` or to an offset, as kafka-consumer-groups does.

        In all partitions that it has committed for; with `topic`, in all partitions of that one. Returns the offsets.
        Raises ControlError as `commit`, and for an offset that is not there.
        """
        ...

    def wait_migrated(self, to: str, members: int | None = None, timeout: Seconds = PATIENCE_S) -> None:
        """Until the group and all its members speak `classic` or `consumer` and, if `members` is given, are so many.

        Raises TimeoutError, which says how far it is instead, and ControlError for another protocol.
        """
        ...

    def wait_caught_up(self, timeout: Seconds = PATIENCE_S) -> None:
        """Until there is a `lag`, and it is 0 everywhere. Raises TimeoutError, which says where it is not.

        Consumers commit by themselves every 5 s of their own time, unless that is set otherwise.
        """
        ...

    def wait_for_offset(self, topic: str, offset: int, partition: int = 0, timeout: Seconds = PATIENCE_S) -> None:
        """Until so much of a partition is committed, or more. Raises TimeoutError, which says what is committed."""
        ...


class SyncEpochGroup(SyncAnyGroup, Protocol):
    """`EpochGroup`, whose every word waits for its end."""

    @property
    def type(self) -> str:
        """`share` or `streams`; empty where there is no such group."""
        ...

    @property
    def generation(self) -> int:
        """The group epoch; 0 where there is no such group."""
        ...

    @property
    def assignment_epoch(self) -> int:
        """The epoch that the target assignment was computed for."""
        ...


class SyncShareGroup(SyncEpochGroup, Protocol):
    """`ShareGroup`, whose every word waits for its end."""

    @property
    def protocol(self) -> str:
        """The assignor: `simple`, where there are members."""
        ...

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """In the order in which they joined. Several may have the same partition."""
        ...

    @property
    def partitions(self) -> list[SharePartitionState]:
        """Each partition that it shares out: where it begins, how far it is, how many records are held."""
        ...

    def start_offset(self, topic: str, partition: int = 0) -> int | None:
        """The first offset that is not done with; None: nobody has decided yet where the group begins there."""
        ...

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """How many records are not done with, by topic and partition, where that is known."""
        ...

    @property
    def is_settled(self) -> bool:
        """Whether each member has its share of the newest target, and that has all partitions."""
        ...

    @property
    def is_caught_up(self) -> bool:
        """Whether nothing is left: every record was accepted, rejected or archived."""
        ...

    def in_flight(self, topic: str | None = None, partition: int | None = None) -> list[InFlightRecords]:
        """What lies between the start of a partition and the last record given out, neighbours that are alike as one.

        Of all partitions, or of those of a topic, or of one.
        """
        ...

    def held(self, topic: str | None = None, partition: int | None = None) -> list[InFlightRecords]:
        """What members hold now."""
        ...

    def delivery_count(self, topic: str, partition: int, offset: int) -> int:
        """How often a record was delivered to this group; 0: never yet.

        Of a record that is done with the recorded events tell. Raises ControlError where they don't.
        """
        ...

    def explain(self) -> Explanation:
        """Who holds which records until when, what each partition waits for, what each client should do; print it."""
        ...

    def explain_record(self, topic: str, partition: int, offset: int) -> str:
        """Why a record does not come, or that it may be had, in a sentence."""
        ...

    def configure(self, configs: Mapping[str, object]) -> None:
        """Gives the group settings of its own, by Kafka's names: `{"share.delivery.count.limit": 3}`. Others stay.

        It need not be there yet. Raises ControlError for what is no setting of groups, or out of the broker's limits.
        """
        ...

    def redeliver(
        self,
        topic: str | None = None,
        partition: int | None = None,
        *,
        first_offset: int = 0,
        last_offset: int = BEYOND_ALL,
        member: str | None = None,
    ) -> int:
        """Others may have records that members hold, as if their locks had expired. Returns how many records.

        All, or those of a topic, of a partition, of offsets, of a member (a member id or a client id). Records that
        were delivered as often as the group allows are archived instead.
        """
        ...

    def wait_caught_up(self, timeout: Seconds = PATIENCE_S) -> None:
        """Until nothing is left: every record was accepted, rejected or archived.

        Raises TimeoutError, which says what is left, and who holds it.
        """
        ...

    def wait_accepted(
        self,
        count: int | None = None,
        *,
        topic: str | None = None,
        partition: int | None = None,
        up_to: int | None = None,
        timeout: Seconds = PATIENCE_S,
    ) -> None:
        """Until so many records were accepted; or, of one partition, all below offset `up_to`; or all that there are.

        Counted are acknowledgements that are written down, in a topic or a partition if one is given. Raises
        TimeoutError, which says what was accepted, and names records that were rejected or archived.
        """
        ...
