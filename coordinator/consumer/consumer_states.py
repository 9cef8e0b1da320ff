"""States of consumer groups and their members (consumer-groups §4.2, §4.4)."""

from enum import Enum, IntEnum


class GroupState(Enum):
    """State of a group; the value is its name on the wire. It is derived from epochs and members, and is not stored."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"

    # By identity: Enum's own method hashes the name in Python at each dictionary lookup.
    __hash__ = object.__hash__


class MemberState(IntEnum):
    """Progress of a member toward its target; the value is the one in the log."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127
