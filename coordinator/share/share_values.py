"""Values of a share group's records (share-groups §17). They are immutable."""

from enum import IntEnum
from typing import NamedTuple

from kohort.coordinator.modern.modern_values import NO_TARGET, Target
from kohort.coordinator.share.share_group_state import ShareMemberState


class ShareKind(IntEnum):
    """Record types, as in a record's key."""

    MEMBER = 10
    GROUP_EPOCH = 11
    TARGET_EPOCH = 12
    TARGET = 13
    CURRENT = 14
    STATE_PARTITIONS = 15


class ShareMetadata(NamedTuple):
    """Metadata that a member sends in its heartbeats."""

    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()  # sorted and distinct


class ShareAssignment(NamedTuple):
    """Assignment that a member has received. Leaders do not check it: any member that may read a topic may fetch."""

    epoch: int = 0
    previous_epoch: int = 0
    state: int = ShareMemberState.STABLE
    assigned: Target = NO_TARGET
