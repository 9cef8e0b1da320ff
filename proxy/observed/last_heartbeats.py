"""Last parsed heartbeats and responses, with which later ones are compared by their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kohort.protocol.wire import INT
from kohort.proxy.observed.message_reading import BODY_AT

if TYPE_CHECKING:
    from kohort.proxy.observed.group_listener import AnyObserved
    from kohort.proxy.tap import Line, ObservedCall

MAX_PER_CONNECTION: Final = 16  # heartbeats kept per connection, by client id; the oldest are dropped


class LastHeartbeat:
    """Heartbeat with which the next one is compared, so that it need not be parsed if nothing changed."""

    __slots__ = ("_answer", "_key", "_request", "_version", "group", "member_id")

    def __init__(self, observed: ObservedCall, group: AnyObserved, member_id: str) -> None:
        assert observed.answer is not None, "it was read"
        self._key, self._version = observed.header.api_key, observed.header.api_version
        self._request = observed.request[BODY_AT + INT.size :]
        self._answer = observed.answer[BODY_AT:]
        self.group = group
        self.member_id = member_id

    def is_repeated_by(self, observed: ObservedCall) -> bool:
        """Return whether another heartbeat and its response differ only in their correlation ids."""
        if observed.answer is None or self._request != observed.request[BODY_AT + INT.size :]:
            return False
        header = observed.header
        is_same_api = (self._key, self._version) == (header.api_key, header.api_version)
        return is_same_api and self._answer == observed.answer[BODY_AT:]


class LastHeartbeats:
    """Last heartbeats without an error or changes, by connection number and client id."""

    def __init__(self) -> None:
        self.by_line: dict[int, dict[str, LastHeartbeat]] = {}

    def find_repeated(self, observed: ObservedCall) -> LastHeartbeat | None:
        """Return the client's last heartbeat if this one is equal."""
        by_client = self.by_line.get(observed.line.number)
        heartbeat = None if by_client is None else by_client.get(observed.header.client_id or "")
        return heartbeat if heartbeat is not None and heartbeat.is_repeated_by(observed) else None

    def add(self, observed: ObservedCall, group: AnyObserved, member_id: str) -> None:
        by_client = self.by_line.setdefault(observed.line.number, {})
        by_client[observed.header.client_id or ""] = LastHeartbeat(observed, group, member_id)
        if len(by_client) > MAX_PER_CONNECTION:
            del by_client[next(iter(by_client))]

    def remove(self, observed: ObservedCall) -> None:
        """Remove the last heartbeat of the same client."""
        self.by_line.get(observed.line.number, {}).pop(observed.header.client_id or "", None)

    def remove_group(self, group: AnyObserved) -> None:
        for number in group.lines:
            by_client = self.by_line.get(number, {})
            for client_id in [name for name, heartbeat in by_client.items() if heartbeat.group is group]:
                del by_client[client_id]

    def on_close(self, line: Line) -> None:
        self.by_line.pop(line.number, None)
