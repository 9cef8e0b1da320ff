"""Fetch (key 1), versions 4 to 18.

v4 isolation level (KIP-98) · v5 the log's start (KIP-107) · v6 as v5 · v7 sessions (KIP-227) · v8 as v7 · v9 leader
epochs (KIP-320) · v10 zstd (KIP-110) · v11 racks (KIP-392) · v12 tagged fields, diverging epochs (KIP-595) · v13 topics
by id (KIP-516) · v14 tiered storage (KIP-405) · v15 replica state (KIP-903) · v16 new leaders (KIP-951) ·
v17 directory ids (KIP-853) · v18 followers send their high watermark (KIP-1166).

Not supported: fields of followers, which are replica ids, high watermarks and precedence in the cache of sessions.
Preferred read replicas are never returned, because there is one copy.
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
    """Return the available records, or park the request until there are enough."""
    now_ms = ticket.received_at_ms
    if request.session_epoch == FINAL_EPOCH and request.session_id == NO_SESSION:
        reading: Reading = PlainReading(node, request, ticket)
    else:
        outcome = _reading(node, request, ticket)
        if isinstance(outcome, ErrorCode):
            if outcome is ErrorCode.unknown_server_error:
                return error_response(request, outcome, ticket.version)
            return FetchResponse(error_code=outcome, responses=())
        reading = outcome
    fetch = DelayedFetch(reading, now_ms + max(request.max_wait_ms, 0))
    if reading.is_long:
        return _in_steps(node, request, fetch)
    reading.look_at_once()
    if request.isolation_level not in ISOLATION_LEVELS and reading.keys():
        return error_response(request, ErrorCode.unknown_server_error, ticket.version)  # as in Kafka, which raises
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
    """Let a fetch wait that has not read enough. Return whether it waits."""
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
    """Return the partitions to read for a request with a session, or the error.

    Source: Kafka's `FetchManager.newContext`.
    """
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
    cached_session = sessions.find(request.session_id, request.session_epoch, by_id=by_id)
    if isinstance(cached_session, ErrorCode):
        return cached_session
    cached_session.update(request)
    if not cached_session.partitions:
        sessions.remove(cached_session.id)
        return PlainReading(node, request, ticket)
    sessions.use(cached_session, ticket.received_at_ms)
    cached_session.end_epoch()
    return SessionReading(node, request, ticket, cached_session, begins=False)


def error_response(request: FetchRequest, error_code: ErrorCode, version: int = 0) -> FetchResponse:
    """Return the response for a failed fetch, with topics if its version has names (`FetchRequest.getErrorResponse`).

    Without a version, topics are included, because clients before version 7 read only their errors.
    """
    return FetchResponse(
        error_code=error_code,
        session_id=request.session_id,
        responses=tuple(
            FetchableTopicResponse(
                topic=topic.topic, partitions=tuple(refused(part, error_code, ()) for part in topic.partitions)
            )
            for topic in (request.topics if version < TOPIC_IDS_FROM else ())
        ),
    )


class DelayedFetch(DelayedOperation):
    """A fetch that waits for `min_bytes`, or for an error.

    If it has many partitions, it reads them in a turn of its connection, because one append wakes all waiting fetches.
    """

    __slots__ = ("_has_appends", "_is_being_read", "_time_is_up", "reading")

    def __init__(self, reading: Reading, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.reading = reading
        # whether a read is in progress, and whether records were appended since it began
        self._is_being_read = self._has_appends = False
        self._time_is_up = False

    def can_complete(self, now_ms: int) -> bool:
        """Return whether there is enough now. If not, records are dropped: a waiting fetch keeps only offsets."""
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
        self.reading.ticket.fail()

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        reading = self.reading
        if reading.is_long:
            self._time_is_up = True
            self._read_in_steps()
            return
        if reading.forgotten:
            reading.read_at_once()
        reading.ticket.reply(reading.response(now_ms))

    def _read_in_steps(self) -> None:
        self._has_appends = True
        if not self._is_being_read:
            self._is_being_read = True
            self.reading.ticket.work_on(self._steps())

    def _steps(self) -> Task[FetchResponse | None]:
        """Read until nothing was appended meanwhile. Return None if the fetch continues to wait."""
        reading, cluster = self.reading, self.reading.node.cluster
        while self._has_appends:
            self._has_appends = False
            yield from reading.read()
            if self._time_is_up or reading.is_enough:
                cluster.purgatory.cancel(self)
                return (yield from reading.respond(cluster.clock.now_ms()))
            reading.forget()
        self._is_being_read = False
        return None
