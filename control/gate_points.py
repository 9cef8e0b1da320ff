"""Gate points: where on a request's way a gate can stand, and the one at the end of a load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kohort.protocol.errors import ErrorCode

REQUEST, ANSWER, LOAD = "request", "answer", "load"
"""Where something can be stopped: before the broker has seen a request; when its answer is ready; at a load's end."""


@dataclass(frozen=True)
class GatePoint:
    """Where a gate may stand."""

    api: str
    stage: str
    about: str
    only_without_error: bool = False

    def is_for(self, api: str, stage: str, response: Any) -> bool:
        """Whether a request of that API is at this point; `response`: its answer, at the stage ANSWER."""
        if self.stage != stage or self.api != api:
            return False
        return not self.only_without_error or response.error_code is ErrorCode.none


OFFSETS_LOADED = "offsets-loaded"

GATE_POINTS = {
    "join-received": GatePoint("JoinGroup", REQUEST, "a member asks to join; the coordinator has not seen it"),
    "join-complete": GatePoint("JoinGroup", ANSWER, "a generation is there; its members have not heard of it", True),
    "sync-received": GatePoint("SyncGroup", REQUEST, "a member asks for its share; the coordinator has not seen it"),
    "sync-answer": GatePoint("SyncGroup", ANSWER, "shares are handed out; the members have not heard", True),
    "heartbeat-received": GatePoint("Heartbeat", REQUEST, "a member beats; the coordinator has not noticed"),
    "heartbeat-answer": GatePoint("Heartbeat", ANSWER, "a member has beaten; it does not know the answer"),
    "streams-heartbeat-received": GatePoint(
        "StreamsGroupHeartbeat", REQUEST, "a member of a streams group joins, beats or leaves; nobody has noticed"
    ),
    "streams-heartbeat-answer": GatePoint(
        "StreamsGroupHeartbeat", ANSWER, "it has; it does not know its epoch and its tasks", True
    ),
    "consumer-heartbeat-received": GatePoint(
        "ConsumerGroupHeartbeat", REQUEST, "a member of a consumer group joins, beats or leaves; nobody has noticed"
    ),
    "consumer-heartbeat-answer": GatePoint(
        "ConsumerGroupHeartbeat", ANSWER, "it has; it does not know its epoch and what it is to have", True
    ),
    "share-heartbeat-received": GatePoint(
        "ShareGroupHeartbeat", REQUEST, "a member of a share group joins, beats or leaves; nobody has noticed"
    ),
    "share-heartbeat-answer": GatePoint(
        "ShareGroupHeartbeat", ANSWER, "it has; it does not know its epoch and what it is to fetch from", True
    ),
    "share-fetch-received": GatePoint("ShareFetch", REQUEST, "a member asks for records; the leader has not seen it"),
    "share-fetch-answer": GatePoint("ShareFetch", ANSWER, "records are the member's; it does not have them yet", True),
    "share-acknowledge-received": GatePoint(
        "ShareAcknowledge", REQUEST, "a member says what has become of records; the leader has not seen it"
    ),
    "share-acknowledge-answer": GatePoint(
        "ShareAcknowledge", ANSWER, "what has become of records is written; the member does not know", True
    ),
    "leave-received": GatePoint("LeaveGroup", REQUEST, "a member leaves; the coordinator has not seen it"),
    "commit-received": GatePoint("OffsetCommit", REQUEST, "offsets are committed; the coordinator has not seen them"),
    "commit-answer": GatePoint("OffsetCommit", ANSWER, "offsets are written; the member does not know"),
    "offset-fetch-received": GatePoint("OffsetFetch", REQUEST, "a member asks where to go on; nobody has looked"),
    OFFSETS_LOADED: GatePoint("", LOAD, "a new coordinator has read all groups; clients still hear that it is loading"),
}
"""What one may hold. The order is that of a member's life."""
