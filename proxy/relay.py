"""Requests and responses of one client connection and its connection to a node: bytes in, bytes out.

Requests pass unchanged. Each is noted, so that its response is recognized: a broker responds in the order of the
requests. Only responses with addresses (`answer_rewriting.py`) and offered versions (`narrowing.py`) are changed. The
relay has no socket and no clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from struct import Struct, error
from typing import Final

from kohort.protocol.errors import DecodeError
from kohort.protocol.headers import RequestHeader, read_header
from kohort.protocol.wire import INT, SHORT
from kohort.proxy.addressed_apis import passable
from kohort.proxy.answer_layout import layout_of
from kohort.proxy.answer_rewriting import (
    STREAMED_FROM,
    AddressedAnswer,
    AnswerInHand,
    HeldAnswer,
    Nodes,
    Pieces,
    StreamedAnswer,
    WholeAnswer,
)
from kohort.proxy.login_seen import FIRST_FLEXIBLE, LoginSeen, message_in
from kohort.proxy.narrowing import narrowed
from kohort.proxy.produce_acks import acks
from kohort.proxy.raw_login import RawLogin, mechanism_in
from kohort.proxy.received import Received
from kohort.proxy.relay_error import RelayError
from kohort.proxy.relayed_requests import NOT_KAFKA, TOKEN, Inspected, Pending
from kohort.proxy.tap import Line, copy_filter

PRODUCE: Final = 0
SASL_HANDSHAKE: Final = 17
API_VERSIONS: Final = 18
SASL_AUTHENTICATE: Final = 36
LOGIN: Final = (SASL_HANDSHAKE, SASL_AUTHENTICATE)

HEAD_BYTES: Final = 72 << 10  # more than the size of a header and of the fields before `acks` in a Produce request

INSPECTED_BYTES: Final = 1 << 20  # larger requests pass regardless of rules and listeners

BEFORE_LOGIN_BYTES: Final = 512 << 10
"""The same limit until the client has sent a request outside of a login, because brokers then accept no larger one."""

MAX_UNANSWERED: Final = 1_024
"""Most requests of one connection that wait for responses. Beyond that the client is not read until half are answered.
Brokers handle the requests of a connection one by one, and librdkafka is the only client that sends hundreds ahead."""

MAX_KEPT_BYTES: Final = 1 << 20
"""Most bytes that a listener keeps of a connection's unanswered requests. The last of them may exceed it."""

MAX_SLICE: Final = 64
"""Most requests or responses in one slice (`Relay.requests`). Those that are read count more, by their size."""

_READ_WEIGHT: Final = 8
_BYTES_PER_WEIGHT: Final = 256

_ANSWER_HEAD: Final = Struct(">ii")


def _nothing(header: RequestHeader) -> bool:
    return False


class Relay:
    """Connection of one client to one node.

    It holds at most the head of a request, and what is inspected or observed.
    """

    def __init__(
        self,
        nodes: Nodes,
        inspects: Callable[[RequestHeader], bool] = _nothing,
        line: Line | None = None,
        login_seen: LoginSeen | None = None,
    ) -> None:
        """Set up a relay.

        Args:
            inspects: Return whether a request must be inspected before it passes.
            line: Receives the observed requests and responses.
        """
        self._nodes = nodes
        self._login_seen = LoginSeen() if login_seen is None else login_seen
        self._inspects = inspects
        self._line = line
        self.inspected: Inspected | None = None  # requests after it are not read before `release`
        self._held_up = False
        self._inspected_bytes = BEFORE_LOGIN_BYTES
        self._pending: deque[Pending] = deque()
        self._login: RawLogin | None = None
        self._kept_bytes = 0  # of unanswered requests, for listeners
        self._is_full = False  # whether requests wait until some are answered: MAX_UNANSWERED, MAX_KEPT_BYTES
        self._received = Received()  # from the client
        self._early = 0  # bytes at the start of `_received` that the node has already
        self._request_left = 0  # bytes of the current request still to come
        self._responses = Received()  # from the node
        self._answer_left = 0
        self._answer: AnswerInHand | None = None  # the current response, if it is inspected

    @property
    def waiting(self) -> int:
        """Number of requests without a response."""
        return len(self._pending)

    @property
    def blocked(self) -> bool:
        """Whether requests are held until a response arrives."""
        return self.inspected is not None or self._is_full or (self._held_up and bool(self._pending))

    @property
    def has_more_requests(self) -> bool:
        """Whether another slice of requests can be processed now."""
        return self._received.is_due and not self.blocked

    @property
    def has_more_answers(self) -> bool:
        """Whether another slice of responses can be processed now."""
        return self._responses.is_due

    @property
    def held_bytes(self) -> int:
        """Number of bytes from the client that have not been processed."""
        return len(self._received)

    def close(self) -> None:
        self._received, self._responses = Received(), Received()
        self._pending.clear()
        self._answer = None

    # From the client

    def keep_requests(self, data: bytes) -> None:
        """Add bytes from the client for a later call of `requests`."""
        self._received.add(data)
        self._received.is_due = self._received.is_enough

    def requests(self, data: bytes) -> Pieces:
        """Return what the node receives of the first slice of the client's bytes.

        While `has_more_requests`, call it again with no bytes for the next slice. A slice ends after MAX_SLICE
        requests, after a request that a listener reads, and where the connection is `blocked`.

        Raises:
            RelayError: The connection must be closed.
        """
        received = self._received
        if self._request_left >= len(data) > 0:  # nothing is kept then
            self._request_left -= len(data)
            return [data]
        first, slice_left = 0, MAX_SLICE
        if received.data or self.blocked:
            received.add(data)
            if self.blocked or not received.is_enough:
                return []
            data, first, self._held_up = *received.take(), False
        start, self._early = first + self._early, 0  # where the bytes begin that the node does not have
        at, end = first + self._request_left, len(data)
        while end - at >= INT.size:
            if slice_left <= 0 or self._has_reached_limit():
                received.is_due = True
                break
            (size,) = INT.unpack_from(data, at)
            kept_bytes = self._kept_bytes
            if not self._note(data, at + INT.size, size):
                break
            slice_left -= _weight(self._kept_bytes - kept_bytes)
            at += INT.size + size
        if at >= end:
            self._request_left = at - end
            return [memoryview(data)[start:] if start else data] if end > start else []
        self._request_left = 0
        received.put_back(data, passed := at)
        if not received.is_due and end - at >= INT.size and INT.unpack_from(data, at)[0] > self._inspected_bytes:
            passed, self._early = end, end - at  # it passes in any case; the broker may reject it as too large
        return [memoryview(data)[start:passed]] if passed > start else []

    def _has_reached_limit(self) -> bool:
        self._is_full = len(self._pending) >= MAX_UNANSWERED or self._kept_bytes >= MAX_KEPT_BYTES
        return self._is_full

    def _note(self, data: bytes, start: int, size: int) -> bool:
        """Note the request whose header begins at `start`. Return false if more of it must arrive first."""
        if size < 0 or (size > HEAD_BYTES and bytes(data[start - 4 : start - 1]) in NOT_KAFKA):
            raise RelayError(NOT_KAFKA.get(bytes(data[start - 4 : start - 1]), f"a request of {size} bytes"))
        head = memoryview(data)[start : min(start + min(size, HEAD_BYTES), len(data))]
        whole = len(head) == min(size, HEAD_BYTES)
        if self._login is not None:
            if not whole:
                return False
            if self._login.takes(head):
                self._login_seen.on_message(bytes(head))
                self._pending.append(TOKEN)
                return True
            self._login = None
        try:
            header = read_header(data, start)
            expects = header.api_key != PRODUCE or acks(data, header) != 0
        except (DecodeError, IndexError) as failure:
            if whole:
                raise RelayError(f"unreadable request: {failure}") from None
            return False
        if header.api_key in LOGIN and not whole:
            return False
        if size <= self._inspected_bytes and self._inspects(header):
            return self._inspect(header, data, start, size, expects)
        listens = self._line is not None and size <= self._inspected_bytes and self._line.wants(header.api_key)
        if listens and len(data) < start + size:
            self._received.needed = INT.size + size
            return False
        self._check(header, head, start)
        observed, kept_bytes = None, 0
        if listens and self._line is not None:
            observed = self._line.on_request(_within(header, start), data[start - INT.size : start + size], expects)
            kept_bytes = size if expects else 0
            self._kept_bytes += kept_bytes
        if expects:
            self._pending.append(
                Pending(header.api_key, header.api_version, header.correlation_id, None, observed, kept_bytes)
            )
        return True

    def _inspect(self, header: RequestHeader, data: bytes, start: int, size: int, expects: bool) -> bool:
        """Stop at a request that a rule or a gate may take, once it is complete and all before it have responses."""
        if self._pending:
            self._held_up = self._received.is_due = True
        elif len(data) >= start + size:
            frame = data[start - INT.size : start + size]
            self.inspected = Inspected(_within(header, start), frame, expects)
        else:
            self._received.needed = INT.size + size
        return False

    def pass_on(self, frame: bytes, reply: Callable[[bytes], None]) -> None:
        """Note that the inspected request goes to the node, perhaps changed; `reply` receives the response."""
        assert self.inspected is not None, "a request is inspected"
        header, expects = self.inspected.header, self.inspected.expects
        observed = None
        if self._line is not None and self._line.wants(header.api_key):
            observed = self._line.on_request(read_header(frame, INT.size), frame, expects)
        if expects:
            self._pending.append(Pending(header.api_key, header.api_version, header.correlation_id, reply, observed))

    def release(self) -> None:
        """Remove the inspected request, so that those after it continue."""
        assert self.inspected is not None, "a request is inspected"
        self._received.skip(len(self.inspected.frame))
        self.inspected = None

    def _check(self, header: RequestHeader, head: memoryview, start: int) -> None:
        """Check a request before it passes. Raise RelayError if its response could not be rewritten."""
        key, version, _, _, body_offset = header
        if key in LOGIN:
            self._log_in(key, version, head[body_offset - start :])
        elif key != API_VERSIONS:
            self._inspected_bytes = INSPECTED_BYTES
        if not passable(key, version):
            raise RelayError(f"unsupported version {version} of API {key}: its response could not be rewritten")

    def _log_in(self, key: int, version: int, body: memoryview) -> None:
        if key == SASL_AUTHENTICATE:
            try:
                self._login_seen.on_message(message_in(bytes(body), version))
            except (IndexError, ValueError, error) as failure:
                raise RelayError(f"unreadable request: {failure}") from None
            return
        mechanism = mechanism_in(body)
        self._login_seen.on_handshake(mechanism)
        if version == 0:
            self._login = RawLogin(mechanism)

    # From the node

    def answers(self, data: bytes) -> Pieces:
        """Return what the client receives of the first slice of the node's bytes.

        While `has_more_answers`, call it again with no bytes for the next slice.

        Raises:
            RelayError: The connection must be closed.
        """
        responses, at, slice_left = self._responses, 0, MAX_SLICE
        if responses.data:
            responses.add(data)
            data, at = responses.take()
        view, end = memoryview(data), len(data)
        pieces: Pieces = []
        passing_from = at
        while at < end:
            if self._answer_left:
                size_now = min(self._answer_left, end - at)
                self._answer_left -= size_now
                if self._answer is not None:
                    pieces += self._answer.feed(view[at : at + size_now])
                    passing_from = at + size_now
                at += size_now
                continue
            if slice_left <= 0:
                responses.is_due = True
                break
            kept_bytes = self._kept_bytes
            size = self._begin(data, at)
            if size is None:
                break
            self._answer_left = size
            slice_left -= _weight(kept_bytes - self._kept_bytes and size)
            if self._answer is not None:
                slice_left = 0  # it is rewritten
                pieces += [view[passing_from:at]] if at > passing_from else []
                at += INT.size
                passing_from = at
            else:
                self._answer_left += INT.size
        if at > passing_from:
            pieces.append(view[passing_from:at] if passing_from or at < end else data)
        responses.put_back(data, at)
        if self._is_full and len(self._pending) <= MAX_UNANSWERED // 2 and self._kept_bytes <= MAX_KEPT_BYTES // 2:
            self._is_full = False
        return pieces

    def keep_answers(self, data: bytes) -> None:
        """Add bytes from the node for a later call of `answers`."""
        self._responses.add(data)
        self._responses.is_due = True

    def _begin(self, data: bytes, at: int) -> int | None:
        """Choose the filter of the response that begins at `at`.

        Returns:
            Its size, or None if more of it must arrive first.
        """
        if len(data) - at < INT.size:
            return None
        if not self._pending:
            raise RelayError("the cluster sent a response without a request")
        pending = self._pending[0]
        (size,) = INT.unpack_from(data, at)
        if pending is not TOKEN:
            if len(data) - at < _ANSWER_HEAD.size:
                return None
            _, correlation_id = _ANSWER_HEAD.unpack_from(data, at)
            if size < INT.size or correlation_id != pending.correlation_id:
                raise RelayError("the response does not belong to the oldest request")
        else:
            self._login_seen.on_result(accepted=True)  # brokers hang up otherwise
        self._pending.popleft()
        self._kept_bytes -= pending.kept_bytes
        observed, end = pending.observed, at + INT.size + size
        if observed is not None and len(data) >= end:
            observed.line.on_response(observed, data[at:end])
            pending = Pending(pending.key, pending.version, pending.correlation_id, pending.on_response)
        self._answer = self._filter_for(pending, max(size, 0))
        return max(int(size), 0)

    def _filter_for(self, pending: Pending, size: int) -> AnswerInHand | None:
        """Return the filter of a response, or None if it passes unchanged."""
        if pending.observed is not None:
            return copy_filter(pending.observed, size, self._filter_for(pending._replace(observed=None), size))
        if pending.on_response is not None:
            return WholeAnswer(size, self._filter_for(pending._replace(on_response=None), size), pending.on_response)
        if pending.key == API_VERSIONS:
            return HeldAnswer(size, partial(narrowed, version=pending.version))
        if pending.key == SASL_HANDSHAKE and pending.version == 0:
            return HeldAnswer(size, self._handshaken)
        if pending.key == SASL_AUTHENTICATE:
            return HeldAnswer(size, partial(self._authenticated, flexible=pending.version >= FIRST_FLEXIBLE))
        layout = layout_of(pending.key, pending.version)
        if layout is None:
            return None
        if layout.streams and size > STREAMED_FROM:
            return StreamedAnswer(size, layout, self._nodes)
        return AddressedAnswer(size, layout, self._nodes)

    def _handshaken(self, answer: bytearray) -> bytearray:
        """End the login after a rejected handshake, which no tokens follow."""
        if len(answer) < 6 or SHORT.unpack_from(answer, 4)[0] != 0:
            self._login = None
        return answer

    def _authenticated(self, answer: bytearray, flexible: bool) -> bytearray:
        error_at = INT.size + flexible
        self._login_seen.on_result(len(answer) >= error_at + 2 and SHORT.unpack_from(answer, error_at)[0] == 0)
        return answer


def _weight(read_bytes: int) -> int:
    """Return the weight of a request or response in a slice; `read_bytes` is 0 if no listener reads it."""
    return _READ_WEIGHT + read_bytes // _BYTES_PER_WEIGHT if read_bytes else 1


def _within(header: RequestHeader, start: int) -> RequestHeader:
    """Return a header that was read at `start` with positions relative to its own frame, including the length."""
    return RequestHeader(*header[:-1], header.body_offset - start + INT.size)
