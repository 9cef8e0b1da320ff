"""The group coordinator of a node: its groups, the partitions that store them, and the effects that it requests.

The functions that serve the APIs are in other modules (`classic/`, `committing.py`, `deleting.py`, …), which the APIs
import. A broker that only answers heartbeats has not loaded the others.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.states import HEARTBEAT, HEARTBEAT_NEEDS_SYNC
from kohort.coordinator.context import CoordinatorContext, OnWritten, Shard
from kohort.coordinator.coordinator_settings import GroupSettings
from kohort.coordinator.effects import OFFSETS_TOPIC, Append, Cause
from kohort.coordinator.groups.group import CONSUMER, SHARE, STREAMS, Group
from kohort.coordinator.groups.group_placement import partition_for
from kohort.coordinator.groups.group_types import GROUP_TYPES, default_configs, import_code
from kohort.coordinator.groups.observer import UNOBSERVED, Observer
from kohort.coordinator.offsets.offsets_topic_records import is_storable
from kohort.coordinator.topic_info import NoTopics, TopicView
from kohort.protocol.batches import EncodedRecords
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation, Purgatory

if TYPE_CHECKING:
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.coordinator.consumer.consumer_member import ConsumerMember
    from kohort.coordinator.groups.forgotten_groups import ForgottenGroups
    from kohort.coordinator.modern.group_changes import GroupChanges, WriteQueue
    from kohort.coordinator.modern.modern_group import ModernGroup
    from kohort.coordinator.share.persister import Persister
    from kohort.coordinator.share.share_group import ShareGroup
    from kohort.coordinator.share_partitions.record_observer import RecordObserver
    from kohort.coordinator.streams.streams_group import StreamsGroup
    from kohort.coordinator.streams.topology_descriptions import TopologyDescriptions


def _no_persister() -> "Persister":
    raise RuntimeError("share coordinators cannot be reached")


class GroupCoordinator(CoordinatorContext):
    """The groups of a node, by id."""

    def __init__(
        self,
        settings: GroupSettings,
        purgatory: Purgatory,
        new_uuid: Callable[[], str],
        *,
        partitions: int = 50,
        epoch_ms: int = 0,
    ) -> None:
        """Create a coordinator without groups.

        Args:
            new_uuid: Creates the random part of member ids. For the others see `CoordinatorContext`.
        """
        super().__init__(purgatory, partitions=partitions, epoch_ms=epoch_ms)
        self.settings = settings
        # error of a valid member's heartbeat, by state
        self.heartbeats = HEARTBEAT_NEEDS_SYNC if settings.heartbeats_need_sync else HEARTBEAT
        self.new_uuid = new_uuid
        self.groups: dict[str, Group] = {}  # of all types, by id
        self.forgotten: ForgottenGroups | None = None  # hidden groups, which only the log has
        self.unwritten: dict[str, WriteQueue] = {}  # unfinished writes of groups of the newer protocols
        self.topics: TopicView = NoTopics()
        # settings of a group by its id, for each group type that has some
        self.configs: dict[str, Callable[[str], Any]] = default_configs()
        self.share_persister: Callable[[], Persister] = _no_persister  # connects to share coordinators
        self.topology_descriptions: TopologyDescriptions | None = None  # None without a plugin (KIP-1331)
        self.shards: dict[int, Shard] = {}
        self.background: deque[DelayedOperation] = deque()
        # Groups with offsets in a transaction, by partition and producer id.
        self.open_transactions: dict[tuple[int, int], set[str]] = {}
        self.observer: Observer = UNOBSERVED  # creates events of groups, if needed
        self.record_observer: RecordObserver | None = None  # creates events of records in share partitions, if needed

    def availability(self, group_id: str) -> ErrorCode:
        """Return the error for a group that does not exist: NONE, NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS."""
        return self.partition_availability(self.partition_of(group_id))

    def partition_of(self, group_id: str) -> int:
        return partition_for(group_id, self.partitions)

    def creatable(self, group_id: str) -> ErrorCode:
        """Return the error for a new group: that of `availability`, or UNKNOWN_SERVER_ERROR if the id is too long.

        A request can contain a longer id than a record's key. Kafka fails to write it (classic-groups §1.3 rule 4). If
        a share group has the id, which is not replaced, the error is GROUP_ID_NOT_FOUND.
        """
        if self.share_group(group_id) is not None:
            return ErrorCode.group_id_not_found
        error = self.availability(group_id)
        if error is ErrorCode.none and not is_storable(group_id):
            return ErrorCode.unknown_server_error
        return error

    def observe(self, observer: Observer = UNOBSERVED, records: "RecordObserver | None" = None) -> None:
        """Set the observers; the defaults report nothing."""
        self.observer, self.record_observer = observer, records

    def partition_availability(self, partition: int) -> ErrorCode:
        shard = self.shards.get(partition)
        if shard is None:
            return ErrorCode.not_coordinator
        return ErrorCode.none if shard is Shard.ACTIVE else ErrorCode.coordinator_load_in_progress

    def create_group(self, group_id: str, now_ms: int) -> ClassicGroup:
        group = ClassicGroup(self, group_id, self.partition_of(group_id), self.wall_ms(now_ms))
        self.groups[group_id] = group
        self._inherit(group)
        return group

    @overload
    def new_group(self, group_type: Literal["consumer"], group_id: str) -> "ConsumerGroup": ...
    @overload
    def new_group(self, group_type: Literal["share"], group_id: str) -> "ShareGroup": ...
    @overload
    def new_group(self, group_type: Literal["streams"], group_id: str) -> "StreamsGroup": ...
    @overload
    def new_group(self, group_type: str, group_id: str) -> Any: ...

    def new_group(self, group_type: str, group_id: str) -> Any:
        """Return a group of a newer protocol, which is not in `groups` yet."""
        group = import_code(GROUP_TYPES[group_type].group_class)(self, group_id, self.partition_of(group_id))
        self._inherit(group)
        return group

    def _inherit(self, group: Group) -> None:
        if self.forgotten is not None:
            self.forgotten.hand_over_offsets(group)

    def downgrade_if_classic(
        self,
        group: "ConsumerGroup",
        changes: "GroupChanges",
        cause: Cause,
        now_ms: int,
        on_written: OnWritten,
        leaving: "Iterable[ConsumerMember]",
    ) -> bool:
        if not group.classic_count:
            return False
        from kohort.coordinator.group_conversion import downgrade_if_classic  # not for brokers without such groups

        return downgrade_if_classic(self, group, changes, cause, now_ms, on_written, leaving)

    def may_downgrade_without(self, group: "ConsumerGroup", replaced: "ConsumerMember") -> bool:
        from kohort.coordinator.group_conversion import may_downgrade_without

        return may_downgrade_without(self, group, replaced)

    def downgrade_after_replacing(
        self,
        group: "ConsumerGroup",
        changes: "GroupChanges",
        cause: Cause,
        now_ms: int,
        on_written: OnWritten,
        *,
        generation_id: int,
        rebalance: bool,
    ) -> None:
        from kohort.coordinator.group_conversion import downgrade_after_replacing

        downgrade_after_replacing(
            self, group, changes, cause, now_ms, on_written, generation_id=generation_id, rebalance=rebalance
        )

    def remove(self, group: Group) -> None:
        """Remove a group that was deleted, unloaded or could not be written, unless another one has its id now."""
        if self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]

    def classic_group(self, group_id: str) -> ClassicGroup | None:
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def consumer_group(self, group_id: str) -> "ConsumerGroup | None":
        group = self.groups.get(group_id)
        return cast("ConsumerGroup", group) if group is not None and group.group_type == CONSUMER else None

    def share_group(self, group_id: str) -> "ShareGroup | None":
        group = self.groups.get(group_id)
        return cast("ShareGroup", group) if group is not None and group.group_type == SHARE else None

    def streams_group(self, group_id: str) -> "StreamsGroup | None":
        group = self.groups.get(group_id)
        return cast("StreamsGroup", group) if group is not None and group.group_type == STREAMS else None

    @overload
    def of_type(self, group_type: Literal["classic"]) -> list[ClassicGroup]: ...
    @overload
    def of_type(self, group_type: Literal["consumer"]) -> "list[ConsumerGroup]": ...
    @overload
    def of_type(self, group_type: Literal["share"]) -> "list[ShareGroup]": ...
    @overload
    def of_type(self, group_type: Literal["streams"]) -> "list[StreamsGroup]": ...
    @overload
    def of_type(self, group_type: str) -> list[Any]: ...

    def of_type(self, group_type: str) -> list[Any]:
        """Return the groups of a type, in the order of their creation."""
        return [group for group in self.groups.values() if group.group_type == group_type]

    def described_group(self, group_id: str) -> Group | None:
        """Return the group as requests that only read see it (`forgotten_groups.py`)."""
        group = self.groups.get(group_id)
        return group if group is not None or self.forgotten is None else self.forgotten.find_visible(group_id)

    def modern_group(self, group_id: str) -> "ModernGroup | None":
        """Return the group unless it is a classic one."""
        group = self.groups.get(group_id)
        return None if group is None or isinstance(group, ClassicGroup) else cast("ModernGroup", group)

    def committing_group(self, group_id: str) -> "ModernGroup | None":
        """Return the group if its members commit with epochs."""
        group = self.modern_group(group_id)
        return group if group is not None and group.keeps_offsets else None

    def append(
        self,
        partition: int,
        records: EncodedRecords,
        now_ms: int,
        on_written: OnWritten | None = None,
        producer: tuple[int, int] | None = None,
        group_id: str | None = None,
    ) -> int:
        """Request a write of records, and call `on_written` with its result. Return the token of the `Append`.

        Args:
            producer: Id and epoch of the producer if the records are part of a transaction.
            group_id: The records are written after the unfinished writes of this consumer group, and fail with them.
        """
        if self.forgotten is not None:
            self.forgotten.written(partition)
        token = self.await_write(partition, on_written)
        append = Append(token, partition, records, now_ms + self.epoch_ms, OFFSETS_TOPIC, producer)
        writes = None if group_id is None else self.unwritten.get(group_id)
        if writes is None:
            self.effects.append(append)
        else:
            writes.put_behind(append)
        return token
