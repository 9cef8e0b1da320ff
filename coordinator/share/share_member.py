"""Member of a share group: its values in the log, and its session."""

from kohort.coordinator.modern.modern_group import ModernMember
from kohort.coordinator.share.share_values import ShareAssignment, ShareMetadata

FIRST = ShareAssignment()


class ShareMember(ModernMember):
    """Member of a share group. `metadata` and `current` are immutable values."""

    __slots__ = ("current", "metadata")

    first = FIRST

    def __init__(self, member_id: str, metadata: ShareMetadata) -> None:
        super().__init__(member_id)
        self.metadata = metadata
        self.current = FIRST

    def has_reached(self, epoch: int) -> bool:
        return self.current.epoch == epoch
