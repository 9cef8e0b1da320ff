"""A member of a share group: what the log keeps of it, and its session."""

from kohort.coordinator.modern.modern_member import ModernMember
from kohort.coordinator.share.share_values import ShareAssignment, ShareMetadata

FIRST = ShareAssignment()


class ShareMember(ModernMember):
    """One member. `metadata` and `current` are replaced as a whole."""

    __slots__ = ("current", "metadata")

    def __init__(self, member_id: str, metadata: ShareMetadata) -> None:
        super().__init__(member_id)
        self.metadata = metadata
        self.current = FIRST
