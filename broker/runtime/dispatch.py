"""Dispatch of a request, from its frame to its response.

An unexpected exception in a handler affects only its client.
"""

from __future__ import annotations

from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from kohort.base.logs import log
from kohort.broker.cluster.broker_hooks import NO_HOOKS
from kohort.broker.cluster.effect_execution import perform
from kohort.broker.runtime.error_response import error_response
from kohort.broker.runtime.registry import Api, Registry
from kohort.broker.scheduling.cooperative import is_task
from kohort.broker.scheduling.offloaded_decoding import READ_AT_ONCE, decode_in_thread
from kohort.broker.short_text import short_text
from kohort.broker.ticket import NO_REPLY, CloseConnection, Ticket
from kohort.protocol.codec import API_VERSIONS, ResponseTooLargeError
from kohort.protocol.errors import DecodeError, ErrorCode, TooManyElementsError
from kohort.protocol.headers import RequestHeader, read_header
from kohort.protocol.wire import INT

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.cluster.broker_hooks import Handler
    from kohort.broker.cluster.disk_syncing import Syncs
    from kohort.broker.runtime.connection import Connection
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.shortcuts import Repeated

_CORRELATION_ID: Final = Struct(">i").unpack_from
CORRELATION_ID_AT: Final = 4  # offset after the API key and the version


class Dispatcher:
    """Finds the API of a request, calls its handler, and executes the effects that coordinators return.

    APIs authorize their requests themselves, since only they know the resources (`broker/cluster/access.py`).
    """

    def __init__(self, cluster: BrokerCluster, registry: Registry) -> None:
        self.cluster = cluster
        self.registry = registry
        self._loaded = registry.loaded
        self._max_elements = cluster.settings.kohort_request_max_elements

    # Look up and decode

    def handle(self, connection: Connection, frame: bytes, now_ms: int, start: int = 0) -> None:
        """Handle the request in `frame`. Afterwards the connection has its response, is parked, or is closed.

        Args:
            start: Offset of the header, after the length if `frame` includes it.
        """
        hooks = self.cluster.hooks
        # The debug log needs each request as it was sent.
        repeated = None if log.debug_enabled else connection.shortcuts.find(frame, start)
        handler = None
        if repeated is not None:
            handler = repeated.handle if hooks is NO_HOOKS else hooks.find_handler(connection, repeated)
        if repeated is not None and handler is not None:
            self._handle_repeated(connection, repeated, handler, frame, now_ms, start)
        else:
            ticket = self._read(connection, frame, now_ms, start)
            if ticket is not None:
                self.run(connection, ticket, ticket.api.handle if hooks is NO_HOOKS else hooks.handle)
        for coordinator in self.cluster.coordinators:  # like `settle`, but without the call if nothing is pending
            if coordinator.effects:
                perform(self.cluster, now_ms)

    def _read(self, connection: Connection, frame: bytes, now_ms: int, start: int) -> Ticket | None:
        """Return the request in `frame`, or None if it was rejected, is invalid, or is being decoded in a thread."""
        try:
            header = read_header(frame, start)
            key, version, correlation_id, client_id, body_offset = header
            api = self._loaded.get(key) or self.registry.find(key)
            if api is None or not api.lowest <= version <= api.highest:
                self._refuse(connection, api, header, now_ms)
                return None
            read = api.readers.get(version)
            if read is not None:
                request = read(frame, body_offset, READ_AT_ONCE)
            else:
                request = api.read(version, frame, body_offset, READ_AT_ONCE)
        except TooManyElementsError:
            assert api is not None, "the API was looked up"
            self._decode_in_thread(connection, api, header, frame)
            return None
        except DecodeError as problem:
            connection.close(f"unreadable request: {problem}")
            return None
        except Exception:
            log.error(f"{connection.client}: reading a request failed: {frame[:1_000].hex()}")
            connection.close("internal error in kohort while decoding its request")
            return None
        if log.debug_enabled:
            log.debug(
                f"{connection.client}: {api.spec.name} v{version} {short_text(request)}", client_id=client_id or ""
            )
        else:
            connection.shortcuts = connection.shortcuts.learn(api, request, frame, start, header)
        return Ticket(connection, api, request, version, correlation_id, client_id or "", now_ms)

    def _handle_repeated(
        self, connection: Connection, repeated: Repeated, handler: Handler, frame: bytes, now_ms: int, start: int
    ) -> None:
        at = start + CORRELATION_ID_AT
        failure: Exception | None = None
        if self.cluster.access is None:
            try:
                answer = repeated.answer(connection.node, now_ms)
            except Exception as problem:
                failure = problem
            else:
                if answer is not None:
                    connection.send(answer[:4] + frame[at : at + 4] + answer[8:])
                    return
        (correlation_id,) = _CORRELATION_ID(frame, at)
        api, version, client_id = repeated.api, repeated.version, repeated.client_id
        ticket = Ticket(connection, api, repeated.request, version, correlation_id, client_id, now_ms)
        if failure is None:
            self.run(connection, ticket, handler)
        else:
            self._failed(connection, ticket, failure)

    def _decode_in_thread(self, connection: Connection, api: Api, header: RequestHeader, frame: bytes) -> None:
        hooks = self.cluster.hooks
        handler = api.handle if hooks is NO_HOOKS else hooks.handle
        decode_in_thread(self.cluster.worker, connection, api, header, frame, self._max_elements, handler)

    def _refuse(self, connection: Connection, api: Api | None, header: RequestHeader, now_ms: int) -> None:
        """Close the connection for an unsupported request, as Kafka does.

        ApiVersions gets a response, because clients start with it (KIP-511).
        """
        if api is None:
            connection.close(f"unknown API key {header.api_key}")
        elif header.api_key == API_VERSIONS:
            from kohort.broker.apis.api_versions import unsupported_version

            ticket = Ticket(connection, api, None, 0, header.correlation_id, header.client_id or "", now_ms)
            self.respond(connection, ticket, unsupported_version(self.cluster.settings.kohort_as_kafka))
        else:
            connection.close(
                f"{api.spec.name} is served in versions {api.lowest} to {api.highest}, not {header.api_version}"
            )

    # Handle

    def run(self, connection: Connection, ticket: Ticket, handler: Handler) -> None:
        """Call the handler of a request that has arrived or was held, and send its response."""
        syncs = self.cluster.syncs
        try:
            if syncs is not None:
                syncs.noted()  # by others: the client that called this API waits for it
            response = handler(connection.node, ticket.request, ticket)
        except Exception as problem:
            self._failed(connection, ticket, problem)
            return
        if syncs is None and ticket.requester is connection and type(response) is ticket.api.response:
            # The usual case: the response is sent now, with as few calls as possible.
            ticket.answered = True
            self.respond(connection, ticket, response)
        elif response is not None and is_task(response):
            work = self.in_steps(connection, ticket, response)
            connection.work_on(work, ends_with_me=ticket.api.may_be_abandoned)
        elif self._is_to_be_answered(connection, ticket, response, syncs is not None and syncs.noted()):
            self._answer(connection, ticket, response)

    def _is_to_be_answered(self, connection: Connection, ticket: Ticket, response: Any, noted: bool) -> bool:
        """Return whether the response is sent now; if not, arrange what comes next.

        Args:
            noted: Whether the handler has written something outside of logs, which must be synced first.
        """
        if response is None:
            if not ticket.answered:  # it still waits
                connection.park()
            return False
        if response is NO_REPLY:
            if connection.parked:  # it was held
                connection.unpark()
            return False
        syncs = self.cluster.syncs
        if syncs is None or not noted:
            return True
        connection.park()
        syncs.after(partial(self._answer_synced, ticket, response))
        return False

    def in_steps(self, connection: Connection, ticket: Ticket, steps: Task[Any]) -> Task[Any]:
        """Run a request whose handler is a generator, from its first step to its response frame."""
        syncs, noted = self.cluster.syncs, False
        try:
            if syncs is None:
                response = yield from steps
            else:
                response, noted = yield from _noting(steps, syncs)
        except Exception as problem:
            self._failed(connection, ticket, problem)
            return
        if self._is_to_be_answered(connection, ticket, response, noted):
            if ticket.requester is connection:
                yield from self._respond_in_steps(connection, ticket, response)
            else:
                self._answer(connection, ticket, response)

    def settle(self, now_ms: int) -> None:
        for coordinator in self.cluster.coordinators:
            if coordinator.effects:
                perform(self.cluster, now_ms)

    # Respond

    def _answer_synced(self, ticket: Ticket, response: Any, now_ms: int, error: OSError | None) -> None:
        """Send the response after a change of a topic or a new producer id is on the disk."""
        failed = ErrorCode.kafka_storage_error
        ticket.reply(response if error is None else error_response(ticket.api, ticket.request, failed))

    def _answer(self, connection: Connection, ticket: Ticket, response: Any) -> None:
        """Send a response through the request's origin: the connection, or a wrapper of it (`BrokerHooks`)."""
        ticket.answered = True
        if ticket.requester is connection:
            self.respond(connection, ticket, response)
        else:
            ticket.requester.answer(ticket, response)

    def respond(self, connection: Connection, ticket: Ticket, response: Any) -> None:
        """Write a response in the version of the request; a long one in steps.

        Args:
            response: `bytes` are a complete frame except for its correlation id.
        """
        if type(response) is bytes:
            connection.send(response[:4] + INT.pack(ticket.correlation_id) + response[8:])
            return
        api: Api = ticket.api
        if api.is_short is not None and not api.is_short(ticket.version, response):
            work = self._respond_in_steps(connection, ticket, response)
            connection.work_on(work, ends_with_me=True)
            return
        try:
            write = api.writers.get(ticket.version)
            if write is not None:
                frame = write(ticket.correlation_id, response)
            else:
                frame = api.write(ticket.version, ticket.correlation_id, response)
        except Exception:
            self._writing_failed(connection, ticket, response)
            return
        if log.debug_enabled:
            log.debug(f"{connection.client}: {api.spec.name} v{ticket.version} gets response {short_text(response)}")
        if type(frame) is bytes:
            connection.send(frame)
        else:
            connection.send_frame(frame)

    def _respond_in_steps(self, connection: Connection, ticket: Ticket, response: Any) -> Task[Any]:
        ticket.answered = True
        if log.debug_enabled:
            log.debug(
                f"{connection.client}: {ticket.api.spec.name} v{ticket.version} gets response {short_text(response)}"
            )
        most_bytes = self.cluster.settings.kohort_response_max_bytes
        try:
            frame = yield from ticket.api.write_in_steps(ticket.version, ticket.correlation_id, response, most_bytes)
        except ResponseTooLargeError as problem:
            connection.close(f"the response is too large: {problem} (kohort.response.max.bytes)")
        except Exception:
            self._writing_failed(connection, ticket, response)
        else:
            connection.send_frame(frame)

    # Failures

    def _writing_failed(self, connection: Connection, ticket: Ticket, response: Any) -> None:
        """Send an error response after a bug in encoding; if that fails, too, close the connection."""
        api: Api = ticket.api
        subject = f"{connection.client}: writing a response of {api.spec.name} v{ticket.version}"
        log.error(f"{subject} failed: {short_text(response)}")
        try:
            unknown = error_response(api, ticket.request, ErrorCode.unknown_server_error)
            connection.send_frame(api.write(ticket.version, ticket.correlation_id, unknown))
        except Exception:
            connection.fail()

    def _failed(self, connection: Connection, ticket: Ticket, error: Exception) -> None:
        """Handle an exception of a handler: closing the connection, a disk error, or a bug."""
        subject = f"{connection.client}: {ticket.api.spec.name}"
        if isinstance(error, CloseConnection):
            connection.close(str(error))
        elif isinstance(error, OSError):
            self.cluster.storage_failed(subject, error)
            self._answer_error(connection, ticket, ErrorCode.kafka_storage_error)
        else:
            log.error(f"{subject} v{ticket.version} failed: {short_text(ticket.request)}", error)
            self._answer_error(connection, ticket, ErrorCode.unknown_server_error)

    def _answer_error(self, connection: Connection, ticket: Ticket, error: ErrorCode) -> None:
        if not ticket.answered:
            self._answer(connection, ticket, error_response(ticket.api, ticket.request, error))


def _noting(steps: Task[Any], syncs: Syncs) -> Task[tuple[Any, bool]]:
    """Run a handler's steps. Return its result, and whether a step has written something outside of logs.

    Other handlers may write between the steps.
    """
    noted = False
    while True:
        syncs.noted()
        try:
            next(steps)
        except StopIteration as end:
            return end.value, syncs.noted() or noted
        noted = syncs.noted() or noted
        yield
