"""Delayed responses to failed logins.

The response and the disconnect wait for `connection.failed.authentication.delay.ms`, so that guessing passwords takes
time. Meanwhile nothing is read from the connection; other connections are not affected (logins.md §6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.ticket import Ticket


def fail_late(cluster: BrokerCluster, ticket: Ticket, response: object | None, reason: str) -> None:
    """Send a response, if any, and close the connection after the delay.

    Args:
        reason: Reason for the log; must not contain secrets.
    """
    requester, now_ms = ticket.requester, ticket.received_at_ms
    renewed = requester.login is not None and requester.login.renewing
    cluster.logins.failed(requester, reason, now_ms, client_id=ticket.client_id, renewed=renewed)
    delay_ms = cluster.settings.connection_failed_authentication_delay_ms
    failure = _Failure(ticket.received_at_ms + delay_ms, ticket, response, f"failed authentication: {reason}")
    if delay_ms <= 0:
        failure.on_complete(ticket.received_at_ms, expired=True)
    else:
        ticket.when_gone(lambda: cluster.purgatory.cancel(failure))
        cluster.purgatory.wait(failure)


class _Failure(DelayedOperation):
    """A delayed response."""

    __slots__ = ("_reason", "_response", "_ticket")

    def __init__(self, deadline_ms: int, ticket: Ticket, response: object | None, reason: str) -> None:
        super().__init__(deadline_ms)
        self._ticket = ticket
        self._response = response
        self._reason = reason

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._ticket.reply_and_close(self._response, self._reason)
