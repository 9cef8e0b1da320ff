"""The states of a streams group and of its members (streams-groups §4)."""

from enum import Enum, IntEnum


class StreamsGroupState(Enum):
    """A group's state; the value is its name on the wire. It follows from epochs and members, and is not kept."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"

    __hash__ = object.__hash__


class StreamsMemberState(IntEnum):
    """How far a member is with its target; the value is the one in the log."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    UNRELEASED_TASKS = 3
    UNKNOWN = 127
