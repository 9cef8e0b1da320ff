"""ShareFetch (key 78), versions 1-2: a member acknowledges records and acquires others.

v1 (KIP-932) · v2 acquire modes (KIP-1206), renewal of locks (KIP-1222).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kohort.broker.apis.share_acknowledgements import Acknowledged, Acknowledging, read_acknowledgements
from kohort.broker.apis.share_fetch.share_reading import ACQUIRE_MODES, ReadPartition, ShareReading
from kohort.broker.apis.share_requests import Leaders, refusal_of, reply_in_steps, topic_responses
from kohort.broker.cluster.share_fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSession
from kohort.broker.scheduling.cooperative import begin
from kohort.broker.ticket import CloseConnection
from kohort.coordinator.pace import Pace
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

    TopicIdPartition = tuple[UUID | None, int]

_NONE: Final = ErrorCode.none


def handle(node: Node, request: ShareFetchRequest, ticket: Ticket) -> ShareFetchResponse | Task[Any] | None:
    """Acknowledge and acquire records, or wait until enough are available. Partitions fail individually."""
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
    return begin(_steps(node, request, ticket, session))


def _steps(
    node: Node, request: ShareFetchRequest, ticket: Ticket, session: ShareSession
) -> Task[ShareFetchResponse | None]:
    fetch = ShareFetch(node, request, ticket, session)
    if request.share_session_epoch != FINAL_EPOCH:
        is_new = request.share_session_epoch == INITIAL_EPOCH
        forgotten = () if is_new else request.forgotten_topics_data
        sessions = node.led_share_partitions.sessions
        _note_partitions_without_topic(node, request, session)
        error = yield from sessions.update(session, request.topics, forgotten, is_new=is_new)
        if error is not _NONE:
            _refuse_later(node, request, ticket, error)
            return None
    if request.share_acquire_mode not in ACQUIRE_MODES:
        return error_response(request, ErrorCode.unknown_server_error)  # as in Kafka, which raises
    return (yield from fetch.steps())


def error_response(request: ShareFetchRequest, error_code: ErrorCode) -> ShareFetchResponse:
    return ShareFetchResponse(error_code=error_code)


def _asks_for_records(request: ShareFetchRequest) -> bool:
    """Return whether a request that renews locks also requests records, which is invalid."""
    return bool(request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms)


def _session(node: Node, request: ShareFetchRequest, ticket: Ticket) -> ShareSession | ErrorCode:
    """Return the member's session, or the error. Source: Kafka's `SharePartitionManager.newContext`."""
    sessions = node.led_share_partitions.sessions
    group_id, member_id = request.group_id or "", request.member_id or ""
    if request.share_session_epoch == INITIAL_EPOCH:
        if any(part.acknowledgement_batches for topic in request.topics for part in topic.partitions):
            return ErrorCode.invalid_request
        if ticket.origin.closed:
            raise CloseConnection("the connection is closed")
        return sessions.open(group_id, member_id, ticket.origin)
    session = sessions.find(group_id, member_id, request.share_session_epoch)
    if isinstance(session, ShareSession) and request.share_session_epoch != FINAL_EPOCH:
        session.end_epoch()
    return session


def _note_partitions_without_topic(node: Node, request: ShareFetchRequest, session: ShareSession) -> None:
    """Note partitions of unknown topics when they are added to a session. If it is deleted later, the error differs."""
    for topic in request.topics:
        if node.cluster.topics.by_id(topic.topic_id) is None:
            added = ((topic.topic_id, part.partition_index) for part in topic.partitions)
            session.without_topic.update(partition for partition in added if partition not in session.partitions)


def _refuse_later(node: Node, request: ShareFetchRequest, ticket: Ticket, error: ErrorCode) -> None:
    """Send an error when the request's wait time is up, because an immediate error would be retried immediately."""
    refusal = _LateRefusal(ticket, error_response(request, error), max(request.max_wait_ms, 0))
    ticket.when_gone(partial(node.cluster.purgatory.cancel, refusal))
    node.cluster.purgatory.wait(refusal)


class _LateRefusal(DelayedOperation):
    """A delayed error response."""

    __slots__ = ("_response", "_ticket")

    def __init__(self, ticket: Ticket, response: ShareFetchResponse, wait_ms: int) -> None:
        super().__init__(ticket.received_at_ms + wait_ms)
        self._ticket = ticket
        self._response = response

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._ticket.reply(self._response)


class ShareFetch(DelayedOperation):
    """A share fetch, from session to response: waits for records, and until its acknowledgements are written."""

    __slots__ = (
        "_acknowledged",
        "_activity_since",
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
        self.reading = ShareReading(node, request, ticket, session)
        # results of the acknowledgements, or None until all are written
        self._acknowledged: dict[TopicIdPartition, Acknowledged] | None = None
        self._fetched = False
        self._handled = False  # whether the handler has returned, so that the response is sent through the ticket
        self._answer: Task[ShareFetchResponse] | None = None
        # whether an attempt takes several slices, and whether another event has happened since it began
        self._is_attempting = self._activity_since = False
        self._time_is_up = False

    @property
    def _is_overtaken(self) -> bool:
        """Whether the session has received another request or was closed."""
        return self._session.closed or self._session.epoch != self._session_epoch

    def steps(self) -> Task[ShareFetchResponse | None]:
        """Handle acknowledgements, then read. Yields between slices."""
        pace = Pace()
        acks = yield from read_acknowledgements(self._request.topics, pace)
        acks = {topic_partition: batches for topic_partition, batches in acks.items() if batches}
        acknowledging = Acknowledging(
            self._node,
            self.ticket,
            self._session.group_id,
            self._session.member_id,
            renews=self._request.is_renew_ack,
            on_acknowledged=self._was_acknowledged,
        )
        if not (yield from acknowledging.run(acks, pace)):
            return error_response(self._request, ErrorCode.unknown_server_error)
        yield from self._begin(pace)
        self._handled = True
        return None if self._answer is None else (yield from self._answer)

    def _begin(self, pace: Pace) -> Task[None]:
        request, now_ms = self._request, self.ticket.received_at_ms
        if request.share_session_epoch == FINAL_EPOCH or request.is_renew_ack:
            self._was_fetched(now_ms)
            return
        if not request.max_bytes or not request.max_records:
            yield from self.reading.look_up_errors(list(self._session.partitions), pace)
            self._was_fetched(now_ms)
            return
        yield from self.reading.look_up(list(self._session.partitions), self._session_epoch, now_ms, pace)
        if self.reading.knows_all_topics and (yield from self._is_complete(now_ms, pace)):
            self._was_fetched(now_ms)
        else:
            self._wait()

    def _is_complete(self, now_ms: int, pace: Pace) -> Task[bool]:
        """Return whether the fetch need not wait."""
        reading = self.reading
        if reading.has_only_errors or (yield from reading.attempt(now_ms, final=False)):
            return True
        if self._request.max_wait_ms <= 0:
            return (yield from reading.attempt(now_ms, final=True))
        for part in reading.next_known():
            # Each attempt processes all partitions.
            if not reading.is_short or not reading.may_be_enough(part):
                reading.pass_over(part)
            elif (yield from reading.attempt(now_ms, final=False)):
                return True
            if pace.add():
                yield
        return not reading.is_short and (yield from reading.attempt(now_ms, final=False))

    def _wait(self) -> None:
        cluster = self._node.cluster
        self.ticket.when_gone(partial(cluster.purgatory.cancel, self))
        cluster.hooks.fetch_waits(self)
        cluster.purgatory.wait(self, self.reading.keys() if self.reading.knows_all_topics else ())

    # While it waits

    def can_complete(self, now_ms: int) -> bool:
        """Acquire records, if there are enough. Return whether the fetch is complete.

        An attempt that takes several slices completes the fetch itself.
        """
        return not self._is_overtaken and self._attempt(now_ms)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        if not expired or self._is_overtaken or not self.reading.knows_all_topics:
            self._was_fetched(now_ms)
            return
        self._time_is_up = True
        if self._attempt(now_ms):
            self._was_fetched(now_ms)

    def _attempt(self, now_ms: int) -> bool:
        if self._is_attempting:
            self._activity_since = True
            return False
        steps = self.reading.attempt(now_ms, final=self._time_is_up)
        outcome = begin(steps)
        if isinstance(outcome, bool):
            return outcome
        self._is_attempting = True
        self.ticket.work_on(self._attempts(steps))
        return False

    def _attempts(self, steps: Task[bool]) -> Task[ShareFetchResponse | None]:
        """Finish an attempt, and repeat it until nothing happens meanwhile.

        Return None if the fetch continues to wait.
        """
        cluster = self._node.cluster
        while True:
            is_complete = (yield from steps) or self._time_is_up
            if self._fetched:
                break
            if is_complete:
                cluster.purgatory.cancel(self)
                self._handled = False
                self._was_fetched(cluster.clock.now_ms())
                self._handled = True
                break
            if not self._activity_since or self._is_overtaken:
                break
            self._activity_since = False
            steps = self.reading.attempt(cluster.clock.now_ms(), final=False)
        self._is_attempting = False
        return None if self._answer is None else (yield from self._answer)

    def abandon(self) -> None:
        self.ticket.fail()

    # The response

    def _was_acknowledged(self, outcomes: dict[TopicIdPartition, Acknowledged], now_ms: int) -> None:
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
            reply_in_steps(self.ticket, response)
        else:
            self._answer = response

    def _response(self, acknowledged: dict[TopicIdPartition, Acknowledged]) -> Task[ShareFetchResponse]:
        if not self.reading.knows_all_topics:
            return error_response(self._request, ErrorCode.unknown_server_error)  # as in Kafka, which raises (observed)
        lock_ms = self._node.cluster.group_configs.share_config(self._session.group_id).record_lock_duration_ms
        if self._request.share_session_epoch != FINAL_EPOCH and self._is_overtaken:
            error = ErrorCode.invalid_share_session_epoch
            return ShareFetchResponse(error_code=error, acquisition_lock_timeout_ms=lock_ms)
        leaders, pace = Leaders(self._node, self.ticket), Pace()
        topics = yield from self._parts(acknowledged, leaders, pace)
        return ShareFetchResponse(
            error_code=_NONE,
            acquisition_lock_timeout_ms=lock_ms,
            responses=(yield from topic_responses(topics, ShareFetchableTopicResponse, pace)),
            node_endpoints=leaders.endpoints,
        )

    def _parts(
        self, acknowledged: dict[TopicIdPartition, Acknowledged], leaders: Leaders, pace: Pace
    ) -> Task[dict[UUID | None, list[PartitionData]]]:
        """Return the partitions with news or acknowledgements."""
        unreported = dict(acknowledged)
        begins = self._request.share_session_epoch == INITIAL_EPOCH
        topics: dict[UUID | None, list[PartitionData]] = {}
        for part in self.reading.partitions:
            if pace.add():
                yield
            if not part.has_result:
                continue
            failed, has_records = part.error is not _NONE, bool(part.records)
            # The first response does not change the session, as in Kafka.
            is_news = begins or self._session.is_news(part.topic_partition, failed=failed, has_records=has_records)
            if is_news or part.topic_partition in unreported:
                data = yield from _data(part, unreported.pop(part.topic_partition, None), leaders, pace)
                topics.setdefault(part.topic_partition[0], []).append(data)
        for topic_partition, outcome in unreported.items():
            nothing = ReadPartition(topic_partition, None, None, _NONE)
            topics.setdefault(topic_partition[0], []).append((yield from _data(nothing, outcome, leaders, pace)))
            if pace.add():
                yield
        return topics


def _data(part: ReadPartition, acknowledged: Acknowledged | None, leaders: Leaders, pace: Pace) -> Task[PartitionData]:
    error = part.error if part.error is not _NONE or acknowledged is None else acknowledged.error_code
    acquired = []
    for first, last, count in part.acquired or ():
        acquired.append(AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count))
        if pace.add():
            yield
    return PartitionData(
        partition_index=part.topic_partition[1],
        error_code=part.error,
        acknowledge_error_code=0 if acknowledged is None else int(acknowledged.error_code),
        acknowledge_error_message=None if acknowledged is None else acknowledged.message,
        current_leader=leaders.of(part.topic_partition, error),
        records=part.records if part.error is _NONE else (),
        acquired_records=tuple(acquired),
    )
