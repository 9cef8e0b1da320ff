"""One request from its frame to its answer. The only place where what nobody foresaw is caught."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.broker.cluster.effects import perform
from kohort.broker.logs import log
from kohort.broker.runtime.error_response import error_response
from kohort.broker.runtime.registry import Api, Registry
from kohort.broker.ticket import NO_REPLY, CloseConnection, Ticket
from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.protocol.headers import RequestHeader, read_header

if TYPE_CHECKING:
    from kohort.broker.cluster.cluster import Cluster
    from kohort.broker.runtime.connection import Connection

API_VERSIONS = 18


class Dispatcher:
    """Finds the API of a request, lets it answer, and does what the coordinators want done."""

    def __init__(self, cluster: Cluster, registry: Registry) -> None:
        self.cluster = cluster
        self.registry = registry
        self._max_elements = cluster.settings.kohort_request_max_elements

    def handle(self, connection: Connection, frame: bytes, now_ms: int) -> None:
        """Handles the request in `frame`. Afterwards the connection has its answer, is parked, or is closed."""
        try:
            header = read_header(frame)
            key, version, correlation_id, client_id, body_offset = header
            api = self.registry.find(key)
            if api is None or not api.lowest <= version <= api.highest:
                self._refuse(connection, api, header, frame, now_ms)
                return
            request = api.read(version, frame, body_offset, self._max_elements)
        except DecodeError as problem:
            connection.close(f"unreadable request: {problem}")
            return
        except Exception:
            log.error(f"{connection.client}: reading a request failed: {frame[:1_000].hex()}")
            connection.close("its request could not be read, which is kohort's fault")
            return
        ticket = Ticket(connection, api, request, version, correlation_id, client_id or "", now_ms)
        if log.debug_enabled:
            log.debug(f"{connection.client}: {api.spec.name} v{version} {request}", client_id=ticket.client_id)
        try:
            response = api.handle(connection.node, request, ticket)
        except CloseConnection as reason:
            connection.close(str(reason))
        except OSError as problem:
            self.cluster.storage_failed(f"{connection.client}: {api.spec.name}", problem)
            self._answer_error(connection, ticket, ErrorCode.kafka_storage_error)
        except Exception:
            self._failed(connection, ticket)
        else:
            if response is None:
                if not ticket.answered:
                    connection.park()
            elif response is not NO_REPLY:
                syncs = self.cluster.syncs
                if syncs is not None and syncs.noted():
                    connection.park()
                    syncs.after(partial(self._answer_synced, ticket, response))
                else:
                    ticket.answered = True
                    self.respond(connection, ticket, response)
        for coordinator in self.cluster.coordinators:
            if coordinator.effects:
                perform(self.cluster, now_ms)

    def _answer_synced(self, ticket: Ticket, response: Any, now_ms: int, problem: OSError | None) -> None:
        """A topic was changed, an id handed out: that is acknowledged once it is on the disk."""
        failed = ErrorCode.kafka_storage_error
        ticket.reply(response if problem is None else error_response(ticket.api, ticket.request, failed))

    def respond(self, connection: Connection, ticket: Ticket, response: Any) -> None:
        """Writes a response in the version that was asked for. `bytes` are a whole frame but for its correlation id."""
        if type(response) is bytes:
            connection.send(response[:4] + ticket.correlation_id.to_bytes(4, "big", signed=True) + response[8:])
            return
        api: Api = ticket.api
        try:
            frame = api.write(ticket.version, ticket.correlation_id, response)
        except Exception:
            log.error(
                f"{connection.client}: writing a response of {api.spec.name} v{ticket.version} failed: {response}"
            )
            try:
                unknown = error_response(ticket.api, ticket.request, ErrorCode.unknown_server_error)
                frame = api.write(ticket.version, ticket.correlation_id, unknown)
            except Exception:
                connection.fail()
                return
        if log.debug_enabled:
            log.debug(f"{connection.client}: {api.spec.name} v{ticket.version} is answered {response}")
        if isinstance(frame, bytes):
            connection.send(frame)
        else:
            connection.send_pieces(frame)

    def _failed(self, connection: Connection, ticket: Ticket) -> None:
        """Our bug, whatever it is: the client hears of it, and the broker lives on."""
        log.error(f"{connection.client}: {ticket.api.spec.name} v{ticket.version} failed: {ticket.request}")
        self._answer_error(connection, ticket, ErrorCode.unknown_server_error)

    def _answer_error(self, connection: Connection, ticket: Ticket, error: ErrorCode) -> None:
        if not ticket.answered:
            ticket.answered = True
            self.respond(connection, ticket, error_response(ticket.api, ticket.request, error))

    def _refuse(
        self, connection: Connection, api: Api | None, header: RequestHeader, frame: bytes, now_ms: int
    ) -> None:
        """Hangs up on what is not served, as Kafka does, but for ApiVersions: there a client starts (KIP-511)."""
        if api is None:
            connection.close(f"there is no API {header.api_key}")
        elif header.api_key == API_VERSIONS:
            from kohort.broker.apis.api_versions import unsupported_version

            ticket = Ticket(connection, api, None, 0, header.correlation_id, header.client_id or "", now_ms)
            self.respond(connection, ticket, unsupported_version())
        else:
            connection.close(
                f"{api.spec.name} is served in versions {api.lowest} to {api.highest}, not {header.api_version}"
            )
