"""Partitions that changed owners, and the minimum that had to."""

from __future__ import annotations

from kohort.pipeline.history.inputs import Generation
from kohort.protocol.assignment_moves import Moves, moves


def same_client(previous: Generation, after: Generation) -> dict[str, str]:
    """Map old to new member ids of the same client.

    Matches by member id, else by logical client if a static or restarted member is the only one of that name.
    """
    pairs = {member_id: member_id for member_id in previous.members if member_id in after.members}
    matched = set(pairs.values())
    fresh: dict[str, list[str]] = {}
    for member in after.members.values():
        if member.member_id not in matched:
            fresh.setdefault(member.logical, []).append(member.member_id)
    lost: dict[str, list[str]] = {}
    for member in previous.members.values():
        if member.member_id not in pairs:
            lost.setdefault(member.logical, []).append(member.member_id)
    for logical, old in lost.items():
        if len(old) == 1 and len(fresh.get(logical, [])) == 1:
            pairs[old[0]] = fresh[logical][0]
    return pairs


def movement(previous: Generation, after: Generation) -> Moves:
    """Return the moves between two generations. A client that rejoined with another id counts as the same owner."""
    alike = len({member.topics for member in after.members.values()}) <= 1
    clients, partitions = same_client(previous, after), len(after.owners)
    return moves(previous.owners, after.owners, clients, len(after.members), partitions, alike=alike)


def is_eager(previous: Generation, after: Generation) -> bool | None:
    """Return whether members revoked everything before rejoining, by their owned partitions.

    The protocol name doesn't show it. None if no member that reports owned partitions had any before.
    """
    gave_up = kept = 0
    shares = previous.shares()
    for member in after.members.values():
        if member.member_id not in previous.members or member.owned is None or not shares[member.member_id]:
            continue
        if member.owned:
            kept += 1
        else:
            gave_up += 1
    if not gave_up and not kept:
        return _by_protocol(after.protocol)
    return gave_up >= kept


def eager_members(previous: Generation, after: Generation) -> set[str]:
    """Return members that revoked everything, or that don't report owned partitions and use an eager protocol."""
    eager_protocol = _by_protocol(after.protocol)
    result, shares = set(), previous.shares()
    for member in after.members.values():
        if member.member_id not in previous.members or not shares[member.member_id]:
            continue
        if (member.owned is None and eager_protocol) or (member.owned is not None and not member.owned):
            result.add(member.member_id)
    return result


def _by_protocol(protocol: str | None) -> bool | None:
    if protocol in ("range", "roundrobin", "sticky"):
        return True
    return False if protocol == "cooperative-sticky" else None
