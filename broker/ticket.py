"""A ticket stands for one request on one connection. It is answered exactly once, perhaps much later."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final, Protocol

from kohort.security.principal import Principal

if TYPE_CHECKING:
    from kohort.security.sasl.login import Login

NO_REPLY: Final = object()
"""What a handler returns for a request that is never answered (Produce with acks=0)."""

Steps = Generator[None, None, Any]
"""Work on a request, which may be laid aside at each `yield`. It returns what a handler returns."""


class CloseConnection(Exception):
    """Raised by a handler that answers by hanging up; the text is the reason for the log."""


class Requester(Protocol):
    """Where a request came from: a connection, or a test."""

    @property
    def node_id(self) -> int:
        """The node that the client has connected to."""
        ...

    client_host: str
    client_software: str | None
    """Name and version, as the client gave them in ApiVersions."""
    listener: tuple[str, int]
    """The address the client dialled."""
    listener_name: str
    """The listener's name in `listeners`, as `SASL_SSL`."""
    principal: Principal
    """Who the client is: ANONYMOUS until a login or a certificate says more."""

    login: Login | None
    """How far the client has come in logging in; None: its listener asks for no login."""

    def answer(self, ticket: Ticket, response: object) -> None:
        """Sends the response of the request that `ticket` stands for."""
        ...

    def answer_and_close(self, ticket: Ticket, response: object | None, reason: str) -> None:
        """Sends the response, if there is one, and hangs up."""
        ...

    def close(self, reason: str) -> None:
        """Hangs up."""
        ...

    def take_up(self, ticket: Ticket, steps: Steps) -> None:
        """Works on a request that waited, as on one whose handler is a generator."""
        ...

    def unpark(self) -> None:
        """Goes on with what was sent behind a request that waited and wants no answer."""
        ...

    def when_gone(self, action: Callable[[], object]) -> None:
        """Calls `action` if the client is gone before it has the answer of the request at hand."""
        ...


class Ticket:
    """What a handler knows about the request beside its content, and how it answers later."""

    __slots__ = ("answered", "api", "client_id", "correlation_id", "received_at_ms", "request", "requester", "version")

    def __init__(
        self,
        requester: Requester,
        api: object,
        request: object,
        version: int,
        correlation_id: int,
        client_id: str,
        received_at_ms: int,
    ) -> None:
        self.requester = requester
        self.api: Any = api
        """A `registry.Api`; nobody but the dispatcher asks."""
        self.request = request
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        """Empty for a null one (classic-groups §0)."""
        self.received_at_ms = received_at_ms
        """Monotonic; when handling it began. The `now_ms` of a handler."""
        self.answered = False

    @property
    def client_host(self) -> str:
        """The client's address as Kafka writes it: `/127.0.0.1`."""
        return self.requester.client_host

    @property
    def host(self) -> str:
        """The client's address as ACLs name it: `127.0.0.1`."""
        return self.requester.client_host[1:]

    @property
    def principal(self) -> Principal:
        """Who sent the request."""
        return self.requester.principal

    @property
    def origin(self) -> Any:
        """The connection, whatever stands before it: the same for all requests that come on it."""
        return getattr(self.requester, "connection", self.requester)

    @property
    def listener_name(self) -> str:
        """The name of the listener that the request came in on, as `SASL_SSL`."""
        return self.requester.listener_name

    @property
    def listener(self) -> tuple[str, int]:
        """The address the client dialled."""
        return self.requester.listener

    def reply(self, response: object) -> None:
        """Answers a request whose handler returned None. A client that hung up meanwhile gets nothing."""
        assert not self.answered, "a ticket is answered once"
        self.answered = True
        self.requester.answer(self, response)

    def reply_and_close(self, response: object | None, reason: str) -> None:
        """Answers, unless `response` is None, and hangs up; the log says why."""
        self.answered = True
        self.requester.answer_and_close(self, response, reason)

    def work_on(self, steps: Steps) -> None:
        """Goes on with a request that waited, a little at a time. `steps` return what a handler returns."""
        self.requester.take_up(self, steps)

    def conclude(self, outcome: object | None) -> None:
        """Answers a request that waited with what its handler would have returned: None, if it waits still."""
        if outcome is NO_REPLY:
            self.no_reply()
        elif outcome is not None:
            self.reply(outcome)

    def close(self, reason: str) -> None:
        """Hangs up instead of an answer; the log says why."""
        self.answered = True
        self.requester.close(reason)

    def no_reply(self) -> None:
        """Ends a request that waited and is never answered."""
        self.answered = True
        self.requester.unpark()

    def when_gone(self, action: Callable[[], object]) -> None:
        """Calls `action` if the client is gone before it has its answer: what only it waits for need not wait."""
        self.requester.when_gone(action)

    def fail(self) -> None:
        """Ends the connection of a request whose answer failed. The caller logs the exception."""
        self.close("answering its request failed, which is kohort's fault")
