"""What `with Proxy(…)` hands out, for type checkers and editors; see sync.py.

Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from kohort.control.waiting import PATIENCE_S
from kohort.testing.sync_groups import SyncAnyGroup

if TYPE_CHECKING:
    from kohort.control.explanation import Explanation
    from kohort.control.gates import Gates
    from kohort.control.group_members import GroupMember
    from kohort.control.numbers import Seconds
    from kohort.protocol.topic_partition import TopicPartition
    from kohort.testing.sync_faults import SyncFaults


class SyncProxyGroup(SyncAnyGroup, Protocol):
    """`ProxyGroup`, whose every word waits for its end."""

    @property
    def type(self) -> str:
        """`classic`, `consumer`, `share` or `streams`; empty where nothing was heard of such a group."""
        ...

    @property
    def generation(self) -> int:
        """The newest that an answer has said; of all groups but classic ones an epoch of a member. 0: none has."""
        ...

    @property
    def assignment_epoch(self) -> int:
        """As `generation`: that of the target is not seen."""
        ...

    @property
    def protocol(self) -> str:
        """The assignor of a classic group, once an answer has said it; else empty."""
        ...

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """Those that speak through the proxy, or that a leader there or the proxy itself was told of."""
        ...

    @property
    def coordinator(self) -> int | None:
        """The node that has answered for it last; None: that is not known."""
        ...

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """What was committed through the proxy, by topic and partition."""
        ...

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """How far the ends of the logs are from what was committed through the proxy, where both are known.

        The ends are asked for in the background, and at most once a second: what comes back may be a second old.
        """
        ...

    @property
    def is_settled(self) -> bool:
        """Whether everybody who is known has their share."""
        ...

    @property
    def is_caught_up(self) -> bool:
        """Whether there is a lag, and it is 0 everywhere."""
        ...

    def explain(self) -> Explanation:
        """Whom it waits for, what each client should do now, and where that is known from; print it."""
        ...

    def wait_caught_up(self, timeout: Seconds = PATIENCE_S) -> None:
        """Until there is a `lag`, and it is 0 everywhere. Raises TimeoutError, which says where it is not."""
        ...

    def wait_for_offset(self, topic: str, offset: int, partition: int = 0, timeout: Seconds = PATIENCE_S) -> None:
        """Until so much of a partition was committed through the proxy, or more. Raises TimeoutError."""
        ...

    def move_coordinator(self, node: int) -> NoReturn:
        """Not here. Raises ControlError."""
        ...

    def delete(self, timeout: Seconds = PATIENCE_S) -> NoReturn:
        """Not here. Raises ControlError."""
        ...

    def commit(self, *arguments: object, **options: object) -> NoReturn:
        """Not here. Raises ControlError."""
        ...


class SyncProxy(Protocol):
    """`Proxy`, whose every word waits for its end."""

    def on_forked(self) -> tuple[()]:
        """Let all calls fail in a forked child; its server closes the sockets."""
        ...

    @property
    def bootstrap(self) -> str:
        """What clients call `bootstrap.servers`."""
        ...

    def client_config(
        self, user: str = "alice", *, library: str = "confluent-kafka", mechanism: str = "SCRAM-SHA-512"
    ) -> dict[str, Any]:
        """What a client needs to come in, in the words of its `library`, as of `Cluster.client_config`.

        It is the address alone, whoever comes: clients speak plainly. A login that is passed on is theirs to add.
        """
        ...

    @property
    def nodes(self) -> list[int]:
        """The ids of the brokers that clients have heard of."""
        ...

    @property
    def faults(self) -> SyncFaults:
        """Rules that spoil requests."""
        ...

    def group(self, group_id: str) -> SyncProxyGroup:
        """A group, as far as its members speak through this proxy; asked for before it exists, or afterwards."""
        ...

    @property
    def groups(self) -> list[SyncProxyGroup]:
        """Those that have been heard of, by their ids."""
        ...

    @property
    def gates(self) -> Gates:
        """Stops at which requests wait for the test."""
        ...
