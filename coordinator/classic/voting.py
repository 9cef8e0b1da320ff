"""Selection of a generation's protocol (classic-groups §2.7)."""

from collections.abc import Iterable
from typing import Final

from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.groups.group_placement import java_hash

# The table size of Kafka's map of votes: a Java HashMap that never grows because there are few names.
HASH_BUCKETS: Final = 16


class NoCommonProtocol(Exception):
    """No protocol is supported by all members.

    Checks at JoinGroup prevent this, unless a member lists a name twice.
    """


def select_protocol(members: Iterable[Member], candidates: set[str]) -> str:
    """Return the protocol with the most votes. A member votes for the first name in its list that all members support.

    Args:
        candidates: Names that all members list. A tie is resolved in the iteration order of Kafka's HashMap.

    Raises:
        NoCommonProtocol: A member lists none of the candidates, or the group is empty.
    """
    votes: dict[str, int] = {}
    for member in members:
        for name, _ in member.protocols:
            if name in candidates:
                votes[name] = votes.get(name, 0) + 1
                break
        else:
            raise NoCommonProtocol(f"member {member.member_id} supports none of the protocols that all members support")
    if not votes:
        raise NoCommonProtocol("a group without members has no protocol")
    most_votes = max(votes.values())
    winners = [name for name, count in votes.items() if count == most_votes]
    return winners[0] if len(winners) == 1 else min(winners, key=_bucket)


def _bucket(name: str) -> int:
    """Return the bucket of a name in Java's HashMap.

    Names of a bucket stay in the order in which they were inserted.
    """
    value = java_hash(name) % 2**32
    return (value ^ value >> 16) % HASH_BUCKETS
