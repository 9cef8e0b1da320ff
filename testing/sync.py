"""What `with Cluster()` hands out, for type checkers and editors: the words of `Cluster`, without `await`.

Annotate a fixture with it: `def test_it(kafka: SyncCluster)`. Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from kohort.control.waiting import PATIENCE_S

if TYPE_CHECKING:
    from kohort.control.appends import Appends
    from kohort.control.gates import Gates
    from kohort.control.lab_acls import Acls
    from kohort.control.lab_topics import Topics
    from kohort.control.numbers import Seconds
    from kohort.testing.sync_faults import SyncFaults
    from kohort.testing.sync_groups import SyncGroup, SyncShareGroup
    from kohort.testing.sync_streams_groups import SyncStreamsGroup


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
        seconds: Seconds = 0,
        *,
        minutes: float = 0,
        hours: float = 0,
        expire_live_members: bool = False,
        patience: Seconds = PATIENCE_S,
    ) -> None:
        """Move the clock forward; everything that falls due on the way happens, in its order.

        The jump is the sum of `seconds`, which may be a timedelta, `minutes` and `hours`.

        A member whose connection is open and whom no fault keeps silent is taken to have sent its heartbeats meanwhile,
        and does not expire. Where a group waits for such a member to rejoin, to sync or to give up partitions, the jump
        halts until it has, at most `patience` real seconds each time, and then warns whom it went on without.
        `expire_live_members=True` waits for nobody, and lets sessions end that would have been kept.
        """
        ...


class SyncCluster(Protocol):
    """`Cluster`, whose every word waits for its end."""

    seed: int
    "The seed of everything random; the same seed repeats it."
    clock: SyncClock
    "The brokers' clock."
    topics: Topics
    "Topics and records without a client."

    def on_forked(self) -> tuple[()]:
        """Let all calls fail in a forked child; its server closes the sockets."""
        ...

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
        """A classic group or a consumer group, whether it is there yet or not."""
        ...

    def share_group(self, group_id: str) -> SyncShareGroup:
        """A share group (KIP-932), whether it is there yet or not."""
        ...

    def streams_group(self, group_id: str) -> SyncStreamsGroup:
        """A streams group (KIP-1071), whether it is there yet or not."""
        ...

    @property
    def groups(self) -> list[SyncGroup | SyncShareGroup | SyncStreamsGroup]:
        """The groups that there are, of every kind, by id."""
        ...
