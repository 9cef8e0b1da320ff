"""Where a member's session timeout is set: by the client in the classic protocol, for the group in the consumer protocol."""

from __future__ import annotations

from kohort.pipeline.history.inputs import Member


def session_setting(member: Member) -> str:
    """The setting as a sentence names it."""
    return _of_group("consumer.session.timeout.ms") if member.speaks == "consumer" else "session.timeout.ms"


def beat_setting(member: Member) -> str:
    """How often it sends heartbeats, likewise."""
    return _of_group("consumer.heartbeat.interval.ms") if member.speaks == "consumer" else "heartbeat.interval.ms"


def _of_group(name: str) -> str:
    return f"{name} of the group (kafka-configs --entity-type groups)"
