"""A request that a rule or a gate may take, from its frame to its answer; stands for a connection in an exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kohort.broker.address import java_address
from kohort.broker.runtime.registry import Api
from kohort.broker.ticket import CloseConnection, Ticket
from kohort.control.exchange import Exchange
from kohort.protocol.errors import DecodeError
from kohort.protocol.guard import MAX_ELEMENTS
from kohort.protocol.messages import message_of
from kohort.protocol.wire import INT
from kohort.proxy.heard import Heard
from kohort.proxy.relay import Relay
from kohort.proxy.relayed_requests import Inspected

if TYPE_CHECKING:
    from collections.abc import Callable

    from kohort.broker.cluster.broker_hooks import Handler
    from kohort.broker.cluster.node import Node
    from kohort.proxy.client_side import ClientSide
    from kohort.proxy.login_seen import LoginSeen
    from kohort.proxy.proxy_laboratory import ProxyLaboratory
    from kohort.security.principal import Principal


class NodeBehind(NamedTuple):
    """What a rule may ask about a node of the cluster."""

    id: int


class InspectedApi:
    """An API as an exchange asks for it: handled by the cluster, written as it came."""

    def __init__(self, api: Api, handle: Callable[[Any, Any, Ticket], Any]) -> None:
        self._api = api
        self.spec = api.spec
        self.response = api.response
        self.error_response = api.error_response
        self.handle = handle

    def write(self, version: int, correlation_id: int, response: Any) -> bytes:
        """The frame of an answer: the cluster's own, or one that a rule has made."""
        if isinstance(response, Heard):
            return response.frame
        frame = self._api.write(version, correlation_id, response)
        return frame if isinstance(frame, bytes) else b"".join(frame)


class Inspection:
    """One client's requests, one at a time. Stands for the connection (`kohort.broker.ticket.Requester`)."""

    def __init__(self, client: ClientSide, relay: Relay, laboratory: ProxyLaboratory, login_seen: LoginSeen) -> None:
        self._client = client
        self._relay = relay
        self._laboratory = laboratory
        self._login_seen = login_seen
        self._decides = False
        self.client_software: str | None = None
        self.listener = ("", 0)
        self.listener_name = "PROXY"
        self.login = None

    @property
    def closed(self) -> bool:
        """Whether anything more can be said to this client."""
        return self._client.closed

    @property
    def principal(self) -> Principal:
        """Who the client is, as far as its login has shown it; see `LoginSeen`."""
        return self._login_seen.principal

    @property
    def client_host(self) -> str:
        """See `Requester`."""
        return java_address(self._client.host)

    @property
    def _node(self) -> Node:
        """All that an exchange asks for that has no conditions on states."""
        return cast("Node", NodeBehind(self._client.node_id))

    def decide(self, inspected: Inspected) -> bool:
        """Sends a request on its way through the laboratory. Whether it is over, so that the next may come."""
        header, api = inspected.header, self._laboratory.api(inspected.header.api_key)
        try:
            request = api.read(header.api_version, inspected.frame, header.body_offset, MAX_ELEMENTS)
        except DecodeError:  # the broker will say so itself
            self._ask(inspected.frame, self._passed)
        else:
            ticket = Ticket(
                cast(Any, self),
                InspectedApi(api, self._handle),
                request,
                header.api_version,
                header.correlation_id,
                header.client_id or "",
                self._laboratory.clock.now_ms(),
            )
            self._decides = True
            self.run(ticket, lambda *_: Exchange(self._laboratory, self._node, request, ticket).begin())
            self._decides = False
        return self._relay.inspected is None

    def run(self, ticket: Ticket, handler: Handler) -> None:
        """Lets something handle a request, and sees to its answer."""
        try:
            response = handler(self._node, ticket.request, ticket)
        except CloseConnection as reason:
            self._client.close(str(reason))
            return
        if response is not None:
            self.answer(ticket, response)

    def _handle(self, node: Node, request: Any, ticket: Ticket) -> None:
        """Lets the cluster handle a request, as a rule has left it."""
        assert self._relay.inspected is not None, "it is at hand"
        frame = self._relay.inspected.frame
        if request is not ticket.request:
            name = ticket.api.spec.name
            body = message_of(name).write_request(ticket.version, ticket.correlation_id, ticket.client_id, request)
            frame = INT.pack(len(body)) + body

        def told(answer: bytes) -> None:
            ticket.reply(Heard(ticket.api.spec.name, ticket.version, answer))

        self._ask(frame, told)

    def _ask(self, frame: bytes, told: Callable[[bytes], None]) -> None:
        assert self._relay.inspected is not None, "it is at hand"
        expects = self._relay.inspected.expects
        self._relay.pass_on(frame, told)
        self._client.send([frame])
        if not expects:
            self._over()

    def _passed(self, answer: bytes) -> None:
        self._client.tell([answer])
        self._over()

    def _over(self) -> None:
        self._relay.release()
        if not self._decides:
            self._client.continue_requests()

    # What an exchange asks of a connection

    def answer(self, ticket: Ticket, response: object) -> None:
        """Sends the answer. Who wants none (`acks=0`) is hung up on: so a broker tells them that something failed."""
        ticket.answered = True
        if self._relay.inspected is not None and not self._relay.inspected.expects:
            self._client.close("a rule has answered a request that wants no answer")
            return
        self._client.tell([ticket.api.write(ticket.version, ticket.correlation_id, response)])
        self._over()

    def answer_and_close(self, ticket: Ticket, response: object | None, reason: str) -> None:
        """Sends the answer, if there is one, and hangs up."""
        if response is not None:
            self._client.tell([ticket.api.write(ticket.version, ticket.correlation_id, response)])
        self._client.close(reason)

    def send(self, frame: bytes) -> None:
        """Sends bytes as they are."""
        self._client.tell([frame])

    def close(self, reason: str) -> None:
        """Hangs up."""
        self._client.close(reason)

    def fail(self) -> None:
        """Ends this connection, and nothing else, because of our bug."""
        self._client.fail()

    def park(self) -> None:
        """Nothing: what is behind a request that was inspected waits anyway."""
