"""Request in the laboratory: it can be held or changed before the broker handles it or before its response is sent.

The broker passes requests to `BrokerHooks.handle`; the laboratory's hooks create an `Exchange` for each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from kohort.broker.runtime.error_response import error_response
from kohort.broker.ticket import CloseConnection, Ticket
from kohort.control.gates.gate_points import ANSWER, REQUEST
from kohort.control.request_facts import NO_GENERATION, RequestFacts
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_hooks import Handler
    from kohort.broker.cluster.node import Node
    from kohort.broker.runtime.connection import Connection
    from kohort.broker.scheduling.cooperative import Task
    from kohort.control.faults.conditions import Condition, Delayed
    from kohort.coordinator.consumer.values import CurrentAssignment
    from kohort.coordinator.streams.streams_group_values import StreamsAssignment

UNCHANGED = object()  # result of a fault that doesn't change the request or its response


class Way(Protocol):
    """Processing of a request in the laboratory: in a broker (`lab_hooks.py`), or in a proxy."""

    def handled(self, exchange: Exchange, node: Node) -> Any: ...

    def run(self, exchange: Exchange, handler: Handler, now_ms: int) -> None: ...

    def wait(self, exchange: Exchange, length_ms: int, response: object) -> None: ...

    def in_turn(self, exchange: Exchange, action: Callable[[int], None], now_ms: int | None) -> None:
        """Call `action` with the time (`now_ms` if it is known), and execute the consequences. This never raises."""
        ...

    def on_request(self, exchange: Exchange) -> bool:
        """Return whether a gate holds a request that the broker has not received yet."""
        ...

    def on_response(self, exchange: Exchange, node: Node, response: Any) -> bool:
        """Return whether a gate holds a response that has not been sent."""
        ...

    def apply(self, exchange: Exchange, response: Any) -> Any:
        """Return what a fault makes of a request, or of its response; UNCHANGED if no fault applies."""
        ...

    def wait_until(self, condition: Condition, exchange: Exchange, response: Any) -> Delayed: ...

    def no_longer(self, delayed: Delayed) -> None: ...

    def stopped(self, exchange: Exchange) -> None: ...

    def on_resume(self, exchange: Exchange) -> None: ...


class Exchange:
    """Request, its handler and its stage. Replaces the connection as the requester."""

    __slots__ = (
        "_node",
        "_way",
        "client_host",
        "connection",
        "current_then",
        "facts",
        "generation_then",
        "had_epochs",
        "listener",
        "listener_name",
        "login",
        "offsets",
        "principal",
        "request",
        "stage",
        "ticket",
    )

    def __init__(self, way: Way, node: Node, request: Any, ticket: Ticket) -> None:
        self._way = way
        self._node = node
        self.request = request  # as the broker will receive it; a fault may replace it
        self.ticket = ticket
        self.connection: Connection = ticket.requester  # type: ignore[assignment]
        self.client_host, self.listener = ticket.requester.client_host, ticket.requester.listener
        self.principal, self.listener_name = ticket.requester.principal, ticket.requester.listener_name
        self.login = ticket.requester.login
        self.facts = RequestFacts(node, request, ticket)
        # the group's generation when the broker began to handle the request; unset in consumer groups
        self.generation_then = NO_GENERATION
        self.had_epochs = False  # whether it was a consumer group or a streams group at that time
        # the assignment of the member of such a group at that time, or None if it was not a member
        self.current_then: CurrentAssignment | StreamsAssignment | None = None
        # the offsets of a commit that otherwise equals an earlier one, which is `request`
        self.offsets: tuple[int, ...] | None = None
        self.stage = REQUEST

    @property
    def node_id(self) -> int:
        return self._node.id

    @property
    def client_software(self) -> str | None:
        return self.connection.client_software

    @client_software.setter
    def client_software(self, name: str | None) -> None:
        self.connection.client_software = name

    # From the connection to the broker

    def begin(self) -> Any:
        """Start processing. Return a response, None if it follows later, or NO_REPLY; or raise CloseConnection."""
        self.ticket.requester = self
        if self._way.on_request(self):
            self._way.stopped(self)
            return None
        return self._apply_faults()

    def _apply_faults(self, *_: Any) -> Any:
        outcome = self._way.apply(self, None)
        if outcome is UNCHANGED:
            return self._handled()
        if outcome is None:
            self._way.stopped(self)
        else:
            self.stage = ANSWER  # no other fault changes the response of a fault
        return outcome

    def _handled(self, *_: Any) -> Any:
        return self._way.handled(self, self._node)

    # From the broker to the connection

    def answer(self, ticket: Ticket, response: object) -> None:
        """Process the broker's response, unless the exchange was stopped at this stage before."""
        if self.stage == ANSWER:  # the response was held before
            self.connection.answer(ticket, response)
            return
        self.stage, self.facts.response = ANSWER, response
        if self._way.on_response(self, self._node, response):
            self._way.stopped(self)
            self.connection.park()
        else:
            self._send(response)

    def answer_and_close(self, ticket: Ticket, response: object | None, reason: str) -> None:
        """Send the response to a failed login and close the connection, without faults."""
        self.stage = ANSWER
        self.connection.answer_and_close(ticket, response, reason)

    def close(self, reason: str) -> None:
        self.connection.close(reason)

    def unpark(self) -> None:
        self.connection.unpark()

    def take_up(self, ticket: Ticket, steps: Task[Any]) -> None:
        self.connection.take_up(ticket, steps)

    def when_gone(self, action: Callable[[], object]) -> None:
        """Call `action` if the client disconnects before it has received the response."""
        self.connection.when_gone(action)

    def _send(self, response: object, *, faults: bool = True) -> None:
        try:
            outcome = self._way.apply(self, response) if faults else UNCHANGED
        except CloseConnection as reason:
            self.connection.close(str(reason))
            return
        if outcome is None:
            self._way.stopped(self)
            self.connection.park()
        else:
            self.connection.answer(self.ticket, response if outcome is UNCHANGED else outcome)

    # Called by faults and gates

    def refusal(self, error: ErrorCode) -> Any:
        return error_response(self.ticket.api, self.request, error)

    def cut(self, response: object, length: int) -> None:
        frame = self.ticket.api.write(self.ticket.version, self.ticket.correlation_id, response)
        whole = frame if isinstance(frame, bytes) else b"".join(frame)
        if not self.connection.closed:
            self.connection.send(whole[:length])

    def wait(self, length_ms: int, response: object = None) -> None:
        self._way.wait(self, length_ms, response)

    def wait_until(self, condition: Condition, response: object = None) -> Delayed:
        return self._way.wait_until(condition, self, response)

    def no_longer(self, delayed: Delayed) -> None:
        self._way.no_longer(delayed)

    def resume(self, response: object = None, *, now_ms: int | None = None, faults: bool = False) -> None:
        """Resume where the exchange was stopped: with the broker, or with the response.

        Args:
            faults: Applies faults first, as after a gate, where none has applied yet.
        """
        self._way.on_resume(self)
        if not self.connection.closed:
            self._way.in_turn(self, partial(self._resume, response, faults), now_ms)

    def _resume(self, response: object, faults: bool, now_ms: int) -> None:
        if self.stage == ANSWER:
            self._send(response, faults=faults)
        else:
            self._way.run(self, self._apply_faults if faults else self._handled, now_ms)
