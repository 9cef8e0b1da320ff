"""What the log keeps of a share group, as values (share-groups §17). They are never changed."""

from enum import IntEnum
from typing import NamedTuple

from kohort.coordinator.modern.modern_values import NO_TARGET, Target
from kohort.coordinator.share.share_group_state import ShareMemberState

LEAVING_EPOCH = -1


class ShareKind(IntEnum):
    """The kinds of records; the value is the type in a record's key."""

    MEMBER = 10
    GROUP_EPOCH = 11
    TARGET_EPOCH = 12
    TARGET = 13
    CURRENT = 14
    STATE_PARTITIONS = 15


class ShareMetadata(NamedTuple):
    """What a member says of itself."""

    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()
    """Sorted, each once."""


class ShareAssignment(NamedTuple):
    """What a member has been told to fetch from. It is advice: whoever may read a topic may fetch."""

    epoch: int = 0
    previous_epoch: int = 0
    state: int = ShareMemberState.STABLE
    assigned: Target = NO_TARGET
