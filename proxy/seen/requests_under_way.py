"""Requests that change a group when they are answered: before that, nobody here knows whether they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kohort.protocol.api_keys import API_BY_NAME
from kohort.proxy.seen.overheard_reading import request_in

if TYPE_CHECKING:
    from kohort.proxy.tap import Line, Overheard

CHANGING: Final = frozenset(
    API_BY_NAME[name].key
    for name in ("leave_group", "consumer_group_heartbeat", "share_group_heartbeat", "streams_group_heartbeat")
)
"""Not JoinGroup and SyncGroup, which wait: a classic group keeps those itself."""


class RequestsUnderWay:
    """Those that have been heard and not been answered."""

    def __init__(self) -> None:
        self._requests: set[Overheard] = set()

    def asked(self, overheard: Overheard) -> None:
        """A request goes to the cluster."""
        if overheard.header.api_key in CHANGING:
            self._requests.add(overheard)

    def answered(self, overheard: Overheard) -> None:
        """The cluster has answered it."""
        self._requests.discard(overheard)

    def hung_up(self, line: Line) -> None:
        """A connection has ended."""
        self._requests = {each for each in self._requests if each.line is not line}

    def may_change(self, group_id: str) -> bool:
        """Whether one of them is about a group."""
        name = group_id.encode()
        about = (request_in(each) for each in self._requests if name in each.request)
        return any(each is not None and each.group_id == group_id for each in about)
