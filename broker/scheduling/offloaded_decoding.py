"""A request of many elements is read in a thread: its bytes never change, and reading it at once would take long.

Its connection waits meanwhile, as for any request. Then it is handled as a task, a little at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kohort.broker.logs import log
from kohort.broker.scheduling.cooperative import is_task
from kohort.broker.ticket import Requester, Ticket
from kohort.protocol.errors import DecodeError

if TYPE_CHECKING:
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.scheduling.worker_thread import Worker
    from kohort.protocol.headers import RequestHeader

READ_AT_ONCE = 2_000
"""Array elements and tagged fields of a request that is read in its turn: some milliseconds."""

Handler = Callable[[Any, Any, Ticket], Any]
"""Handles a request that a node has got; returns what handlers return."""


class Api(Protocol):
    """Reads the requests of one API."""

    @property
    def read(self) -> Callable[[int, bytes, int, int], Any]:
        """Gets the version, the frame, where in it the body begins, and how many elements it may have."""
        ...


class Asking(Requester, Protocol):
    """A connection whose request is read."""

    @property
    def node(self) -> Any:
        """The node that the client has connected to."""
        ...

    @property
    def client(self) -> str:
        """The client as a log line names it."""
        ...

    def park(self) -> None:
        """Nothing more is handled before the request at hand is answered."""
        ...


class _Unreadable(NamedTuple):
    """Why a request could not be read. The error itself would know the frames that know it, and stay for long."""

    reason: str


def decode_in_thread(
    worker: Worker,
    connection: Asking,
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
    worker.make(read, partial(_handle, connection, api, header, handler))


def _handle(connection: Asking, api: Api, header: RequestHeader, handler: Handler, request: Any, now_ms: int) -> None:
    if isinstance(request, _Unreadable):
        connection.close(request.reason)
    else:
        version, client_id = header.api_version, header.client_id or ""
        ticket = Ticket(connection, api, request, version, header.correlation_id, client_id, now_ms)
        ticket.work_on(_begin(connection, ticket, handler, request))


def _begin(connection: Asking, ticket: Ticket, handler: Handler, request: Any) -> Task[Any]:
    yield
    response = handler(connection.node, request, ticket)
    if is_task(response):
        response = yield from response
    return response
