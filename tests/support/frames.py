"""Requests as they travel."""

from __future__ import annotations

from kohort.protocol.messages import message_of

message = message_of
"""The messages of an API."""


def frame(
    name: str, version: int = 0, correlation_id: int = 0, client_id: str | None = "ada", **fields: object
) -> bytes:
    """A request as it travels, its length included."""
    made = message(name)
    body = made.write_request(version, correlation_id, client_id, made.request(**fields))
    return len(body).to_bytes(4, "big") + bytes(body)


def heartbeat(correlation_id: int = 0, version: int = 0) -> bytes:
    """The smallest request there is."""
    return frame("heartbeat", version, correlation_id, group_id="g", generation_id=1, member_id="m")


def long_request(correlation_id: int = 1) -> bytes:
    """A FindCoordinator request: tests of turns give it a handler that takes long."""
    return frame("find_coordinator", 4, correlation_id, coordinator_keys=("g",))
