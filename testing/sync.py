"""What `with Cluster()` hands out, for type checkers and editors: the words of `Cluster`, without `await`.

Annotate a fixture with it: `def test_it(kafka: SyncCluster)`. Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from kohort.control.lab_offsets import EARLIEST
from kohort.control.waiting import PATIENCE_S

if TYPE_CHECKING:
    from kohort.control.appends import Appends
    from kohort.control.explanation import Explanation
    from kohort.control.gates import Gates
    from kohort.control.group_members import GroupMember
    from kohort.control.history import Rebalance
    from kohort.control.lab_acls import Acls
    from kohort.control.lab_group import Migration
    from kohort.control.lab_topics import Topics
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.protocol.topic_partition import TopicPartition
    from kohort.testing.sync_faults import SyncFaults


class SyncClock(Protocol):
    """`Clock`, whose every word waits for its end."""

    @property
    def now_ms(self) -> int:
        """Milliseconds since the cluster was made, by its own clock."""
        ...

    def pause(self) -> None:
        """Stands still: no session ends, no rebalance times out. Requests are answered all the same."""
        ...

    def run(self, scale: float | None = None) -> None:
        """Goes on, `scale` times as fast as the machine's clock if that is given."""
        ...

    def advance(
        self,
        seconds: float = 0,
        *,
        minutes: float = 0,
        hours: float = 0,
        expire_the_living: bool = False,
        patience: float = PATIENCE_S,
    ) -> None:
        """Jumps ahead; everything that falls due on the way happens, in its order.

        A member whose connection is open and whom no fault keeps silent is taken to have sent its heartbeats meanwhile,
        and does not expire. Where a group waits for such a member to rejoin, to sync or to give up partitions, the jump
        halts until it has, at most `patience` real seconds each time, and then warns whom it went on without.
        `expire_the_living=True` waits for nobody, and lets sessions end that would have been kept.
        """
        ...


class SyncGroup(Protocol):
    """`Group`, whose every word waits for its end."""

    id: str

    @property
    def state(self) -> str:
        """As on the wire: `Stable`; `Dead` where there is no such group; `Unknown` while its coordinator loads."""
        ...

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

    def member(self, who: str) -> GroupMember:
        """One of them, by member id, instance id or client id. Raises LookupError, naming those who are there."""
        ...

    @property
    def assignments(self) -> dict[str, Mapping[str, tuple[int, ...]]]:
        """Member id to partitions by topic."""
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
        """Every event that its coordinators reported of it, in order; the rows of the event log."""
        ...

    def timeline(self, since_us: int = 0) -> str:
        """The group and its events as text, a line each; only those since a moment of the cluster's clock, if given."""
        ...

    def move_coordinator(self, node: int) -> None:
        """Lets another node look after it, and after all groups of its partition of `__consumer_offsets`.

        Raises MoveError, which says why not.
        """
        ...

    def commit(self, offsets: Mapping[TopicPartition, int], timeout: float = PATIENCE_S) -> None:
        """Commits for a group without members, as Kafka's tools do: `{("orders", 0): 5}`.

        Raises ControlError for a group that has members, and for what is no topic, partition or offset.
        """
        ...

    def reset(
        self, to: str | int = EARLIEST, topic: str | None = None, timeout: float = PATIENCE_S
    ) -> dict[TopicPartition, int]:
        """Sets a group without members to `earliest`, to `latest` or to an offset, as kafka-consumer-groups does.

        In all partitions that it has committed for; with `topic`, in all partitions of that one. Returns the offsets.
        Raises ControlError as `commit`, and for an offset that is not there.
        """
        ...

    def delete(self, timeout: float = PATIENCE_S) -> None:
        """Deletes the group and what it has committed. Raises ControlError if it has members or is not there."""
        ...

    def wait_stable(self, members: int | None = None, timeout: float = PATIENCE_S) -> None:
        """Until everybody has their share and, if `members` is given, there are so many.

        Raises TimeoutError, which says what the group looks like instead; `timeout` is in real seconds, as everywhere.
        """
        ...

    def wait_state(self, state: str, timeout: float = PATIENCE_S) -> None:
        """Until it is in a state, by its name on the wire. Raises ControlError, with the nearest one, for another."""
        ...

    def wait_migrated(self, to: str, members: int | None = None, timeout: float = PATIENCE_S) -> None:
        """Until the group and all its members speak `classic` or `consumer` and, if `members` is given, are so many.

        Raises TimeoutError, which says how far it is instead, and ControlError for another protocol.
        """
        ...

    def wait_caught_up(self, timeout: float = PATIENCE_S) -> None:
        """Until there is a `lag`, and it is 0 everywhere. Raises TimeoutError, which says where it is not.

        Consumers commit by themselves every 5 s of their own time, unless that is set otherwise.
        """
        ...

    def wait_for_offset(self, topic: str, offset: int, partition: int = 0, timeout: float = PATIENCE_S) -> None:
        """Until so much of a partition is committed, or more. Raises TimeoutError, which says what is committed."""
        ...

    def wait_for(self, condition: Callable[[], bool], timeout: float = PATIENCE_S, words: str = "so") -> None:
        """Until any other condition of the test holds. `words` complete "group x is not …" should it never."""
        ...


class SyncCluster(Protocol):
    """`Cluster`, whose every word waits for its end."""

    seed: int
    "The seed of everything random; the same seed repeats it."
    clock: SyncClock
    "The brokers' clock."
    topics: Topics
    "Topics and records without a client."

    def timeline(self, since_us: int = 0) -> str:
        """What has happened in all groups, for a person; only since a moment of the cluster's clock, if given."""
        ...

    @property
    def violations(self) -> list[str]:
        """What has happened that must never happen, a sentence each; see `kohort.control.safety`."""
        ...

    def stop_node(self, node: int) -> None:
        """Stops one node while the others run: its port is closed, and others lead what it led, where they can."""
        ...

    def start_node(self, node: int) -> None:
        """Starts a stopped node, on the port it had."""
        ...

    @property
    def bootstrap(self) -> str:
        """What clients call `bootstrap.servers`: every node's address, with commas between."""
        ...

    def client_config(
        self, user: str = "alice", *, library: str = "confluent-kafka", mechanism: str = "SCRAM-SHA-512"
    ) -> dict[str, Any]:
        """What a client needs to come in as `user`: admin, alice or bob, whose password is `alice-secret` and so on.

        `library`: aiokafka, confluent-kafka, java, kafka-python or librdkafka; the names are that library's own.
        `mechanism`: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER, where clients log in. Of a cluster without
        `security` it is the addresses alone.
        """
        ...

    @property
    def id(self) -> str:
        """The cluster id that clients get."""
        ...

    @property
    def nodes(self) -> list[int]:
        """The ids of the brokers."""
        ...

    @property
    def faults(self) -> SyncFaults:
        """Rules that spoil requests."""
        ...

    @property
    def acls(self) -> Acls:
        """Who may do what, in a cluster with an authorizer."""
        ...

    @property
    def appends(self) -> Appends:
        """What coordinators write, to fail, to be slow, or to be held."""
        ...

    @property
    def gates(self) -> Gates:
        """Stops at which requests wait for the test."""
        ...

    def group(self, group_id: str) -> SyncGroup:
        """A group, whether it is there yet or not."""
        ...

    @property
    def groups(self) -> list[SyncGroup]:
        """The groups that there are, by id."""
        ...
