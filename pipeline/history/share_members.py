"""Members of a share group over time, from its records, or from a broker's events without records."""

from __future__ import annotations

from dataclasses import dataclass

from kohort.pipeline.history.inputs import GroupInput, by_offset
from kohort.protocol.records.layouts import SHARE_MEMBER

# Ends of a stay. A leaving and an expired member write the same records; only events distinguish them.
VANISHED, LEFT, UNKNOWN = "vanished", "left", "unknown"
EXPIRED = ("session_expired", "epoch_timeout")  # causes of events about an expired member


@dataclass(slots=True)
class ShareStay:
    """Time of a member id in the group. `end_ms` is unset while it is a member."""

    member_id: str
    name: str
    start_ms: int
    end_ms: int | None = None
    ended: str = UNKNOWN


def share_stays(group: GroupInput) -> list[ShareStay]:
    stays = _from_records(group)
    causes = _causes(group)
    if not stays:
        stays = _from_events(group)
    for stay in stays:
        if stay.end_ms is not None and (cause := causes.get(stay.member_id)):
            stay.ended = VANISHED if cause in EXPIRED else LEFT
    return stays


def _from_records(group: GroupInput) -> list[ShareStay]:
    rows, current = by_offset(group.members), dict[str, ShareStay]()
    stays: list[ShareStay] = []
    for record in group.records:
        if record.record_type != SHARE_MEMBER or record.member_id is None:
            continue
        if record.is_tombstone:
            if (stay := current.pop(record.member_id, None)) is not None:
                stay.end_ms = record.ts_ms
        elif record.member_id not in current:
            client_id = next((row.client_id for row in rows.get(record.offset, ()) if row.client_id), None)
            name = group.names.get(record.member_id) or client_id or record.member_id
            current[record.member_id] = ShareStay(record.member_id, name, record.ts_ms)
            stays.append(current[record.member_id])
    return stays


def _from_events(group: GroupInput) -> list[ShareStay]:
    current: dict[str, ShareStay] = {}
    stays: list[ShareStay] = []
    for event in group.events:
        if event.member_id is None or event.group_type not in (None, "share"):
            continue
        if event.kind == "member_added" and event.member_id not in current:
            name = group.names.get(event.member_id) or event.client_id or event.member_id
            current[event.member_id] = ShareStay(event.member_id, name, event.ts)
            stays.append(current[event.member_id])
        elif event.kind == "member_removed" and (stay := current.pop(event.member_id, None)) is not None:
            stay.end_ms = event.ts
    return stays


def _causes(group: GroupInput) -> dict[str, str]:
    return {
        event.member_id: event.cause
        for event in group.events
        if event.kind == "member_removed" and event.member_id and event.cause
    }
