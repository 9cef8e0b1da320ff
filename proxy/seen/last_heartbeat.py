"""A heartbeat and its response as they were read last on a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.wire import INT
from kohort.proxy.seen.overheard_reading import BODY_AT

if TYPE_CHECKING:
    from kohort.proxy.seen.classic_sight import ClassicSight
    from kohort.proxy.seen.epoch_sight import EpochSight
    from kohort.proxy.tap import Overheard


class LastHeartbeat:
    """What is compared with the next heartbeat, so that it need not be read if nothing changed."""

    __slots__ = ("_answer", "_key", "_request", "_version", "member_id", "sight")

    def __init__(self, overheard: Overheard, sight: ClassicSight | EpochSight, member_id: str) -> None:
        assert overheard.answer is not None, "it was read"
        self._key, self._version = overheard.header.api_key, overheard.header.api_version
        self._request = overheard.request[BODY_AT + INT.size :]
        self._answer = overheard.answer[BODY_AT:]
        self.sight = sight
        self.member_id = member_id

    def is_repeated_by(self, overheard: Overheard) -> bool:
        """Return whether another heartbeat and its response are the same but for their correlation ids."""
        if overheard.answer is None or self._request != overheard.request[BODY_AT + INT.size :]:
            return False
        header = overheard.header
        is_same_api = (self._key, self._version) == (header.api_key, header.api_version)
        return is_same_api and self._answer == overheard.answer[BODY_AT:]
