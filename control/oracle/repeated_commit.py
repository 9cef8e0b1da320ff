"""A commit that a connection repeats with other offsets, and that only the oracle observes.

The oracle checks most of such a commit once. As long as owners, topics and stored offsets are the same ones, it then
compares only the offsets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kohort.control.exchange import Exchange

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.shortcuts import Repeated
    from kohort.broker.ticket import Ticket
    from kohort.control.exchange import Way
    from kohort.control.oracle.last_commits import LastCommit
    from kohort.control.oracle.safety import SafetyMonitor
    from kohort.storage.topic import Partition


class CheckedCommit:
    """A commit without violations, and the objects on which this depends."""

    __slots__ = ("basis", "last_commits", "partitions", "removals", "topics_version")

    def __init__(
        self,
        basis: object,
        topics_version: int,
        removals: int,
        partitions: list[Partition],
        last_commits: list[LastCommit],
    ) -> None:
        self.basis = basis  # the owners of partitions in the generation, or the current assignment of the member
        self.topics_version = topics_version
        self.removals = removals  # how often the oracle had removed offsets
        # in the order of the request
        self.partitions = partitions
        self.last_commits = last_commits

    def advance(self, offsets: tuple[int, ...]) -> bool:
        """Store the offsets, unless one is lower than before or beyond the end of its log. Return whether it did."""
        last_commits = self.last_commits
        for offset, last_commit, partition in zip(offsets, last_commits, self.partitions, strict=True):
            if offset < last_commit.offset or 0 < partition.log.log_end_offset < offset:
                return False
        for offset, last_commit in zip(offsets, last_commits, strict=True):
            last_commit.offset = offset
        return True


class RepeatedCommit(Exchange):
    """The exchange of a repeated commit.

    It is reused: a connection has one request at a time, so the next one only sets ticket, offsets and state.
    """

    __slots__ = ("_note_state", "_repeated", "checked", "oracle")

    def __init__(
        self,
        way: Way,
        node: Node,
        ticket: Ticket,
        oracle: SafetyMonitor,
        repeated: Repeated,
        note_state: Callable[[Exchange, Node], None],
    ) -> None:
        """Create it for a first commit.

        Args:
            note_state: Sets in an exchange the state of the group with which the oracle compares the response.
        """
        super().__init__(way, node, ticket.request, ticket)
        self._note_state = note_state
        self.oracle = oracle
        self.checked: CheckedCommit | None = None  # the last commit if it had no violation, else None
        self._repeated = repeated

    def handle(self, node: Node, request: Any, ticket: Ticket) -> Any:
        self.ticket = self.facts.ticket = ticket
        self.principal = self.connection.principal
        self.offsets = self._repeated.numbers
        ticket.requester = self
        self._note_state(self, node)
        return self._repeated.handle(node, request, ticket)

    def answer(self, ticket: Ticket, response: object) -> None:
        self.oracle.committed_again(self, response)
        self.connection.answer(ticket, response)
