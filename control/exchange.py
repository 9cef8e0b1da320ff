"""One request on its way through the laboratory: held or spoiled before it is handled, or before its answer leaves.

The broker hands its requests to `BrokerHooks.handle`; the laboratory's makes an `Exchange` of each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from kohort.broker.cluster.effect_execution import perform
from kohort.broker.runtime.error_response import error_response
from kohort.broker.ticket import CloseConnection, Ticket
from kohort.control.gate_points import ANSWER, REQUEST
from kohort.control.request_facts import NO_GENERATION, RequestFacts
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.runtime.connection import Connection
    from kohort.broker.scheduling.cooperative import Task
    from kohort.control.brokers import Brokers
    from kohort.control.conditions import Condition, Delayed
    from kohort.coordinator.consumer.values import CurrentAssignment

ON = object()
"""What a fault returns that lets its request, or its answer, go on."""


class Way(Protocol):
    """What a request meets on its way through the laboratory."""

    brokers: Brokers

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
        "listener",
        "listener_name",
        "login",
        "principal",
        "request",
        "stage",
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
        coordinator, group_id = self._node.coordinator, self.facts.group
        group = coordinator.groups.get(group_id)
        self.generation_then = group.generation_id if group is not None else NO_GENERATION
        consumer_group = coordinator.consumer_groups.get(group_id)
        if consumer_group is not None:
            member = next((each for name in self.facts.members if (each := consumer_group.members.get(name))), None)
            self.in_consumer_group, self.current_then = True, None if member is None else member.current
        return self.ticket.api.handle(self._node, self.request, self.ticket)

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
        cluster = self._way.brokers.cluster
        cluster.purgatory.wait(_Waiting(cluster.clock.now_ms() + length_ms, self, response))

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
        server = self._way.brokers.server
        if now_ms is None:
            now_ms = self._way.brokers.cluster.clock.now_ms()
        self._way.on_resume(self)
        if self.connection.closed:
            return
        try:
            if self.stage == ANSWER:
                self._leave(response, faults=faults)
            else:
                self.ticket.received_at_ms = now_ms
                go_on = self._go_on if faults else self._handled
                server.dispatcher.run(self.connection, self.ticket, go_on)
        except Exception:
            self.connection.fail()
        perform(self._way.brokers.cluster, now_ms)
        server.end_turn(now_ms)


class _Waiting(DelayedOperation):
    """A request, or an answer, that is late."""

    __slots__ = ("_exchange", "_response")

    def __init__(self, deadline_ms: int, exchange: Exchange, response: object) -> None:
        super().__init__(deadline_ms)
        self._exchange = exchange
        self._response = response

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Its time has come."""
        self._exchange.resume(self._response, now_ms=now_ms)
