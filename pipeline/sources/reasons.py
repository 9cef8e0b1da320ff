"""Parsing of the reasons for rebalances in coordinator log lines of every release."""

from __future__ import annotations

import re

_GENERATED_TAIL = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
_MEMBER_IN_REASON = re.compile(
    r"(?:(?:new member|removing member|for member|Leader|dynamic member|member) |request for \()"
    r"(\S+?-[0-9a-f]{8}-[0-9a-f-]{27})"
)
_INSTANCE_IN_REASON = re.compile(r"with group instance id (?:Some\()?([^;)\s]+)")

_REASONS = (
    ("Adding new member", "join_new"),
    ("on heartbeat expiration", "session_expired"),
    ("LeaveGroup", "leave_explicit"),
    ("re-joining group", "rejoin_leader"),
    ("Updating metadata", "metadata_changed"),
    ("pending sync request expiration", "sync_timeout"),
    ("sync expiration", "sync_timeout"),
    ("over capacity", "over_capacity"),
    ("selectedProtocol will change", "static_protocol_changed"),
    ("Downgrade group", "protocol_migration"),
    ("assignment failed", "assignment_store_failed"),
    ("Error when storing group assignment", "assignment_store_failed"),
)


def cause_of(reason: str) -> str:
    client = client_reason_in(reason) or ""
    for words, cause in _REASONS:
        if words in reason:
            if cause == "leave_explicit" and "poll timeout" in client:
                return "leave_poll_timeout"
            if cause == "join_new" and instance_in(reason) is not None:
                return "join_static"
            if cause == "metadata_changed" and "revoke partitions" in client:
                return "cooperative_followup"
            return cause
    return "unknown"


def instance_in(reason: str) -> str | None:
    """Return a new member's instance id, or None. Kafka before 4 prints an Option, later releases the id or null."""
    match = _INSTANCE_IN_REASON.search(reason)
    return None if match is None or match[1] in ("None", "null") else match[1]


def client_reason_in(text: str) -> str | None:
    """Return the reason that the client sent (KIP-800), or None."""
    _, separator, reason = text.partition("client reason: ")
    reason = reason.removesuffix(")")
    return None if not separator or reason == "not provided" else reason[:255]


def member_in(reason: str) -> str | None:
    """Return the id of the member that caused the rebalance, or None if it isn't named."""
    match = _MEMBER_IN_REASON.search(reason + " ")
    return match[1] if match else None


def client_of(member_id: str) -> str:
    """Return the prefix of a generated member id: the client id, or a static member's instance id."""
    return _GENERATED_TAIL.sub("", member_id)
