"""Who was in a share group, and when: from its records, or from a broker's events where there are none."""

from __future__ import annotations

from dataclasses import dataclass

from kohort.pipeline.history.inputs import GroupInput, by_offset
from kohort.pipeline.records.layouts import SHARE_MEMBER

VANISHED, LEFT, UNKNOWN = "vanished", "left", "unknown"
"""How a stay ended. Records of a member that leaves and of one that expires are alike: only events tell."""
EXPIRED = ("session_expired", "epoch_timeout")
"""Causes of events that tell of a member which vanished."""


@dataclass(slots=True)
class ShareStay:
    """A member id's time in the group. end_ms: None while it is there."""

    member_id: str
    name: str
    start_ms: int
    end_ms: int | None = None
    ended: str = UNKNOWN


def share_stays(group: GroupInput) -> list[ShareStay]:
    """All stays, in the order of their beginnings."""
    stays = _from_records(group)
    causes = _causes(group)
    if not stays:
        stays = _from_events(group)
    for stay in stays:
        if stay.end_ms is not None and (cause := causes.get(stay.member_id)):
            stay.ended = VANISHED if cause in EXPIRED else LEFT
    return stays


def _from_records(group: GroupInput) -> list[ShareStay]:
    rows, there = by_offset(group.members), dict[str, ShareStay]()
    found: list[ShareStay] = []
    for record in group.records:
        if record.record_type != SHARE_MEMBER or record.member_id is None:
            continue
        if record.is_tombstone:
            if (stay := there.pop(record.member_id, None)) is not None:
                stay.end_ms = record.ts_ms
        elif record.member_id not in there:
            client_id = next((row.client_id for row in rows.get(record.offset, ()) if row.client_id), None)
            name = group.names.get(record.member_id) or client_id or record.member_id
            there[record.member_id] = ShareStay(record.member_id, name, record.ts_ms)
            found.append(there[record.member_id])
    return found


def _from_events(group: GroupInput) -> list[ShareStay]:
    there: dict[str, ShareStay] = {}
    found: list[ShareStay] = []
    for event in group.events:
        if event.member_id is None or event.group_type not in (None, "share"):
            continue
        if event.kind == "member_added" and event.member_id not in there:
            name = group.names.get(event.member_id) or event.client_id or event.member_id
            there[event.member_id] = ShareStay(event.member_id, name, event.ts)
            found.append(there[event.member_id])
        elif event.kind == "member_removed" and (stay := there.pop(event.member_id, None)) is not None:
            stay.end_ms = event.ts
    return found


def _causes(group: GroupInput) -> dict[str, str]:
    """Why each member went, by its id, as far as events tell."""
    return {
        event.member_id: event.cause
        for event in group.events
        if event.kind == "member_removed" and event.member_id and event.cause
    }
