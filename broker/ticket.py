"""A ticket: one request on one connection. Its response is sent exactly once, perhaps much later."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final, Protocol

from kohort.security.principal import Principal

if TYPE_CHECKING:
    from kohort.security.sasl.login import Login

NO_REPLY: Final = object()  # returned by a handler for a request without a response (Produce with acks=0)

# Work on a request, which may pause at each `yield`. It returns what a handler returns.
Steps = Generator[None, None, Any]


class CloseConnection(Exception):
    """Raised by a handler that closes the connection instead of a response; the text is the reason for the log."""


class Requester(Protocol):
    """The origin of a request: a connection, or a test."""

    @property
    def node_id(self) -> int: ...

    client_host: str
    client_software: str | None  # name and version, from ApiVersions
    listener: tuple[str, int]  # the address that the client connected to
    listener_name: str  # its name in `listeners`, such as `SASL_SSL`
    principal: Principal  # ANONYMOUS until authentication

    login: Login | None  # progress of the authentication; None if the listener requires none

    def answer(self, ticket: Ticket, response: object) -> None: ...

    def answer_and_close(self, ticket: Ticket, response: object | None, reason: str) -> None: ...

    def close(self, reason: str) -> None: ...

    def take_up(self, ticket: Ticket, steps: Steps) -> None: ...

    def unpark(self) -> None:
        """Handle the requests that follow a parked one without a response."""
        ...

    def when_gone(self, action: Callable[[], object]) -> None: ...


class ParkableRequester(Requester, Protocol):
    """A requester that can wait with further requests, as a connection does."""

    @property
    def node(self) -> Any: ...

    @property
    def client(self) -> str: ...

    def park(self) -> None:
        """Handle no further requests until this one has a response."""
        ...


class Ticket:
    """The properties of a request that are not part of its content, and the means to respond later."""

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
        self.api: Any = api  # a `registry.Api`, for the dispatcher only
        self.request = request
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id  # empty if it is null (classic-groups §0)
        self.received_at_ms = received_at_ms  # Monotonic time at which its handling began; `now_ms` of the handler.
        self.answered = False

    @property
    def client_host(self) -> str:
        """The client's address as Kafka writes it: `/127.0.0.1`."""
        return self.requester.client_host

    @property
    def host(self) -> str:
        return self.requester.client_host[1:]

    @property
    def principal(self) -> Principal:
        return self.requester.principal

    @property
    def origin(self) -> Any:
        """The connection itself, behind any wrapper: the same for all its requests."""
        return getattr(self.requester, "connection", self.requester)

    @property
    def listener_name(self) -> str:
        return self.requester.listener_name

    @property
    def listener(self) -> tuple[str, int]:
        return self.requester.listener

    def reply(self, response: object) -> None:
        """Respond to a request whose handler returned None. Does nothing if the client has disconnected."""
        assert not self.answered, "a ticket is answered once"
        self.answered = True
        self.requester.answer(self, response)

    def reply_and_close(self, response: object | None, reason: str) -> None:
        self.answered = True
        self.requester.answer_and_close(self, response, reason)

    def work_on(self, steps: Steps) -> None:
        """Resume a parked request in steps, which return what a handler returns."""
        self.requester.take_up(self, steps)

    def conclude(self, outcome: object | None) -> None:
        """Respond to a parked request with what its handler would have returned; None if it still waits."""
        if outcome is NO_REPLY:
            self.no_reply()
        elif outcome is not None:
            self.reply(outcome)

    def close(self, reason: str) -> None:
        self.answered = True
        self.requester.close(reason)

    def no_reply(self) -> None:
        self.answered = True
        self.requester.unpark()

    def when_gone(self, action: Callable[[], object]) -> None:
        """Call `action` if the client disconnects before it has the response, to cancel work that only it waits for."""
        self.requester.when_gone(action)

    def fail(self) -> None:
        """Close the connection of a request whose response failed. The caller logs the exception."""
        self.close("internal error in kohort while responding to its request")
