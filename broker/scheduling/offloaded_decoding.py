"""Decoding of large requests in a thread.

The bytes of a request never change. Its connection waits meanwhile, as for any parked request; then the request is
handled as a task, in steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kohort.base.logs import log
from kohort.broker.scheduling.cooperative import is_task
from kohort.broker.ticket import ParkableRequester, Ticket
from kohort.protocol.errors import DecodeError

if TYPE_CHECKING:
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.scheduling.worker_thread import Worker
    from kohort.protocol.headers import RequestHeader

# Maximum number of array elements and tagged fields of a request that is decoded in the event loop: some milliseconds.
READ_AT_ONCE = 2_000

Handler = Callable[[Any, Any, Ticket], Any]  # handles the request on a node; returns what handlers return


class Api(Protocol):
    """Decoder of one API's requests."""

    @property
    def read(self) -> Callable[[int, bytes, int, int], Any]:
        """Function of version, frame, offset of the body in the frame, and maximum number of elements."""
        ...


class _Unreadable(NamedTuple):
    """The reason why a request cannot be decoded.

    The exception itself would refer to stack frames, which refer to it, and would stay in memory for long.
    """

    reason: str


def decode_in_thread(
    worker: Worker,
    connection: ParkableRequester,
    api: Api,
    header: RequestHeader,
    frame: bytes,
    most_elements: int,
    handler: Handler,
) -> None:
    """Decode a request in a thread, and pass it to `handler`. If it is invalid, close the connection."""

    def read() -> Any:
        try:
            return api.read(header.api_version, frame, header.body_offset, most_elements)
        except DecodeError as problem:
            return _Unreadable(f"unreadable request: {problem}")
        except Exception:
            log.error(f"{connection.client}: reading a request failed: {frame[:1_000].hex()}")
            return _Unreadable("internal error in kohort while decoding its request")

    connection.park()
    worker.make(read, partial(_handle, connection, api, header, handler))


def _handle(
    connection: ParkableRequester, api: Api, header: RequestHeader, handler: Handler, request: Any, now_ms: int
) -> None:
    if isinstance(request, _Unreadable):
        connection.close(request.reason)
    else:
        version, client_id = header.api_version, header.client_id or ""
        ticket = Ticket(connection, api, request, version, header.correlation_id, client_id, now_ms)
        ticket.work_on(_begin(connection, ticket, handler, request))


def _begin(connection: ParkableRequester, ticket: Ticket, handler: Handler, request: Any) -> Task[Any]:
    yield
    response = handler(connection.node, request, ticket)
    if is_task(response):
        response = yield from response
    return response
