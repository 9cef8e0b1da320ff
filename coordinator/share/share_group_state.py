"""States of a share group and of its members (share-groups §3.3)."""

from enum import Enum, IntEnum


class ShareGroupState(Enum):
    """State of a share group, derived from its members and not written to the log."""

    EMPTY = "Empty"
    STABLE = "Stable"

    __hash__ = object.__hash__


class ShareMemberState(IntEnum):
    """State of a member, with the values of the log. Members never wait for a revocation, so there is only one."""

    STABLE = 0
