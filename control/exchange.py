"""One request on its way through the laboratory: held or spoiled before it is handled, or before its answer leaves.

The broker hands its requests to `BrokerHooks.handle`; the laboratory's makes an `Exchange` of each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from kohort.broker.runtime.error_response import error_response
from kohort.broker.ticket import CloseConnection, Ticket
from kohort.control.gate_points import ANSWER, REQUEST
from kohort.control.request_facts import NO_GENERATION, RequestFacts
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_hooks import Handler
    from kohort.broker.cluster.node import Node
    from kohort.broker.runtime.connection import Connection
    from kohort.broker.scheduling.cooperative import Task
    from kohort.control.conditions import Condition, Delayed
    from kohort.coordinator.consumer.values import CurrentAssignment
    from kohort.coordinator.streams.streams_group_values import StreamsAssignment

ON = object()
"""What a fault returns that lets its request, or its answer, go on."""


class Way(Protocol):
    """What a request meets on its way through the laboratory: in a broker (`lab_hooks.py`), or in a proxy."""

    def handled(self, exchange: Exchange, node: Node) -> Any:
        """Lets the broker handle it; what comes of that."""
        ...

    def run(self, exchange: Exchange, handler: Handler, now_ms: int) -> None:
        """Goes on with a request that was stopped, and sees to what comes of it."""
        ...

    def wait(self, exchange: Exchange, length_ms: int, response: object) -> None:
        """Lets the request, or its answer, go on after a while."""
        ...

    def in_turn(self, exchange: Exchange, action: Callable[[int], None], now_ms: int | None) -> None:
        """Calls `action` with the time (`now_ms`, if it is known), and does what follows from it. Raises nothing."""
        ...

    def on_request(self, exchange: Exchange) -> bool:
        """A request is there, and the broker has not seen it. Whether a gate holds it."""
        ...

    def on_response(self, exchange: Exchange, node: Node, response: Any) -> bool:
        """Its answer is ready, and the client has not heard it. Whether a gate holds it."""
        ...

    def apply(self, exchange: Exchange, response: Any) -> Any:
        """What a fault makes of the request, or of its answer; ON: nothing happens to it."""
        ...

    def wait_until(self, condition: Condition, exchange: Exchange, response: Any) -> Delayed:
        """Lets the request, or its answer, go on when something has come about."""
        ...

    def no_longer(self, delayed: Delayed) -> None:
        """Lets it go on at once, if it still waits for a condition."""
        ...

    def stopped(self, exchange: Exchange) -> None:
        """A gate or a fault has the request now, or its answer."""
        ...

    def on_resume(self, exchange: Exchange) -> None:
        """They have it no more."""
        ...


class Exchange:
    """A request, its handler, and how far it has come. Takes the place of the connection as the one who asks."""

    __slots__ = (
        "_node",
        "_way",
        "client_host",
        "connection",
        "current_then",
        "facts",
        "generation_then",
        "in_consumer_group",
        "in_streams_group",
        "listener",
        "listener_name",
        "login",
        "principal",
        "request",
        "stage",
        "tasks_then",
        "ticket",
    )

    def __init__(self, way: Way, node: Node, request: Any, ticket: Ticket) -> None:
        self._way = way
        self._node = node
        self.request = request
        """As the broker will see it; a fault may put another in its place."""
        self.ticket = ticket
        self.connection: Connection = ticket.requester  # type: ignore[assignment]
        self.client_host, self.listener = ticket.requester.client_host, ticket.requester.listener
        self.principal, self.listener_name = ticket.requester.principal, ticket.requester.listener_name
        self.login = ticket.requester.login
        self.facts = RequestFacts(node, request, ticket)
        self.generation_then = NO_GENERATION
        """The group's generation when the broker began to handle the request; consumer groups have none."""
        self.in_consumer_group = False
        """Whether the group spoke the consumer protocol then."""
        self.current_then: CurrentAssignment | None = None
        """What the member had then in its consumer group; None: it was no member."""
        self.in_streams_group = False
        """Whether it was a streams group then."""
        self.tasks_then: StreamsAssignment | None = None
        """What the member had then in its streams group; None: it was no member."""
        self.stage = REQUEST

    @property
    def node_id(self) -> int:
        """See `Requester`."""
        return self._node.id

    @property
    def client_software(self) -> str | None:
        """What the connection knows of its client."""
        return self.connection.client_software

    @client_software.setter
    def client_software(self, name: str | None) -> None:
        self.connection.client_software = name

    # From the connection to the broker

    def begin(self) -> Any:
        """What a handler returns: a response, None for later, NO_REPLY; or CloseConnection is raised."""
        self.ticket.requester = self
        if self._way.on_request(self):
            self._way.stopped(self)
            return None
        return self._go_on()

    def _go_on(self, *_: Any) -> Any:
        """As `begin`, from behind the gates."""
        outcome = self._way.apply(self, None)
        if outcome is ON:
            return self._handled()
        if outcome is None:
            self._way.stopped(self)
        else:
            self.stage = ANSWER  # a fault has answered: no other spoils that
        return outcome

    def _handled(self, *_: Any) -> Any:
        """Lets the broker handle it."""
        return self._way.handled(self, self._node)

    # From the broker to the connection

    def answer(self, ticket: Ticket, response: object) -> None:
        """The broker answers, at once or when it could."""
        if self.stage == ANSWER:  # it was stopped here before
            self.connection.answer(ticket, response)
            return
        self.stage, self.facts.response = ANSWER, response
        if self._way.on_response(self, self._node, response):
            self._way.stopped(self)
            self.connection.park()
        else:
            self._leave(response)

    def answer_and_close(self, ticket: Ticket, response: object | None, reason: str) -> None:
        """Answers a login that has failed, and hangs up. No fault comes between."""
        self.stage = ANSWER
        self.connection.answer_and_close(ticket, response, reason)

    def close(self, reason: str) -> None:
        """Hangs up."""
        self.connection.close(reason)

    def unpark(self) -> None:
        """Goes on with what was sent behind a request that waited and wants no answer."""
        self.connection.unpark()

    def take_up(self, ticket: Ticket, steps: Task[Any]) -> None:
        """Works on a request that waited."""
        self.connection.take_up(ticket, steps)

    def when_gone(self, action: Callable[[], object]) -> None:
        """Calls `action` if the client is gone before it has its answer."""
        self.connection.when_gone(action)

    def _leave(self, response: object, *, faults: bool = True) -> None:
        """Sends the answer, or what a fault makes of it."""
        try:
            outcome = self._way.apply(self, response) if faults else ON
        except CloseConnection as reason:
            self.connection.close(str(reason))
            return
        if outcome is None:
            self._way.stopped(self)
            self.connection.park()
        else:
            self.connection.answer(self.ticket, response if outcome is ON else outcome)

    # What faults and gates do with it

    def refusal(self, error: ErrorCode) -> Any:
        """The API's response that says an error."""
        return error_response(self.ticket.api, self.request, error)

    def cut(self, response: object, length: int) -> None:
        """Sends the first `length` bytes of an answer and hangs up."""
        frame = self.ticket.api.write(self.ticket.version, self.ticket.correlation_id, response)
        whole = frame if isinstance(frame, bytes) else b"".join(frame)
        if not self.connection.closed:
            self.connection.send(whole[:length])

    def wait(self, length_ms: int, response: object = None) -> None:
        """Goes on after a while, by the brokers' clock."""
        self._way.wait(self, length_ms, response)

    def wait_until(self, condition: Condition, response: object = None) -> Delayed:
        """Goes on when something has come about."""
        return self._way.wait_until(condition, self, response)

    def no_longer(self, delayed: Delayed) -> None:
        """Goes on at once, if it still waits for a condition."""
        self._way.no_longer(delayed)

    def resume(self, response: object = None, *, now_ms: int | None = None, faults: bool = False) -> None:
        """Goes on where it was stopped: with the broker, or with its answer.

        `faults`: they come first, as behind a gate, where none has had it yet.
        """
        self._way.on_resume(self)
        if not self.connection.closed:
            self._way.in_turn(self, partial(self._resume, response, faults), now_ms)

    def _resume(self, response: object, faults: bool, now_ms: int) -> None:
        if self.stage == ANSWER:
            self._leave(response, faults=faults)
        else:
            self._way.run(self, self._go_on if faults else self._handled, now_ms)
