"""States of a share group and of its members (share-groups §3.3)."""

from enum import Enum, IntEnum


class ShareGroupState(Enum):
    """A share group's state. It follows from its members, and is not kept."""

    EMPTY = "Empty"
    STABLE = "Stable"

    __hash__ = object.__hash__


class ShareMemberState(IntEnum):
    """How far a member is; the value is the one in the log. Nobody gives up anything, so there is but one."""

    STABLE = 0
