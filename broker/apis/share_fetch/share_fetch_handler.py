"""ShareFetch (key 78), versions 1-2: a member says what has become of records, and is given others.

v1 (KIP-932) · v2 how many records are acquired at most (KIP-1206), records may be held for longer (KIP-1222).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kohort.broker.apis.share_acknowledgements import Acknowledged, Acknowledging, fail, said_in
from kohort.broker.apis.share_fetch.share_reading import ACQUIRE_MODES, ReadPartition, ShareReading
from kohort.broker.apis.share_requests import SHORT, Leaders, by_topic, refusal_of
from kohort.broker.cluster.share_fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSession
from kohort.broker.ticket import CloseConnection
from kohort.coordinator.at_once import at_once
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_fetch import (
    AcquiredRecords,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from uuid import UUID

    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket

    Which = tuple[UUID | None, int]

_NONE: Final = ErrorCode.none


def handle(node: Node, request: ShareFetchRequest, ticket: Ticket) -> ShareFetchResponse | Task[Any] | None:
    """Answers with what can be acquired, or waits until there is enough. Errors of partitions are theirs alone."""
    refusal = refusal_of(node, request.group_id, request.member_id, ticket)
    if refusal is None and request.is_renew_ack and _asks_for_records(request):
        refusal = ErrorCode.invalid_request
    if refusal is not None:
        return error_response(request, refusal)
    session = _session(node, request, ticket)
    if session is ErrorCode.share_session_limit_reached:
        _refuse_later(node, request, ticket, session)
        return None
    if isinstance(session, ErrorCode):
        return error_response(request, session)
    if request.share_acquire_mode not in ACQUIRE_MODES:
        return error_response(request, ErrorCode.unknown_server_error)  # Kafka fails over it
    fetch = ShareFetch(node, request, ticket, session)
    steps = fetch.steps()
    return at_once(steps) if fetch.is_short else steps


def error_response(request: ShareFetchRequest, error_code: ErrorCode) -> ShareFetchResponse:
    """What a request hears that is not served."""
    return ShareFetchResponse(error_code=error_code)


def _asks_for_records(request: ShareFetchRequest) -> bool:
    """Whether a request that renews locks asks for more, which it must not."""
    return bool(request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms)


def _session(node: Node, request: ShareFetchRequest, ticket: Ticket) -> ShareSession | ErrorCode:
    """The member's session with what the request adds and forgets, or why there is none.

    Source: Kafka's `SharePartitionManager.newContext`.
    """
    sessions = node.led_share_partitions.sessions
    group_id, member_id = request.group_id or "", request.member_id or ""
    if request.share_session_epoch == INITIAL_EPOCH:
        if any(part.acknowledgement_batches for topic in request.topics for part in topic.partitions):
            return ErrorCode.invalid_request
        if ticket.origin.closed:
            raise CloseConnection("it is closed, and so would be a session of it")
        size = sum(len(topic.partitions) for topic in request.topics)
        opened = sessions.open(group_id, member_id, ticket.origin, size)
        if isinstance(opened, ShareSession):
            sessions.begin(opened, request.topics)
        return opened
    found = sessions.find(group_id, member_id, request.share_session_epoch)
    if isinstance(found, ShareSession) and request.share_session_epoch != FINAL_EPOCH:
        sessions.update(found, request.topics, request.forgotten_topics_data)
        found.end_epoch()
    return found


def _refuse_later(node: Node, request: ShareFetchRequest, ticket: Ticket, error: ErrorCode) -> None:
    """Answers an error when the request's time is up: whoever is refused at once would be back at once."""
    refusal = _LateRefusal(ticket, error_response(request, error), max(request.max_wait_ms, 0))
    ticket.when_gone(partial(node.cluster.purgatory.cancel, refusal))
    node.cluster.purgatory.wait(refusal)


class _LateRefusal(DelayedOperation):
    """An error on its way."""

    __slots__ = ("_response", "_ticket")

    def __init__(self, ticket: Ticket, response: ShareFetchResponse, wait_ms: int) -> None:
        super().__init__(ticket.received_at_ms + wait_ms)
        self._ticket = ticket
        self._response = response

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._ticket.reply(self._response)


class ShareFetch(DelayedOperation):
    """A share fetch, from its session to its answer: it waits for records, and for what it says to be written down."""

    __slots__ = (
        "_acknowledged",
        "_again",
        "_answer",
        "_fetched",
        "_handled",
        "_is_attempting",
        "_node",
        "_request",
        "_session",
        "_session_epoch",
        "_time_is_up",
        "reading",
        "ticket",
    )

    def __init__(self, node: Node, request: ShareFetchRequest, ticket: Ticket, session: ShareSession) -> None:
        super().__init__(ticket.received_at_ms + max(request.max_wait_ms, 0))
        self.ticket = ticket
        self._node = node
        self._request = request
        self._session = session
        self._session_epoch = session.epoch
        self.reading = ShareReading(node, request, ticket, session.group_id, session.member_id)
        self._acknowledged: dict[Which, Acknowledged] | None = None
        """What came of what the request says; None: not all of it is written down."""
        self._fetched = False
        self._handled = False
        """Whether its handler has returned: what comes then is a reply of its own."""
        self._answer: ShareFetchResponse | None = None
        self._is_attempting = self._again = False
        """Whether many partitions are being read, and whether something has happened since that began."""
        self._time_is_up = False

    @property
    def is_short(self) -> bool:
        """Whether it may be handled without a pause."""
        said = sum(len(part.acknowledgement_batches) for topic in self._request.topics for part in topic.partitions)
        return len(self._session.partitions) <= SHORT and said <= SHORT

    @property
    def _is_overtaken(self) -> bool:
        """Whether another request of the session has come meanwhile, or the session is over."""
        return self._session.closed or self._session.epoch != self._session_epoch

    def steps(self) -> Task[ShareFetchResponse | None]:
        """What is said is noted, then what there is is read. Yields where others may be served."""
        said = {which: batches for which, batches in said_in(self._request.topics).items() if batches}
        acknowledging = Acknowledging(
            self._node,
            self.ticket,
            self._session.group_id,
            self._session.member_id,
            renews=self._request.is_renew_ack,
            then=self._was_acknowledged,
        )
        yield from acknowledging.run(said)
        yield from self._begin()
        self._handled = True
        return self._answer

    def _begin(self) -> Task[None]:
        request, now_ms = self._request, self.ticket.received_at_ms
        if request.share_session_epoch == FINAL_EPOCH or request.is_renew_ack:
            self._was_fetched(now_ms)
            return
        if not request.max_bytes or not request.max_records:
            self.reading.look_up_errors(self._session.in_turn())
            self._was_fetched(now_ms)
            return
        for which in self._session.in_turn():
            self.reading.look_up((which,), now_ms)
            yield
        if self.reading.knows_all_topics and (yield from self._is_complete(now_ms)):
            self._was_fetched(now_ms)
        else:
            self._wait()

    def _is_complete(self, now_ms: int) -> Task[bool]:
        """Whether there is nothing to wait for."""
        reading = self.reading
        if reading.has_only_errors or (yield from reading.attempt(now_ms, final=False)):
            return True
        if self._request.max_wait_ms <= 0:
            return (yield from reading.attempt(now_ms, final=True))
        for known in reading.next_known():
            may_be_enough = not reading.is_long and reading.may_be_enough(known)
            if may_be_enough and (yield from reading.attempt(now_ms, final=False)):
                return True
        return reading.is_long and (yield from reading.attempt(now_ms, final=False))

    def _wait(self) -> None:
        cluster = self._node.cluster
        self.ticket.when_gone(partial(cluster.purgatory.cancel, self))
        cluster.hooks.fetch_waits(self)
        cluster.purgatory.wait(self, self.reading.keys() if self.reading.knows_all_topics else ())

    # While it waits

    def can_complete(self, now_ms: int) -> bool:
        """Whether there is enough now, which its member then holds. Many partitions are read in steps."""
        if self._is_overtaken:
            return False
        if self.reading.is_long:
            self._attempt_in_steps()
            return False
        return at_once(self.reading.attempt(now_ms, final=False))

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Answers with what made it complete, or with what there is when its time is up."""
        if not expired or self._is_overtaken or not self.reading.knows_all_topics:
            self._was_fetched(now_ms)
        elif self.reading.is_long:
            self._time_is_up = True
            self._attempt_in_steps()
        else:
            at_once(self.reading.attempt(now_ms, final=True))
            self._was_fetched(now_ms)

    def _attempt_in_steps(self) -> None:
        self._again = True
        if not self._is_attempting:
            self._is_attempting = True
            self.ticket.work_on(self._attempts())

    def _attempts(self) -> Task[ShareFetchResponse | None]:
        """Tries until nothing has happened meanwhile. None: it waits on."""
        cluster = self._node.cluster
        while self._again and not self._fetched:
            self._again = False
            now_ms = cluster.clock.now_ms()
            done = self._time_is_up
            if not self._is_overtaken:
                done = (yield from self.reading.attempt(now_ms, final=done)) or self._time_is_up
            if done:
                cluster.purgatory.cancel(self)
                self._handled = False
                self._was_fetched(now_ms)
                self._handled = True
        self._is_attempting = False
        return self._answer

    def abandon(self) -> None:
        """It has failed: its connection ends."""
        self.ticket.fail()

    # Its answer

    def _was_acknowledged(self, outcomes: dict[Which, Acknowledged], now_ms: int) -> None:
        if self._request.share_session_epoch == FINAL_EPOCH:
            self._node.led_share_partitions.close_session(self._session, now_ms)
        self._acknowledged = outcomes
        self._maybe_answer()

    def _was_fetched(self, now_ms: int) -> None:
        self._fetched = True
        self._maybe_answer()

    def _maybe_answer(self) -> None:
        if not self._fetched or self._acknowledged is None:
            return
        response = self._response(self._acknowledged)
        if self._handled:
            self.ticket.reply(response)
        else:
            self._answer = response

    def _response(self, acknowledged: dict[Which, Acknowledged]) -> ShareFetchResponse:
        if not self.reading.knows_all_topics or fail(acknowledged):
            return error_response(self._request, ErrorCode.unknown_server_error)  # Kafka fails over it (heard)
        lock_ms = self._node.cluster.group_configs.share_config(self._session.group_id).record_lock_duration_ms
        if self._request.share_session_epoch != FINAL_EPOCH and self._is_overtaken:
            error = ErrorCode.invalid_share_session_epoch
            return ShareFetchResponse(error_code=error, acquisition_lock_timeout_ms=lock_ms)
        leaders = Leaders(self._node, self.ticket)
        parts = self._parts(acknowledged, leaders)
        return ShareFetchResponse(
            error_code=_NONE,
            acquisition_lock_timeout_ms=lock_ms,
            responses=tuple(
                ShareFetchableTopicResponse(topic_id=topic_id, partitions=tuple(partitions))
                for topic_id, partitions in by_topic(parts).items()
            ),
            node_endpoints=leaders.endpoints,
        )

    def _parts(
        self, acknowledged: dict[Which, Acknowledged], leaders: Leaders
    ) -> list[tuple[UUID | None, PartitionData]]:
        """What is said of partitions: those with news, and those of which the request has said something."""
        left = dict(acknowledged)
        begins = self._request.share_session_epoch == INITIAL_EPOCH
        parts = []
        for each in self.reading.partitions:
            if not each.has_result:
                continue
            failed, has_records = each.error is not _NONE, bool(each.records)
            # The first answer leaves the session as it is, as in Kafka.
            is_news = begins or self._session.is_news(each.which, failed=failed, has_records=has_records)
            if is_news or each.which in left:
                parts.append((each.which[0], _data(each, left.pop(each.which, None), leaders)))
        for which, outcome in left.items():
            nothing = ReadPartition(which, None, None, _NONE)
            parts.append((which[0], _data(nothing, outcome, leaders)))
        return parts


def _data(each: ReadPartition, said: Acknowledged | None, leaders: Leaders) -> PartitionData:
    error = each.error if each.error is not _NONE or said is None else said.error_code
    return PartitionData(
        partition_index=each.which[1],
        error_code=each.error,
        acknowledge_error_code=0 if said is None else int(said.error_code),
        acknowledge_error_message=None if said is None else said.message,
        current_leader=leaders.of(each.which, error),
        records=each.records if each.error is _NONE else (),
        acquired_records=tuple(
            AcquiredRecords(
                first_offset=entry.first_offset, last_offset=entry.last_offset, delivery_count=entry.delivery_count
            )
            for entry in each.acquired or ()
        ),
    )
