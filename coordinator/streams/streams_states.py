"""States of a streams group and of its members (streams-groups §4)."""

from enum import Enum, IntEnum


class StreamsGroupState(Enum):
    """State of a group, named as on the wire. It is derived from epochs and members, and not written to the log."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"

    __hash__ = object.__hash__


class StreamsMemberState(IntEnum):
    """Progress of a member towards its target, with the values of the log."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    UNRELEASED_TASKS = 3
    UNKNOWN = 127
