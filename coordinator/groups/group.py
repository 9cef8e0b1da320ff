"""Base of all groups: an id, a partition that stores them, and committed offsets."""

from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

from kohort.coordinator.offsets.offsets import CommittedOffset, GroupOffsets
from kohort.coordinator.offsets.pending_offsets import PendingOffsets
from kohort.protocol.errors import ErrorCode
from kohort.protocol.topic_partition import TopicPartition

# Group types, as in ListGroups and in the log (KIP-848, KIP-932, KIP-1071).
CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
SHARE: Final = "share"
STREAMS: Final = "streams"


@mypyc_attr(allow_interpreted_subclasses=True)
class Group:
    """The part of a group that commits, fetches and expiry use, whatever its type."""

    __slots__ = ("commits_in_flight", "group_id", "offsets", "partition", "pending_offsets")

    group_type: ClassVar[str]
    keeps_offsets: ClassVar[bool] = True  # whether members commit offsets; such an empty group may change its type
    members: dict[str, Any]  # by member id

    def __init__(self, group_id: str, partition: int) -> None:
        self.group_id = group_id
        self.partition = partition
        self.offsets: GroupOffsets | None = None
        self.pending_offsets: PendingOffsets | None = None  # committed in transactions that are still open
        self.commits_in_flight = 0  # commits that are being written and are not yet in `offsets`

    def committed_offsets(self) -> GroupOffsets:
        """Return the offsets, created if necessary."""
        if self.offsets is None:
            self.offsets = GroupOffsets()
        return self.offsets

    def all_offsets(self) -> list[TopicPartition]:
        """Return the partitions with an offset that is committed, also in an open transaction."""
        committed = [] if self.offsets is None else [(topic, partition) for topic, partition, _ in self.offsets]
        present = set(committed)
        return committed + [partition for partition in self.pending_offsets or () if partition not in present]

    @property
    def state_name(self) -> str:
        """Name of the group's state, as in DescribeGroups."""
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members and can be deleted."""
        raise NotImplementedError

    @property
    def version(self) -> int:
        raise NotImplementedError

    @property
    def may_expire(self) -> bool:
        """Whether the group is removed when it is empty and has no offsets."""
        return True

    def refuses_delete(self) -> ErrorCode:
        raise NotImplementedError

    def refuses_offset_delete(self) -> ErrorCode:
        raise NotImplementedError

    def check_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        """Return the error for a member that fetches offsets. Only groups whose members have epochs check it."""
        return ErrorCode.none

    def is_in_use(self, topic: str) -> bool:
        raise NotImplementedError

    def ages_since_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        """Return the wall clock at which an offset's retention starts, or None while it must be kept."""
        raise NotImplementedError

    def record_keys(self) -> list[bytes]:
        """Return the keys of an empty group's records, in the order in which they are deleted."""
        raise NotImplementedError
