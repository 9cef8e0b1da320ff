"""Request that a rule or a gate may apply to, from its frame to its response; acts as the connection of an exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kohort.base.address import java_address
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
    """Properties of a cluster node that rules may use."""

    id: int


class InspectedApi:
    """API as an exchange uses it: handled by the cluster, responses written unchanged."""

    def __init__(self, api: Api, handle: Callable[[Any, Any, Ticket], Any]) -> None:
        self._api = api
        self.spec = api.spec
        self.response = api.response
        self.error_response = api.error_response
        self.handle = handle

    def write(self, version: int, correlation_id: int, response: Any) -> bytes:
        """Return the frame of a response, from the cluster or from a rule."""
        if isinstance(response, Heard):
            return response.frame
        frame = self._api.write(version, correlation_id, response)
        return frame if isinstance(frame, bytes) else b"".join(frame)


class Inspection:
    """Inspected requests of one client, one at a time; acts as its connection (`kohort.broker.ticket.Requester`)."""

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
        """Whether the connection to the client is closed."""
        return self._client.closed

    @property
    def principal(self) -> Principal:
        """The client's principal as far as its login has shown it; see `LoginSeen`."""
        return self._login_seen.principal

    @property
    def client_host(self) -> str:
        return java_address(self._client.host)

    @property
    def _node(self) -> Node:
        """The node for an exchange, which reads only its id unless a condition names a state."""
        return cast("Node", NodeBehind(self._client.node_id))

    def decide(self, inspected: Inspected) -> bool:
        """Start the exchange of a request. Return whether it has ended, so that the next request may pass."""
        header, api = inspected.header, self._laboratory.api(inspected.header.api_key)
        try:
            request = api.read(header.api_version, inspected.frame, header.body_offset, MAX_ELEMENTS)
        except DecodeError:  # the broker will report it
            self._forward(inspected.frame, self._passed)
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
        """Call a handler and send its response."""
        try:
            response = handler(self._node, ticket.request, ticket)
        except CloseConnection as reason:
            self._client.close(str(reason))
            return
        if response is not None:
            self.answer(ticket, response)

    def _handle(self, node: Node, request: Any, ticket: Ticket) -> None:
        """Send the request to the cluster, as changed by rules."""
        assert self._relay.inspected is not None, "a request is inspected"
        frame = self._relay.inspected.frame
        if request is not ticket.request:
            name = ticket.api.spec.name
            body = message_of(name).write_request(ticket.version, ticket.correlation_id, ticket.client_id, request)
            frame = INT.pack(len(body)) + body

        def on_response(answer: bytes) -> None:
            ticket.reply(Heard(ticket.api.spec.name, ticket.version, answer))

        self._forward(frame, on_response)

    def _forward(self, frame: bytes, on_response: Callable[[bytes], None]) -> None:
        assert self._relay.inspected is not None, "a request is inspected"
        expects = self._relay.inspected.expects
        self._relay.pass_on(frame, on_response)
        self._client.send([frame])
        if not expects:
            self._over()

    def _passed(self, answer: bytes) -> None:
        self._client.write_client([answer])
        self._over()

    def _over(self) -> None:
        self._relay.release()
        if not self._decides:
            self._client.continue_requests()

    # Interface of the connection of an exchange

    def answer(self, ticket: Ticket, response: object) -> None:
        """Send the response.

        Without an expected response (`acks=0`) close the connection, as brokers do after an error.
        """
        ticket.answered = True
        if self._relay.inspected is not None and not self._relay.inspected.expects:
            self._client.close("a rule has responded to a request without a response")
            return
        self._client.write_client([ticket.api.write(ticket.version, ticket.correlation_id, response)])
        self._over()

    def answer_and_close(self, ticket: Ticket, response: object | None, reason: str) -> None:
        if response is not None:
            self._client.write_client([ticket.api.write(ticket.version, ticket.correlation_id, response)])
        self._client.close(reason)

    def send(self, frame: bytes) -> None:
        self._client.write_client([frame])

    def close(self, reason: str) -> None:
        self._client.close(reason)

    def fail(self) -> None:
        self._client.fail()

    def park(self) -> None:
        """Return without effect: requests after an inspected one wait in any case."""
