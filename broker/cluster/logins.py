"""How logins end: counted by listener, and those that fail are told of in group events, a few of many.

Kafka counts the same in its socket server's metrics, for each listener. Counters grow with each login; events come at
most every TOLD_EVERY_MS for one client, so that a storm of failed logins fills no event log.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kohort.coordinator.requesting_client import Client

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import GroupEvents

TOLD_EVERY_MS = 10_000
"""How often there is an event of one client that fails again and again."""

MOST_REMEMBERED = 1_000
"""Clients that failed, and are remembered; the oldest goes first."""

LONGEST_TEXT = 200
"""Characters of a reason or a name from outside that an event keeps."""

SUCCEEDED, FAILED, RENEWED, NOT_RENEWED, EXPIRED = (
    "successful_authentication",
    "failed_authentication",
    "successful_reauthentication",
    "failed_reauthentication",
    "expired_connections_killed",
)
"""As Kafka's metrics are called, with underscores."""

OUTCOMES = (SUCCEEDED, FAILED, RENEWED, NOT_RENEWED, EXPIRED)

AUTHENTICATION_FAILED, SESSION_EXPIRED = "authentication_failed", "authentication_expired"
"""Kinds of events."""


class Entrant(Protocol):
    """A connection whose client wants to come in, as far as this has to know it."""

    client_host: str
    client_software: str | None
    listener_name: str

    @property
    def node_id(self) -> int:
        """The node that it is connected to."""
        ...


@dataclass(slots=True)
class _Failing:
    """A client that failed before."""

    times: int
    told_ms: int


class Logins:
    """One for all nodes of a cluster."""

    def __init__(self, group_events: GroupEvents) -> None:
        self._group_events = group_events
        self.counts: Counter[tuple[int, str, str]] = Counter()
        """By node, listener, and one of OUTCOMES."""
        self._failing: dict[tuple[str, ...], _Failing] = {}

    def succeeded(self, entrant: Entrant, *, renewed: bool) -> None:
        """Counts a client that has come in, or may stay."""
        self._count(entrant, RENEWED if renewed else SUCCEEDED)

    def failed(self, entrant: Entrant, reason: str, now_ms: int, *, client_id: str = "", renewed: bool = False) -> None:
        """Counts a client that may not come in, or not stay. `reason`, without a secret, is what the log says."""
        self._count(entrant, NOT_RENEWED if renewed else FAILED)
        self._tell(AUTHENTICATION_FAILED, entrant, client_id, {"reason": reason[:LONGEST_TEXT]}, now_ms)

    def expired(self, entrant: Entrant, principal: str, now_ms: int) -> None:
        """A session is over, and its client said something else than that it wants to renew it."""
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
        """How often that client has failed so; 0: there was an event of it lately."""
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
