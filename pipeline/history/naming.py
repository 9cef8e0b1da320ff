"""Names of members. A client id is a name only if no two members of the group have it at the same time.

librdkafka's default client id is "rdkafka", and Java's is "consumer-GROUP-1" in every process. If several members
share one, the host distinguishes them; if they share that too, a part of the member id does.

A process that crashes and restarts at once is in the group together with its own dead member until that member's
session expires. Two members with one client id count as two processes only if they overlap for longer than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kohort.pipeline.history.events_by_kind import is_arrival
from kohort.pipeline.history.inputs import GroupInput, by_offset
from kohort.protocol.records.layouts import GROUP_METADATA

SESSION_MS = 45_000  # default session timeout of clients and brokers, for members whose own isn't known
LATE_MS = 2_000
SHORTEST_SESSION_MS = 6_000  # minimum that brokers allow by default
_MEMBER_KINDS = (5, 10, 19)
_TAIL = 8  # characters of a member id that distinguish two members


@dataclass(slots=True)
class Presence:
    """Time of a member id in the group. `end_ms` is unset while it is a member."""

    member_id: str
    client_id: str
    host: str
    instance_id: str | None
    session_ms: int
    start_ms: int
    end_ms: int | None = None


def names_of(group: GroupInput) -> dict[str, str]:
    """Return the names of members whose client id isn't unique, by member id. Records and events must be in order."""
    presences = _from_records(group) or [*_from_events(group), *strangers(group)]
    names: dict[str, str] = {}
    for client_id, members in _by(lambda presence: presence.client_id, presences).items():
        if not client_id or not _together(members):
            continue
        for host, neighbours in _by(lambda presence: presence.host, members).items():
            unclear = not host or _together(neighbours)
            for presence in neighbours:
                names[presence.member_id] = presence.instance_id or (
                    f"{client_id}-{_piece(presence)}" if unclear else f"{client_id}@{host}"
                )
    return names


def strangers(group: GroupInput) -> list[Presence]:
    """Return members with a removal but no arrival: Kafka before 4 only logs the first arrival of a rebalance.

    They are assumed to be members from the start of the data, or from the end of an earlier member of that client if a
    session can have passed in between. A static member that came back has an id that begins with its instance id; no
    line about its return contains that id.
    """
    returned: dict[str, list[int]] = {}
    for event in group.events:
        if event.kind == "member_replaced" and event.instance_id:
            returned.setdefault(event.instance_id, []).append(event.ts)
    arrived = {event.member_id for event in group.events if is_arrival(event)}
    presences: dict[str, Presence] = {}
    last_ms: dict[str, int] = {}
    for event in group.events:
        if event.kind != "member_removed" or event.cause != "session_expired" or event.group_type == "consumer":
            continue
        if not event.member_id or not event.client_id or event.member_id in arrived or event.member_id in presences:
            continue
        before_ms = last_ms.get(event.client_id, 0)
        start_ms = min(group.events[0].ts, event.ts - SESSION_MS - 2 * LATE_MS)
        if before_ms and event.ts - before_ms >= SHORTEST_SESSION_MS:
            start_ms = before_ms
        instance_id = event.instance_id
        if times := [ts for ts in returned.get(event.client_id, ()) if ts <= event.ts]:
            instance_id, start_ms = event.client_id, times[-1]
        presences[event.member_id] = Presence(
            event.member_id, event.client_id, "", instance_id, SESSION_MS, start_ms, event.ts
        )
        last_ms[event.client_id] = event.ts
    return list(presences.values())


def _by(key: Callable[[Presence], str], presences: Iterable[Presence]) -> dict[str, list[Presence]]:
    groups: dict[str, list[Presence]] = {}
    for presence in presences:
        groups.setdefault(key(presence), []).append(presence)
    return groups


def _together(members: list[Presence]) -> bool:
    ordered = sorted(members, key=lambda presence: presence.start_ms)
    for n, older in enumerate(ordered):
        for newer in ordered[n + 1 :]:
            if older.end_ms is not None and newer.start_ms >= older.end_ms:
                break
            if older.instance_id and older.instance_id == newer.instance_id:
                continue
            if older.end_ms is None or (newer.end_ms is not None and newer.end_ms < older.end_ms):
                return True
            if older.end_ms - newer.start_ms > older.session_ms + LATE_MS:
                return True
    return False


def _piece(member: Presence) -> str:
    """Return the start of the part that the coordinator generated in `client-8a3f…`, or the start of any other id."""
    generated = member.member_id.removeprefix(f"{member.client_id}-")
    return generated[:_TAIL]


def _from_records(group: GroupInput) -> list[Presence]:
    rows = by_offset(group.members)
    presences: list[Presence] = []
    current: dict[str, Presence] = {}
    for record in group.records:
        if record.record_type == GROUP_METADATA:
            present = {} if record.is_tombstone else {row.member_id: row for row in rows.get(record.offset, [])}
            for member_id in current.keys() - present.keys():
                current.pop(member_id).end_ms = record.ts_ms
        elif record.record_type in _MEMBER_KINDS and record.member_id is not None:
            if record.is_tombstone and record.member_id in current:
                current.pop(record.member_id).end_ms = record.ts_ms
            present = {row.member_id: row for row in rows.get(record.offset, []) if not record.is_tombstone}
        else:
            continue
        for member_id, row in present.items():
            if member_id not in current:
                current[member_id] = Presence(
                    member_id, row.client_id or "", (row.client_host or "").lstrip("/"), row.instance_id,
                    row.session_timeout_ms or SESSION_MS, record.state_ts_ms or record.ts_ms,
                )  # fmt: skip
                presences.append(current[member_id])
    return presences


def _from_events(group: GroupInput) -> list[Presence]:
    presences: list[Presence] = []
    current: dict[str, Presence] = {}
    for event in group.events:
        if is_arrival(event) and event.member_id is not None and event.member_id not in current:
            current[event.member_id] = Presence(
                event.member_id, event.client_id or "", (event.client_host or "").lstrip("/"), event.instance_id,
                event.session_timeout_ms or SESSION_MS, event.ts,
            )  # fmt: skip
            presences.append(current[event.member_id])
        removed = [event.member_id] if event.kind == "member_removed" else event.evicted or []
        for member_id in removed:
            if member_id in current:
                current.pop(member_id).end_ms = event.ts
    return presences
