"""A request of many elements is read in a thread: its bytes never change, and reading it at once would take long.

Its connection waits meanwhile, as for any request. Then it is handled as a long request is, a slice at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kohort.broker.logs import log
from kohort.broker.slices import is_work
from kohort.broker.ticket import Ticket
from kohort.protocol.errors import DecodeError

if TYPE_CHECKING:
    from kohort.broker.cluster.interference import Handler
    from kohort.broker.cluster.long_work import LongWork
    from kohort.broker.runtime.connection import Connection
    from kohort.broker.runtime.registry import Api
    from kohort.broker.slices import Work
    from kohort.protocol.headers import RequestHeader

READ_AT_ONCE = 2_000
"""Array elements and tagged fields of a request that is read in its turn: some milliseconds."""


class _Unreadable(NamedTuple):
    """Why a request could not be read. The error itself would know the frames that know it, and stay for long."""

    reason: str


def read_aside(
    long_work: LongWork,
    connection: Connection,
    api: Api,
    header: RequestHeader,
    frame: bytes,
    most_elements: int,
    handler: Handler,
) -> None:
    """Reads the request of `header` in a thread, and has `handler` handle it. The client of an unreadable one is
    hung up on."""

    def read() -> Any:
        try:
            return api.read(header.api_version, frame, header.body_offset, most_elements)
        except DecodeError as problem:
            return _Unreadable(f"unreadable request: {problem}")
        except Exception:
            log.error(f"{connection.client}: reading a request failed: {frame[:1_000].hex()}")
            return _Unreadable("its request could not be read, which is kohort's fault")

    connection.park()
    long_work.make(read, partial(_handle, connection, api, header, handler))


def _handle(
    connection: Connection, api: Api, header: RequestHeader, handler: Handler, request: Any, now_ms: int
) -> None:
    if isinstance(request, _Unreadable):
        connection.close(request.reason)
    else:
        version, client_id = header.api_version, header.client_id or ""
        ticket = Ticket(connection, api, request, version, header.correlation_id, client_id, now_ms)
        ticket.work_on(_begin(connection, ticket, handler, request))


def _begin(connection: Connection, ticket: Ticket, handler: Callable[..., Any], request: Any) -> Work:
    yield
    response = handler(connection.node, request, ticket)
    if is_work(response):
        response = yield from response
    return response
