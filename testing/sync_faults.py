"""What `kafka.faults` is to a test that awaits nothing, for type checkers and editors; see sync.py.

Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Unpack

from kohort.control.faults.matching import ANY
from kohort.control.waiting import PATIENCE_S

if TYPE_CHECKING:
    from kohort.control.assignments import Change
    from kohort.control.faults.matching import MatchOptions
    from kohort.control.faults.rule_builder import When
    from kohort.control.numbers import Seconds


class SyncRule(Protocol):
    """`Rule`, whose every word waits for its end."""

    number: int
    "Counted from 1 in each cluster."

    @property
    def seen(self) -> int:
        """Matching requests so far."""
        ...

    @property
    def acted(self) -> int:
        """On how many of them it has acted."""
        ...

    @property
    def exhausted(self) -> bool:
        """Whether it will never act again."""
        ...

    @property
    def idle(self) -> str:
        """A sentence about a rule that has never acted on a request, though it could; empty: about any other."""
        ...

    def wait(self, times: int = 1, timeout: Seconds = PATIENCE_S) -> None:
        """Until it has acted so often, since it was made. Raises TimeoutError, which says how often it has."""
        ...

    def remove(self) -> None:
        """Ends it: what it holds goes on, what it has silenced is closed, what it delays still comes."""
        ...

    def __enter__(self) -> SyncRule: ...

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()
        ...


class SyncRuleBuilder(Protocol):
    """`RuleBuilder`, whose every word waits for its end."""

    def count(self, **when: Unpack[When]) -> SyncRule:
        """Count matching requests without changing them: see `Rule.acted` and `Rule.wait`. Other rules still apply."""
        ...

    def error(self, name: str, **when: Unpack[When]) -> SyncRule:
        """Return an error, given by Kafka's name; the broker does not receive the request."""
        ...

    def drop(self, **when: Unpack[When]) -> SyncRule:
        """Drop requests: the client gets no response on that connection until the rule ends and closes it."""
        ...

    def hold(self, **when: Unpack[When]) -> SyncRule:
        """Hold requests until the rule is removed. To release them one by one at a named point, use a gate."""
        ...

    def lose_response(self, **when: Unpack[When]) -> SyncRule:
        """Handle requests and drop the response and everything after it on that connection."""
        ...

    def close(self, **when: Unpack[When]) -> SyncRule:
        """Close the connection instead of handling the request."""
        ...

    def close_after_handling(self, **when: Unpack[When]) -> SyncRule:
        """Handle the request and close the connection without a response."""
        ...

    def truncate(self, length: int, **when: Unpack[When]) -> SyncRule:
        """Send only the first bytes of the response, including its length, and close the connection."""
        ...

    def delay(
        self, seconds: Seconds | None = None, jitter: Seconds = 0, *, until: str | None = None, **when: Unpack[When]
    ) -> SyncRule:
        """Delay requests by seconds of the broker's clock, plus up to `jitter` seconds, or until a condition.

        Args:
            until: A state of the request's group (`Stable`), a group event (`member_added`), or a gate point that one
                of its requests reaches (`join-complete`); the end of the rule ends the delay, too. See
                `kohort.control.conditions`.
        """
        ...

    def delay_response(
        self, seconds: Seconds | None = None, jitter: Seconds = 0, *, until: str | None = None, **when: Unpack[When]
    ) -> SyncRule:
        """Handle requests immediately and delay the response by a time or until a condition."""
        ...

    def hide_node(self, node: int, **when: Unpack[When]) -> SyncRule:
        """Omit a node from Metadata responses; its partitions appear without a leader."""
        ...

    def as_kafka(self, release: str, **when: Unpack[When]) -> SyncRule:
        """Return the ApiVersions response of an older release of Kafka, such as "2.8".

        Clients send one request per connection: add the rule before they connect. The broker's behaviour does not
        change; see `Cluster(as_kafka=…)` for that.
        """
        ...

    def stale_metadata(self, **when: Unpack[When]) -> SyncRule:
        """Return the leaders of this moment in Metadata responses, whatever moves later."""
        ...

    def zombie(self, **when: Unpack[When]) -> SyncRule:
        """Let a node that loses the group's coordination continue to answer for it until the rule ends.

        This applies to all groups of that partition of `__consumer_offsets`. See `kohort.control.zombies`.
        """
        ...

    def deny(
        self,
        operation: str = "All",
        *,
        topic: str | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        cluster: bool = False,
        **when: Unpack[When],
    ) -> SyncRule:
        """Deny the sender an operation, by Kafka's name (`Read`), on the named resource, or on everything.

        The broker rejects requests or hides resources as Kafka does without an ACL. No authorizer is required.
        """
        ...

    def assign(self, change: Change, **when: Unpack[When]) -> SyncRule:
        """Change the assignments of a SyncGroup request before the broker receives it.

        See `kohort.control.assignments`.
        """
        ...


class SyncFaults(Protocol):
    """`Faults`, whose every word waits for its end."""

    def on(self, api: str = ANY, **conditions: Unpack[MatchOptions]) -> SyncRuleBuilder:
        """Requests of one API, or of any, that meet all conditions; see `Match` for those.

        Say next what happens to them: `faults.on("Heartbeat", group="billing").drop(times=2)`. Raises ControlError for
        an API, condition or state that does not exist, naming the nearest that does.
        """
        ...

    def freeze(
        self, *, group: str, member: str | None = None, instance: str | None = None, client_id: str | None = None
    ) -> SyncRule:
        """A member falls silent without leaving, as a process that hangs: what it says of the group does not arrive.

        It does when the rule is removed, too late perhaps: so zombies are made.
        """
        ...

    def cut_off(self, client_id: str, node: int) -> SyncRule:
        """A client and a node no longer reach each other, on new connections neither, until the rule is removed."""
        ...

    def hide_node(self, node: int) -> SyncRule:
        """Metadata leaves a node out from now on: what it leads seems to have no leader. It goes on serving."""
        ...

    def stale_metadata(self) -> SyncRule:
        """From now on Metadata names who leads at this moment, whatever moves later."""
        ...

    def as_kafka(self, release: str, *, client_id: str = ANY) -> SyncRule:
        """Clients that connect from now on are offered the API versions of an older release of Kafka, as in "2.8"."""
        ...

    def zombie(self, *, group: str, node: int | None = None) -> SyncRule:
        """A node that loses a group's partition goes on answering for all groups of it: see `RuleBuilder.zombie`."""
        ...

    def remove(self, number: int) -> None:
        """Ends a rule. Raises NotFoundError."""
        ...

    def get(self, number: int) -> SyncRule:
        """The rule of that number. Raises NotFoundError."""
        ...

    def clear(self) -> None:
        """Ends all of them."""
        ...

    def __iter__(self) -> Iterator[SyncRule]: ...

    def __len__(self) -> int: ...
