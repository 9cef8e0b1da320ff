"""Fetch (key 1), versions 4 to 18.

v4 isolation level (KIP-98) · v5 the log's start (KIP-107) · v6 as v5 · v7 sessions (KIP-227) · v8 as v7 · v9 leader
epochs (KIP-320) · v10 zstd (KIP-110) · v11 racks (KIP-392) · v12 tagged fields, diverging epochs (KIP-595) · v13 topics
by id (KIP-516) · v14 tiered storage (KIP-405) · v15 replica state (KIP-903) · v16 new leaders (KIP-951) ·
v17 directory ids (KIP-853) · v18 followers send their high watermark (KIP-1166).

Left out: what only followers use: replica ids, high watermarks, sessions that evict others' sooner.
Replicas nearby are never named (one copy).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.broker.apis.fetch.fetch_answers import refused
from kohort.broker.apis.fetch.reading import PlainReading, Reading, SessionReading
from kohort.broker.cluster.fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, TOPIC_IDS_FROM, FetchSession
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket

ISOLATION_LEVELS = (0, 1)


def handle(node: Node, request: FetchRequest, ticket: Ticket) -> FetchResponse | Task[Any] | None:
    """Answers with what there is, or waits until there is enough."""
    now_ms = ticket.received_at_ms
    if request.session_epoch == FINAL_EPOCH and request.session_id == NO_SESSION:
        reading: Reading = PlainReading(node, request, ticket)
    else:
        found = _reading(node, request, ticket)
        if isinstance(found, ErrorCode):
            if found is ErrorCode.unknown_server_error:
                return error_response(request, found, ticket.version)
            return FetchResponse(error_code=found, responses=())
        reading = found
    fetch = DelayedFetch(reading, now_ms + max(request.max_wait_ms, 0))
    if reading.is_long:
        return _in_steps(node, request, fetch)
    reading.look_at_once()
    if request.isolation_level not in ISOLATION_LEVELS and reading.keys():
        return error_response(request, ErrorCode.unknown_server_error, ticket.version)  # Kafka fails over it
    reading.read_at_once()
    return None if _waits(node, request, fetch) else reading.response(now_ms)


def _in_steps(node: Node, request: FetchRequest, fetch: DelayedFetch) -> Task[Any]:
    reading, ticket = fetch.reading, fetch.reading.ticket
    yield from reading.look()
    if request.isolation_level not in ISOLATION_LEVELS and reading.keys():
        return error_response(request, ErrorCode.unknown_server_error, ticket.version)
    yield from reading.read()
    return None if _waits(node, request, fetch) else (yield from reading.respond(ticket.received_at_ms))


def _waits(node: Node, request: FetchRequest, fetch: DelayedFetch) -> bool:
    """Let a fetch wait that has not read enough. Return whether it does."""
    reading, ticket = fetch.reading, fetch.reading.ticket
    keys = [] if reading.is_enough or request.max_wait_ms <= 0 else reading.keys()
    if not keys:
        return False
    reading.forget()
    ticket.when_gone(partial(node.cluster.purgatory.cancel, fetch))
    node.cluster.hooks.fetch_waits(fetch)
    node.cluster.purgatory.wait(fetch, keys)
    return True


def _reading(node: Node, request: FetchRequest, ticket: Ticket) -> Reading | ErrorCode:
    """What a request with a session means, or why it is refused. Source: Kafka's `FetchManager.newContext`."""
    sessions = node.fetch_sessions
    by_id = ticket.version >= TOPIC_IDS_FROM
    if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        refusal = sessions.remove(request.session_id)
        if refusal:
            return refusal
        if request.session_epoch == FINAL_EPOCH:
            return PlainReading(node, request, ticket)
        session = FetchSession(by_id=by_id)
        session.update(request)
        return SessionReading(node, request, ticket, session, begins=True)
    found = sessions.find(request.session_id, request.session_epoch, by_id=by_id)
    if isinstance(found, ErrorCode):
        return found
    found.update(request)
    if not found.partitions:
        sessions.remove(found.id)
        return PlainReading(node, request, ticket)
    sessions.use(found, ticket.received_at_ms)
    found.end_epoch()
    return SessionReading(node, request, ticket, found, begins=False)


def error_response(request: FetchRequest, error_code: ErrorCode, version: int = 0) -> FetchResponse:
    """The answer to a fetch that failed: with topics where the version names them (`FetchRequest.getErrorResponse`).

    Called without a version. Then topics are there: clients before version 7 look at nothing else.
    """
    return FetchResponse(
        error_code=error_code,
        session_id=request.session_id,
        responses=tuple(
            FetchableTopicResponse(
                topic=asked.topic, partitions=tuple(refused(part, error_code, ()) for part in asked.partitions)
            )
            for asked in (request.topics if version < TOPIC_IDS_FROM else ())
        ),
    )


class DelayedFetch(DelayedOperation):
    """A fetch that waits for its `min_bytes`, or for something to be wrong.

    One of many partitions reads them when it is its connection's turn: a record that is appended wakes all who wait.
    """

    __slots__ = ("_again", "_is_being_read", "_time_is_up", "reading")

    def __init__(self, reading: Reading, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.reading = reading
        self._is_being_read = self._again = False
        """Whether the partitions are being read, and whether something was appended since that began."""
        self._time_is_up = False

    def can_complete(self, now_ms: int) -> bool:
        """Whether there is enough now. What was read is let go of otherwise: who waits holds offsets only."""
        reading = self.reading
        if not reading.may_be_enough:
            return False
        if reading.is_long:
            self._read_in_steps()
            return False
        reading.read_at_once()
        if not reading.is_enough:
            reading.forget()
        return reading.is_enough

    def abandon(self) -> None:
        """It has failed: its connection ends."""
        self.reading.ticket.fail()

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Answers with what made it complete, or with what there is when the time is up."""
        reading = self.reading
        if reading.is_long:
            self._time_is_up = True
            self._read_in_steps()
            return
        if reading.forgotten:
            reading.read_at_once()
        reading.ticket.reply(reading.response(now_ms))

    def _read_in_steps(self) -> None:
        self._again = True
        if not self._is_being_read:
            self._is_being_read = True
            self.reading.ticket.work_on(self._steps())

    def _steps(self) -> Task[FetchResponse | None]:
        """Reads until nothing has been appended meanwhile. None: it waits on."""
        reading, cluster = self.reading, self.reading.node.cluster
        while self._again:
            self._again = False
            yield from reading.read()
            if self._time_is_up or reading.is_enough:
                cluster.purgatory.cancel(self)
                return (yield from reading.respond(cluster.clock.now_ms()))
            reading.forget()
        self._is_being_read = False
        return None
