"""What the reasons say that a coordinator's lines give for a rebalance, in the words of every release."""

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
    """The closed list's word for a reason text of the coordinator's; "unknown" when none fits."""
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
    """A new member's instance id. Kafka before 4 prints an Option, later ones the id or null."""
    found = _INSTANCE_IN_REASON.search(reason)
    return None if found is None or found[1] in ("None", "null") else found[1]


def client_reason_in(text: str) -> str | None:
    """What the client itself gave as its reason (KIP-800)."""
    _, found, reason = text.partition("client reason: ")
    reason = reason.removesuffix(")")
    return None if not found or reason == "not provided" else reason[:255]


def member_in(reason: str) -> str | None:
    """The member that the rebalance is for, if it is named."""
    found = _MEMBER_IN_REASON.search(reason + " ")
    return found[1] if found else None


def client_of(member_id: str) -> str:
    """What a coordinator put in front of a generated member id: the client id, or a static member's instance id."""
    return _GENERATED_TAIL.sub("", member_id)
