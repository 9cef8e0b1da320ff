"""What groups of every protocol have: an id, a partition that keeps them, and committed offsets."""

from mypy_extensions import mypyc_attr

from kohort.coordinator.offsets import CommittedOffset, GroupOffsets
from kohort.coordinator.pending_offsets import PendingOffsets
from kohort.protocol.errors import ErrorCode


@mypyc_attr(allow_interpreted_subclasses=True)
class Group:
    """The part of a group that commits, fetches and expiry look at, whatever protocol its members speak."""

    __slots__ = ("commits_in_flight", "group_id", "offsets", "partition", "pending_offsets")

    def __init__(self, group_id: str, partition: int) -> None:
        """`partition`: of `__consumer_offsets`."""
        self.group_id = group_id
        self.partition = partition
        self.offsets: GroupOffsets | None = None
        self.pending_offsets: PendingOffsets | None = None
        """Offsets committed in transactions that are still open."""
        self.commits_in_flight = 0
        """Commits that are being written; `offsets` does not show them yet."""

    def committed_offsets(self) -> GroupOffsets:
        """Where offsets are kept; made when there is none yet."""
        if self.offsets is None:
            self.offsets = GroupOffsets()
        return self.offsets

    @property
    def is_empty(self) -> bool:
        """Whether it is a group without members that may be deleted."""
        raise NotImplementedError

    @property
    def version(self) -> int:
        """Its generation or epoch."""
        raise NotImplementedError

    @property
    def may_expire(self) -> bool:
        """Whether it goes when it is empty and has no offsets."""
        return True

    def refuses_delete(self) -> ErrorCode:
        """NONE, or why it may not be deleted."""
        raise NotImplementedError

    def refuses_offset_delete(self) -> ErrorCode:
        """NONE, or why none of its offsets may be deleted by hand."""
        raise NotImplementedError

    def check_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        """Whether a member may ask for offsets: NONE, unless members commit with epochs."""
        return ErrorCode.none

    def is_in_use(self, topic: str) -> bool:
        """Whether members subscribe to a topic, so that its offsets are needed."""
        raise NotImplementedError

    def ages_since_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        """From which wall-clock moment on an offset grows old; None: it may not go."""
        raise NotImplementedError

    def record_keys(self) -> list[bytes]:
        """Keys of the records that make an empty group, in the order in which they are deleted."""
        raise NotImplementedError
