"""Last parsed heartbeat and response of a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.wire import INT
from kohort.proxy.seen.overheard_reading import BODY_AT

if TYPE_CHECKING:
    from kohort.proxy.seen.classic_sight import ClassicSight
    from kohort.proxy.seen.epoch_sight import EpochSight
    from kohort.proxy.tap import ObservedCall


class LastHeartbeat:
    """Heartbeat with which the next one is compared, so that it need not be parsed if nothing changed."""

    __slots__ = ("_answer", "_key", "_request", "_version", "member_id", "sight")

    def __init__(self, observed: ObservedCall, sight: ClassicSight | EpochSight, member_id: str) -> None:
        assert observed.answer is not None, "it was read"
        self._key, self._version = observed.header.api_key, observed.header.api_version
        self._request = observed.request[BODY_AT + INT.size :]
        self._answer = observed.answer[BODY_AT:]
        self.sight = sight
        self.member_id = member_id

    def is_repeated_by(self, observed: ObservedCall) -> bool:
        """Return whether another heartbeat and its response differ only in their correlation ids."""
        if observed.answer is None or self._request != observed.request[BODY_AT + INT.size :]:
            return False
        header = observed.header
        is_same_api = (self._key, self._version) == (header.api_key, header.api_version)
        return is_same_api and self._answer == observed.answer[BODY_AT:]
