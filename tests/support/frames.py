"""Encoded requests, and short forms of some long fields."""

from __future__ import annotations

from kohort.protocol.messages import message_of
from kohort.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopic

message = message_of


def frame(
    name: str, version: int = 0, correlation_id: int = 0, client_id: str | None = "ada", **fields: object
) -> bytes:
    """Return an encoded request with its length."""
    request = message(name)
    body = request.write_request(version, correlation_id, client_id, request.request(**fields))
    return len(body).to_bytes(4, "big") + bytes(body)


def heartbeat(correlation_id: int = 0, version: int = 0) -> bytes:
    """Return the smallest possible request."""
    return frame("heartbeat", version, correlation_id, group_id="g", generation_id=1, member_id="m")


def long_request(correlation_id: int = 1) -> bytes:
    """Return a FindCoordinator request, for which tests of turns install a slow handler."""
    return frame("find_coordinator", 4, correlation_id, coordinator_keys=("g",))


def to_fetch(group_id: str, topic: str | None = None, *partitions: int) -> tuple[OffsetFetchRequestGroup, ...]:
    """Return the only group of an OffsetFetch request, for all committed offsets without a topic."""
    topics = None if topic is None else (OffsetFetchRequestTopic(name=topic, partition_indexes=partitions),)
    return (OffsetFetchRequestGroup(group_id=group_id, topics=topics),)
