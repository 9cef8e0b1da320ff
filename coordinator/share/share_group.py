"""Share group: the state that its records describe (share-groups §3, §4)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.modern_values import NO_TARGET, Change, Target
from kohort.coordinator.offsets.offsets import CommittedOffset
from kohort.coordinator.share.share_config import ShareConfig
from kohort.coordinator.share.share_group_records import SHARE_RECORDS
from kohort.coordinator.share.share_group_state import ShareGroupState
from kohort.coordinator.share.share_member import ShareMember
from kohort.coordinator.share.share_values import ShareKind, ShareMetadata
from kohort.coordinator.share.state_partitions import NO_STATES, StatePartitions
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.groups.group_host import GroupHost


class ShareGroup(ModernGroup):
    """Share group with its members, targets and state partitions."""

    __slots__ = ("all_assigned", "complete_until_ms", "complete_version", "has_states", "state_calls", "states")

    group_type = SHARE
    keeps_offsets = False
    kinds = ShareKind
    records = SHARE_RECORDS
    unknown = ShareMetadata()
    no_target = NO_TARGET

    def __init__(self, coordinator: "GroupHost", group_id: str, partition: int) -> None:
        super().__init__(coordinator, group_id, partition)
        self.members: dict[str, ShareMember] = {}
        self.targets: dict[str, Target] = {}
        self.states: StatePartitions = NO_STATES
        self.has_states = False  # whether the log has a state-partition record, even an empty one
        self.all_assigned: bool | None = None  # see `assigns_all`; None: must be computed again
        # The version of the topics for which every partition of subscribed topics is initialized or initializing. None:
        # it must be computed again.
        self.complete_version: int | None = None
        self.complete_until_ms: float = 0  # when initializing partitions are due for a retry
        self.state_calls: list[Any] = []  # pending calls to share coordinators, in order; see state_calls.py

    @property
    def assignor_name(self) -> str:
        return "simple"

    @property
    def config(self) -> ShareConfig:
        config: ShareConfig = self.coordinator.configs[SHARE](self.group_id)
        return config

    @property
    def max_size(self) -> int:
        return self.coordinator.settings.group_share_max_size

    @property
    def state(self) -> ShareGroupState:
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @property
    def assigns_all(self) -> bool:
        """Whether the target has exactly the initialized partitions of the subscribed topics.

        Deleted topics are ignored. The log may still name one, if the record of its deletion could not be written. In
        Kafka each heartbeat then gives the group a new epoch if another topic has taken that name.
        """
        if self.all_assigned is None:
            self.all_assigned = self._compute_assigns_all()
        return self.all_assigned

    def _compute_assigns_all(self) -> bool:
        assigned: dict[UUID, set[int]] = {}
        for target in self.targets.values():
            for topic_id, partitions in target.items():
                assigned.setdefault(topic_id, set()).update(partitions)
        return all(
            assigned.get(topic_id, set()) == topic.partitions
            for topic_id, topic in self.states.initialized.items()
            if topic.name in self.names and self.coordinator.topics.by_id(topic_id) is not None
        )

    # Expiry and deletion

    @property
    def may_expire(self) -> bool:
        """False: a share group exists until it is deleted."""
        return False

    def refuses_offset_delete(self) -> ErrorCode:
        return ErrorCode.group_id_not_found

    def is_in_use(self, topic: str) -> bool:
        return topic in self.names

    def ages_since_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        return None

    def check_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        """Return NONE: members do not fetch committed offsets."""
        return ErrorCode.none

    # Records

    def last_keys(self) -> Sequence[tuple[ShareKind, str | None]]:
        return (ShareKind.STATE_PARTITIONS, None), (ShareKind.GROUP_EPOCH, None)

    def begin(self, now_ms: int) -> None:
        super().begin(now_ms)
        self.states = self.states.since(now_ms)

    def new_member(self, member_id: str, metadata: ShareMetadata) -> ShareMember:
        return ShareMember(member_id, metadata)

    def apply(self, change: Change) -> object:
        self.all_assigned = self.complete_version = None
        return super().apply(change)

    def _set_other(self, change: Change) -> StatePartitions | None:
        value: StatePartitions | None = change.value
        previous = self.states if self.has_states else None
        self.states, self.has_states = value or NO_STATES, value is not None
        return previous
