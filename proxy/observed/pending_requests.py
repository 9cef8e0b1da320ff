"""Pending requests that may change a group, whose outcome is unknown before their responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kohort.protocol.api_keys import API_BY_NAME
from kohort.proxy.observed.epoch_protocols import EPOCH_PROTOCOLS
from kohort.proxy.observed.message_reading import read_request

if TYPE_CHECKING:
    from kohort.proxy.tap import Line, ObservedCall

CHANGING: Final = frozenset(
    API_BY_NAME[name].key
    for name in ("leave_group", *(protocol.heartbeat_api for protocol in EPOCH_PROTOCOLS.values()))
)  # without JoinGroup and SyncGroup, which wait: a classic group tracks those itself


class PendingRequests:
    """Observed requests without a response."""

    def __init__(self) -> None:
        self._requests: set[ObservedCall] = set()

    def on_request(self, observed: ObservedCall) -> None:
        if observed.header.api_key in CHANGING:
            self._requests.add(observed)

    def on_response(self, observed: ObservedCall) -> None:
        self._requests.discard(observed)

    def on_close(self, line: Line) -> None:
        self._requests = {request for request in self._requests if request.line is not line}

    def may_change(self, group_id: str) -> bool:
        """Return whether any of them is about a group."""
        name = group_id.encode()
        about = (read_request(request) for request in self._requests if name in request.request)
        return any(request is not None and request.group_id == group_id for request in about)
