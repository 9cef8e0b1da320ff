"""Which protocol a generation uses (classic-groups §2.7)."""

from collections.abc import Iterable
from typing import Final

from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.group_placement import java_hash

HASH_BUCKETS: Final = 16
"""The table size of Kafka's map of votes: a Java hash map that never grows, for so few names."""


class NoCommonProtocol(Exception):
    """There is nothing to vote for. The checks on joining rule it out, but for a name that one member lists twice."""


def select_protocol(members: Iterable[Member], candidates: set[str]) -> str:
    """The protocol with the most votes: each member's goes to the first of its own list that all of them know.

    `candidates`: the names that all members list. A tie goes to the first in the order of Kafka's hash map.
    Raises NoCommonProtocol.
    """
    votes: dict[str, int] = {}
    for member in members:
        for name, _ in member.protocols:
            if name in candidates:
                votes[name] = votes.get(name, 0) + 1
                break
        else:
            raise NoCommonProtocol(f"member {member.member_id} lists none of the protocols that all members know")
    if not votes:
        raise NoCommonProtocol("a group without members has no protocol")
    return min(votes, key=lambda name: (-votes[name], _bucket(name)))


def _bucket(name: str) -> int:
    """Where Java's HashMap puts a name; names of one bucket stay in the order in which they were voted for."""
    value = java_hash(name) % 2**32
    return (value ^ value >> 16) % HASH_BUCKETS
