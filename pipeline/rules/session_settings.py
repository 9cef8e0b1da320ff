"""Names of the session settings: of the client in the classic protocol, of the group in the consumer protocol."""

from __future__ import annotations

from kohort.pipeline.history.inputs import Member


def session_setting(member: Member) -> str:
    """Return the setting of the session timeout as text for a sentence."""
    return _of_group("consumer.session.timeout.ms") if member.speaks == "consumer" else "session.timeout.ms"


def beat_setting(member: Member) -> str:
    """Return the setting of the heartbeat interval as text for a sentence."""
    return _of_group("consumer.heartbeat.interval.ms") if member.speaks == "consumer" else "heartbeat.interval.ms"


def _of_group(name: str) -> str:
    return f"{name} of the group (kafka-configs --entity-type groups)"
