"""What a share group asks of its coordinator."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from kohort.coordinator.modern.modern_host import ModernHost
from kohort.coordinator.modern.modern_observer import ModernObserver
from kohort.coordinator.share.share_config import ShareConfig
from kohort.coordinator.share.state_partitions import TopicIdPartition
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.share.share_group import ShareGroup


class Outcome(Protocol):
    """What came of a question to a share coordinator, for one partition."""

    @property
    def error_code(self) -> ErrorCode:
        """NONE, or why it failed."""
        ...

    @property
    def error_message(self) -> str | None:
        """What is said beside the code."""
        ...

    @property
    def leader_epoch(self) -> int:
        """In a summary: of the leader that has read the state last."""
        ...

    @property
    def start_offset(self) -> int:
        """In a summary: the first record that is not done; -1: not known."""
        ...

    @property
    def delivery_complete_count(self) -> int:
        """In a summary: records behind the start that are done; -1: not known."""
        ...


OnOutcomes = Callable[[Mapping[TopicIdPartition, Outcome], int], None]
"""Gets the outcome of each partition, and the time; perhaps before the call that was made has returned."""


class Persister(Protocol):
    """How share coordinators are reached. Each call answers once, for all its partitions."""

    def initialize(
        self, group_id: str, partitions: Mapping[TopicIdPartition, tuple[int, int]], then: OnOutcomes, now_ms: int
    ) -> None:
        """Begins partitions anew, each with its state epoch and start offset (-1: to be decided)."""
        ...

    def delete(self, group_id: str, partitions: Iterable[TopicIdPartition], then: OnOutcomes, now_ms: int) -> None:
        """Forgets partitions."""
        ...

    def read_summary(
        self, group_id: str, partitions: Mapping[TopicIdPartition, int], then: OnOutcomes, now_ms: int
    ) -> None:
        """Reads how far a group is, for leaders of these epochs. What is not known: NONE and a start of -1."""
        ...


class ShareHost(ModernHost, Protocol):
    """Met by `GroupCoordinator`."""

    share_config: Callable[[str], ShareConfig]
    """The settings of a group, by its id."""
    share_persister: Callable[[], Persister]
    share_observer: "ModernObserver[ShareGroup]"
