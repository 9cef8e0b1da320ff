"""The states of a consumer group and of its members (consumer-groups §4.2, §4.4)."""

from enum import Enum, IntEnum


class GroupState(Enum):
    """A group's state; the value is its name on the wire. It follows from epochs and members, and is not kept."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"

    # By identity: Enum's own hashes the name in Python, at each look into a table.
    __hash__ = object.__hash__


class MemberState(IntEnum):
    """How far a member is with its target; the value is the one in the log."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127
