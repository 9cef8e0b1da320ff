"""Results of logins: counters by listener, and group events for some of the failed ones.

Kafka has the same counters for each listener in its socket server's metrics. They count every login; events are limited
to one in TOLD_EVERY_MS for each client, so that many failed logins do not fill the event log.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kohort.coordinator.requesting_client import Client

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import GroupEvents

TOLD_EVERY_MS = 10_000  # minimum interval of events of one client that fails repeatedly

MOST_REMEMBERED = 1_000  # maximum number of failed clients remembered; the oldest is dropped first

LONGEST_TEXT = 200  # maximum characters of a reason or a client's name in an event

SUCCEEDED, FAILED, RENEWED, NOT_RENEWED, EXPIRED = (
    "successful_authentication",
    "failed_authentication",
    "successful_reauthentication",
    "failed_reauthentication",
    "expired_connections_killed",
)  # names of Kafka's metrics, with underscores

OUTCOMES = (SUCCEEDED, FAILED, RENEWED, NOT_RENEWED, EXPIRED)

AUTHENTICATION_FAILED, SESSION_EXPIRED = "authentication_failed", "authentication_expired"  # types of events


class Entrant(Protocol):
    """A connection whose client logs in."""

    client_host: str
    client_software: str | None
    listener_name: str

    @property
    def node_id(self) -> int: ...


@dataclass(slots=True)
class _Failing:
    """A client that failed before."""

    times: int
    told_ms: int


class Logins:
    """The logins at all nodes of a cluster."""

    def __init__(self, group_events: GroupEvents) -> None:
        self._group_events = group_events
        self.counts: Counter[tuple[int, str, str]] = Counter()  # by node, listener, and one of OUTCOMES
        self._failing: dict[tuple[str, ...], _Failing] = {}

    def succeeded(self, entrant: Entrant, *, renewed: bool) -> None:
        self._count(entrant, RENEWED if renewed else SUCCEEDED)

    def failed(self, entrant: Entrant, reason: str, now_ms: int, *, client_id: str = "", renewed: bool = False) -> None:
        """Count a failed login, or a failed renewal of a session.

        Args:
            reason: As in the log; contains no secret.
        """
        self._count(entrant, NOT_RENEWED if renewed else FAILED)
        self._tell(AUTHENTICATION_FAILED, entrant, client_id, {"reason": reason[:LONGEST_TEXT]}, now_ms)

    def expired(self, entrant: Entrant, principal: str, now_ms: int) -> None:
        """Count an expired session whose client sent a request instead of renewing it."""
        self._count(entrant, EXPIRED)
        self._tell(SESSION_EXPIRED, entrant, "", {"principal": principal[:LONGEST_TEXT]}, now_ms)

    def _count(self, entrant: Entrant, outcome: str) -> None:
        self.counts[entrant.node_id, entrant.listener_name, outcome] += 1

    def _tell(self, kind: str, entrant: Entrant, client_id: str, detail: dict[str, str], now_ms: int) -> None:
        client = Client(client_id[:LONGEST_TEXT], entrant.client_host, entrant.client_software)
        times = self._times_if_due((kind, entrant.listener_name, client.client_id, client.client_host), now_ms)
        if times:
            detail = {"listener": entrant.listener_name, **detail, "n": str(times)}
            self._group_events.tell(entrant.node_id, kind, client, detail)

    def _times_if_due(self, key: tuple[str, ...], now_ms: int) -> int:
        failing = self._failing.get(key)
        if failing is None:
            if len(self._failing) >= MOST_REMEMBERED:
                del self._failing[next(iter(self._failing))]
            failing = self._failing[key] = _Failing(0, now_ms - TOLD_EVERY_MS)
        failing.times += 1
        if now_ms - failing.told_ms < TOLD_EVERY_MS:
            return 0
        failing.told_ms = now_ms
        return failing.times
