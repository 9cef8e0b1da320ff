"""Gate points: the points of a request's processing, and of a coordinator's load, at which a gate can hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kohort.protocol.errors import ErrorCode

REQUEST, ANSWER, LOAD = "request", "answer", "load"
# Stages: before the broker handles a request; when its response is ready; at the end of a load.


@dataclass(frozen=True)
class GatePoint:
    """Point at which a gate can hold requests."""

    api: str
    stage: str
    about: str
    only_without_error: bool = False

    def is_for(self, api: str, stage: str, response: Any) -> bool:
        """Return whether a request is at this point.

        Args:
            response: The response, at the stage ANSWER.
        """
        if self.stage != stage or self.api != api:
            return False
        return not self.only_without_error or response.error_code is ErrorCode.none


OFFSETS_LOADED = "offsets-loaded"

GATE_POINTS = {
    "join-received": GatePoint(
        "JoinGroup", REQUEST, "the JoinGroup request has arrived, and the coordinator has not handled it"
    ),
    "join-complete": GatePoint(
        "JoinGroup", ANSWER, "the next generation exists, and its members have not received it", True
    ),
    "sync-received": GatePoint(
        "SyncGroup", REQUEST, "the SyncGroup request has arrived, and the coordinator has not handled it"
    ),
    "sync-response": GatePoint(
        "SyncGroup", ANSWER, "the assignment is distributed, and the members have not received it", True
    ),
    "heartbeat-received": GatePoint(
        "Heartbeat", REQUEST, "the heartbeat has arrived, and the coordinator has not handled it"
    ),
    "heartbeat-response": GatePoint(
        "Heartbeat", ANSWER, "the heartbeat is handled, and the member has not received the response"
    ),
    "streams-heartbeat-received": GatePoint(
        "StreamsGroupHeartbeat",
        REQUEST,
        "a member of a streams group joins, sends a heartbeat or leaves, and the coordinator has not handled it",
    ),
    "streams-heartbeat-response": GatePoint(
        "StreamsGroupHeartbeat",
        ANSWER,
        "the heartbeat is handled, and the member has not received its epoch and tasks",
        True,
    ),
    "consumer-heartbeat-received": GatePoint(
        "ConsumerGroupHeartbeat",
        REQUEST,
        "a member of a consumer group joins, sends a heartbeat or leaves, and the coordinator has not handled it",
    ),
    "consumer-heartbeat-response": GatePoint(
        "ConsumerGroupHeartbeat",
        ANSWER,
        "the heartbeat is handled, and the member has not received its epoch and assignment",
        True,
    ),
    "share-heartbeat-received": GatePoint(
        "ShareGroupHeartbeat",
        REQUEST,
        "a member of a share group joins, sends a heartbeat or leaves, and the coordinator has not handled it",
    ),
    "share-heartbeat-response": GatePoint(
        "ShareGroupHeartbeat",
        ANSWER,
        "the heartbeat is handled, and the member has not received its epoch and assignment",
        True,
    ),
    "share-fetch-received": GatePoint(
        "ShareFetch", REQUEST, "the ShareFetch request has arrived, and the leader has not handled it"
    ),
    "share-fetch-response": GatePoint(
        "ShareFetch", ANSWER, "the member has acquired records and has not received them", True
    ),
    "share-acknowledge-received": GatePoint(
        "ShareAcknowledge", REQUEST, "the ShareAcknowledge request has arrived, and the leader has not handled it"
    ),
    "share-acknowledge-response": GatePoint(
        "ShareAcknowledge",
        ANSWER,
        "the delivery states are written, and the member has not received the response",
        True,
    ),
    "leave-received": GatePoint(
        "LeaveGroup", REQUEST, "the LeaveGroup request has arrived, and the coordinator has not handled it"
    ),
    "commit-received": GatePoint(
        "OffsetCommit", REQUEST, "the OffsetCommit request has arrived, and the coordinator has not handled it"
    ),
    "commit-response": GatePoint(
        "OffsetCommit", ANSWER, "the offsets are written, and the member has not received the response"
    ),
    "offset-fetch-received": GatePoint(
        "OffsetFetch", REQUEST, "the OffsetFetch request has arrived, and the coordinator has not handled it"
    ),
    OFFSETS_LOADED: GatePoint(
        "", LOAD, "a new coordinator has read all groups, and clients still receive COORDINATOR_LOAD_IN_PROGRESS"
    ),
}
# in the order of a member's life cycle
