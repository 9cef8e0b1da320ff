"""Splitting of a request with many independent partitions into several short requests.

Each chunk has a ticket of its own; the response is sent when all chunks have completed. A change in between (a leader,
a generation) affects the chunks that come after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kohort.broker.ticket import NO_REPLY, CloseConnection, Ticket

if TYPE_CHECKING:
    from kohort.broker.scheduling.cooperative import Task

NodeT = TypeVar("NodeT")

SHORT = 256  # maximum number of partitions handled at once: some milliseconds


def runs(topics: Sequence[Any], listed: str) -> Iterator[list[tuple[Any, tuple[Any, ...]]]]:
    """Yield runs of at most SHORT partitions, in order: lists of a topic and some of its partitions."""
    run: list[tuple[Any, tuple[Any, ...]]] = []
    room = SHORT
    for topic in topics:
        partitions = getattr(topic, listed)
        start = 0
        while start < len(partitions) or not partitions:
            piece = partitions[start : start + room]
            run.append((topic, piece))
            start += len(piece)
            room -= len(piece) or 1
            if room <= 0:
                yield run
                run, room = [], SHORT
            if not partitions:
                break
    if run:
        yield run


def in_chunks(
    node: NodeT,
    ticket: Ticket,
    requests: Iterator[Any],
    handle: Callable[[NodeT, Any, Ticket], Any],
    merge: Callable[[list[Any]], Any],
) -> Task[Any]:
    """Handle one request after the other, and respond with what `merge` returns for all their responses."""
    whole = _Whole(ticket, merge)
    for request in requests:
        chunk = _Chunk(ticket, whole)
        own = Ticket(
            chunk, ticket.api, request, ticket.version, ticket.correlation_id, ticket.client_id, ticket.received_at_ms
        )
        try:
            response = handle(node, request, own)
        except CloseConnection as reason:
            chunk.close(str(reason))
        else:
            if response is not None:
                chunk.keep(response)
        yield
    whole.complete = True
    return whole.outcome()


class _Whole:
    """The request that was split.

    It has no references to its chunks, only they to it: a cycle would stay in memory until the next full collection.
    """

    def __init__(self, ticket: Ticket, merge: Callable[[list[Any]], Any]) -> None:
        self.complete = False  # whether all chunks have been created
        self.reason: str | None = None
        self.answers: list[Any] = []  # one for each chunk, in order; None while it waits
        self._ticket = ticket
        self._merge = merge

    def outcome(self) -> Any:
        """Return what a handler returns; None while a chunk waits.

        Raises:
            CloseConnection: If a chunk's handler closes the connection.
        """
        if any(answer is None for answer in self.answers):
            return None
        if self.reason is not None:
            raise CloseConnection(self.reason)
        return NO_REPLY if NO_REPLY in self.answers else self._merge(self.answers)

    def answered(self) -> None:
        if not self.complete:
            return
        try:
            outcome = self.outcome()
        except CloseConnection as reason:
            self._ticket.close(str(reason))
            return
        self._ticket.conclude(outcome)


class _Chunk:
    """The requester of one chunk."""

    def __init__(self, ticket: Ticket, whole: _Whole) -> None:
        self.node_id = ticket.requester.node_id
        self.client_host, self.listener = ticket.client_host, ticket.listener
        self.principal, self.listener_name = ticket.principal, ticket.listener_name
        self.login = ticket.requester.login
        self.client_software = ticket.requester.client_software
        self._ticket = ticket
        self._whole = whole
        self._number = len(whole.answers)
        whole.answers.append(None)

    def keep(self, response: object) -> None:
        self._whole.answers[self._number] = response

    def answer(self, ticket: Ticket, response: object) -> None:
        self.keep(response)
        self._whole.answered()

    def answer_and_close(self, ticket: Ticket, response: object | None, reason: str) -> None:
        raise NotImplementedError("no login comes in chunks")

    def close(self, reason: str) -> None:
        """Close the connection at the end. The other chunks are handled all the same."""
        self._whole.reason = self._whole.reason or reason
        self.answer(self._ticket, NO_REPLY)

    def unpark(self) -> None:
        self.answer(self._ticket, NO_REPLY)

    def when_gone(self, action: Callable[[], object]) -> None:
        """Ignore the action: a request that changes something continues without its client."""

    def take_up(self, ticket: Ticket, steps: Task[Any]) -> None:
        raise NotImplementedError("a chunk is short")
