"""How partitions changed hands, and how few could have."""

from __future__ import annotations

from kohort.pipeline.history.inputs import Generation
from kohort.protocol.assignment_moves import Moves, moves


def same_client(before: Generation, after: Generation) -> dict[str, str]:
    """Old member id -> new member id, for members that are or stand for the same client.

    By member id; else by logical client, when a static or restarted member came back and is the only one of that name.
    """
    pairs = {member_id: member_id for member_id in before.members if member_id in after.members}
    taken = set(pairs.values())
    fresh: dict[str, list[str]] = {}
    for member in after.members.values():
        if member.member_id not in taken:
            fresh.setdefault(member.logical, []).append(member.member_id)
    lost: dict[str, list[str]] = {}
    for member in before.members.values():
        if member.member_id not in pairs:
            lost.setdefault(member.logical, []).append(member.member_id)
    for logical, old in lost.items():
        if len(old) == 1 and len(fresh.get(logical, [])) == 1:
            pairs[old[0]] = fresh[logical][0]
    return pairs


def movement(before: Generation, after: Generation) -> Moves:
    """What moved between two generations, clients that came back under another id taken for the same ones."""
    alike = len({member.topics for member in after.members.values()}) <= 1
    clients, partitions = same_client(before, after), len(after.owners)
    return moves(before.owners, after.owners, clients, len(after.members), partitions, alike=alike)


def is_eager(before: Generation, after: Generation) -> bool | None:
    """Whether members gave up everything to rejoin, by what they say they own. The protocol's name doesn't show it.

    None when no member that could say so owned anything before.
    """
    gave_up = kept = 0
    shares = before.shares()
    for member in after.members.values():
        if member.member_id not in before.members or member.owned is None or not shares[member.member_id]:
            continue
        if member.owned:
            kept += 1
        else:
            gave_up += 1
    if not gave_up and not kept:
        return _by_protocol(after.protocol)
    return gave_up >= kept


def eager_members(before: Generation, after: Generation) -> set[str]:
    """Members that gave up everything, or whose client can't say and whose protocol is an eager one."""
    eager_protocol = _by_protocol(after.protocol)
    result, shares = set(), before.shares()
    for member in after.members.values():
        if member.member_id not in before.members or not shares[member.member_id]:
            continue
        if (member.owned is None and eager_protocol) or (member.owned is not None and not member.owned):
            result.add(member.member_id)
    return result


def _by_protocol(protocol: str | None) -> bool | None:
    if protocol in ("range", "roundrobin", "sticky"):
        return True
    return False if protocol == "cooperative-sticky" else None
