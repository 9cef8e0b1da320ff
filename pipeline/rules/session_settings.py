"""Names of the session settings: of the client in the classic protocol, of the group in the newer ones."""

from __future__ import annotations

from kohort.pipeline.history.inputs import Member


def session_setting(member: Member) -> str:
    """Return the setting of the session timeout as text for a sentence."""
    return _setting(member, "session.timeout.ms")


def beat_setting(member: Member) -> str:
    """Return the setting of the heartbeat interval as text for a sentence."""
    return _setting(member, "heartbeat.interval.ms")


def _setting(member: Member, name: str) -> str:
    if member.speaks == "classic":
        return name
    return f"{member.speaks}.{name} of the group (kafka-configs --entity-type groups)"
