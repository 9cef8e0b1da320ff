"""Streams group: the state that its records describe (streams-groups §4)."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_group import FIRST_EPOCH, ModernGroup, set_value
from kohort.coordinator.modern.modern_member import ModernMember
from kohort.coordinator.modern.modern_values import Change, CommittedPartition, Record, TargetEpoch
from kohort.coordinator.modern.record_parts import key_of
from kohort.coordinator.offsets.offsets import CommittedOffset
from kohort.coordinator.streams.streams_group_records import STREAMS_RECORDS
from kohort.coordinator.streams.streams_group_values import (
    NO_DESCRIPTION,
    NOT_VALIDATED,
    Pairs,
    StreamsAssignment,
    StreamsEpoch,
    StreamsKind,
    StreamsMetadata,
)
from kohort.coordinator.streams.streams_member import FIRST, StreamsMember
from kohort.coordinator.streams.streams_member_epochs import check_commit, check_fetch
from kohort.coordinator.streams.streams_owners import TaskOwners
from kohort.coordinator.streams.streams_states import StreamsGroupState
from kohort.coordinator.streams.streams_values import NO_TASK_SETS, Subtopology, TaskSets, Topology
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.coordinator.streams.streams_host import StreamsHost
    from kohort.coordinator.streams.topology import ConfiguredTopology

UNKNOWN = StreamsMetadata()  # metadata of a member whose assignment record precedes its metadata record


class StreamsGroup(ModernGroup):
    """Streams group with its members, topology, targets and task owners."""

    __slots__ = (
        "configs",
        "configured",
        "described",
        "encoded_topology",
        "endpoint_epoch",
        "failed_description",
        "initial_delay",
        "owners",
        "required_topics",
        "settled",
        "shutdown_requested_by",
        "sources",
        "static_members",
        "stored_description",
        "targets",
        "topology",
        "validated_topology_epoch",
    )

    epoch_kind = StreamsKind.GROUP_EPOCH
    target_epoch_kind = StreamsKind.TARGET_EPOCH
    group_type = STREAMS

    def __init__(self, coordinator: "StreamsHost", group_id: str, partition: int) -> None:
        super().__init__(coordinator, group_id, partition)
        self.coordinator: StreamsHost = coordinator
        self.members: dict[str, StreamsMember] = {}
        self.targets: dict[str, TaskSets] = {}
        self.topology: Topology | None = None
        # the value of a topology record that was encoded before its write
        self.encoded_topology: tuple[Topology, bytes] | None = None
        # the subtopology that reads a topic, by topic; the last one if there are several
        self.sources: dict[str, Subtopology] = {}
        # sources, repartition sources and changelogs of the topology
        self.required_topics: frozenset[str] = frozenset()
        self.validated_topology_epoch = NOT_VALIDATED
        self.configs: Pairs = ()  # settings for which the last epoch was created
        self.stored_description = self.failed_description = NO_DESCRIPTION  # topology epochs (KIP-1331)
        self.static_members: dict[str, str] = {}  # member ids by instance id
        self.owners = TaskOwners()
        self.settled = 0  # number of members that have reached the target
        # In memory only, as in Kafka:
        self.configured: ConfiguredTopology | None = None  # the topology with partition counts; None: not computed yet
        # the value of `configured` at the last write, which descriptions show
        self.described: ConfiguredTopology | None = None
        self.endpoint_epoch = 0  # incremented when a member with an endpoint receives its tasks
        self.shutdown_requested_by: str | None = None  # id of the member that requested the shutdown of the application
        self.initial_delay: DelayedOperation | None = None  # no member is assigned a task until it ends

    @property
    def state(self) -> StreamsGroupState:
        if not self.members:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return StreamsGroupState.NOT_READY
        if self.epoch > self.target_epoch:
            return StreamsGroupState.ASSIGNING
        return StreamsGroupState.STABLE if self.settled == len(self.members) else StreamsGroupState.RECONCILING

    @property
    def epoch_values(self) -> StreamsEpoch:
        """The content of the group epoch's record."""
        return StreamsEpoch(
            self.epoch,
            self.metadata_hash,
            self.validated_topology_epoch,
            self.configs,
            self.stored_description,
            self.failed_description,
        )

    @property
    def is_delayed(self) -> bool:
        """Whether the initial rebalance delay is running."""
        return self.initial_delay is not None and not self.initial_delay.completed

    def member_of_instance(self, instance_id: str) -> StreamsMember | None:
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def target_of(self, member_id: str) -> TaskSets:
        return self.targets.get(member_id, NO_TASK_SETS)

    def subscribed_names(self) -> Iterable[str]:
        return self.required_topics

    def vanish(self) -> None:
        super().vanish()
        if self.initial_delay is not None and not self.initial_delay.completed:
            self.coordinator.purgatory.cancel(self.initial_delay)

    def forget_memory(self) -> None:
        """Drop the state that is not in the log."""
        self.configured = self.described = self.shutdown_requested_by = None
        self.endpoint_epoch = 0

    # Commits, expiry and deletion (streams-groups §12)

    def check_commit(
        self, member_id: str, epoch: int, partitions: Iterable[CommittedPartition], *, knows_epochs: bool = True
    ) -> ErrorCode:
        return check_commit(self.members, self.sources, member_id, epoch, partitions, knows_epochs=knows_epochs)

    def check_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        return check_fetch(self.members, member_id, epoch)

    def refuses_offset_delete(self) -> ErrorCode:
        """Return NONE: the topics that the group reads are always known."""
        return ErrorCode.none

    def is_in_use(self, topic: str) -> bool:
        """Return whether the topology reads a topic and the group has members. Changelogs do not count."""
        return bool(self.members) and topic in self.sources

    def ages_since_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        return None if self.is_in_use(topic) else committed.commit_timestamp_ms

    def record_keys(self) -> list[bytes]:
        """Return the keys of all records of the group, in Kafka's order."""
        named = (
            *((StreamsKind.CURRENT, name) for name in self.members),
            *((StreamsKind.TARGET, name) for name in self.members),
            (StreamsKind.TARGET_EPOCH, None),
            *((StreamsKind.MEMBER, name) for name in self.members),
            (StreamsKind.GROUP_EPOCH, None),
            (StreamsKind.TOPOLOGY, None),
        )
        return [key_of(self.group_id, kind, name) for kind, name in named]

    # Records

    def apply(self, change: Change) -> object:
        """Apply a record. Return the previous value, or None if there was none."""
        kind, name, value = change
        if name is None:
            return self._apply_to_group(kind, value)
        if kind is StreamsKind.CURRENT:
            return self._set_current(name, value)
        if kind is StreamsKind.TARGET:
            return set_value(self.targets, name, value)
        return self._set_member(name, value)

    def _apply_to_group(self, kind: object, value: object) -> object:
        if kind is StreamsKind.GROUP_EPOCH:
            return self._set_streams_epoch(value)  # type: ignore[arg-type]
        if kind is StreamsKind.TARGET_EPOCH:
            return self._set_target_epoch(value)  # type: ignore[arg-type]
        return self._set_topology(value)  # type: ignore[arg-type]

    def record_of(self, change: Change) -> Record:
        key, encoded = key_of(self.group_id, change.kind, change.name), self.encoded_topology
        if encoded is None or encoded[0] is not change.value:
            return key, STREAMS_RECORDS.value_of(change)
        self.encoded_topology = None
        return key, encoded[1]

    def _set_streams_epoch(self, value: StreamsEpoch | None) -> StreamsEpoch:
        previous = self.epoch_values
        following = value or StreamsEpoch(FIRST_EPOCH)
        self.epoch, self.metadata_hash, self.validated_topology_epoch, self.configs, *descriptions = following
        self.stored_description, self.failed_description = descriptions
        return previous

    def _set_target_epoch(self, value: TargetEpoch | None) -> TargetEpoch:
        previous = super()._set_target_epoch(value)
        self.settled = sum(member.has_reached(self.target_epoch) for member in self.members.values())
        return previous

    def _set_topology(self, value: Topology | None) -> Topology | None:
        previous, self.topology = self.topology, value
        subtopologies = () if value is None else value.subtopologies
        self.sources = {topic: subtopology for subtopology in subtopologies for topic in _read_by(subtopology)}
        changelogs = (topic.name for subtopology in subtopologies for topic in subtopology.state_changelog_topics)
        self.required_topics = frozenset((*self.sources, *changelogs))
        return previous

    def _set_member(self, member_id: str, value: StreamsMetadata | None) -> StreamsMetadata | None:
        member = self.members.get(member_id)
        previous = None if member is None else member.metadata
        if value is None:
            if member is not None:
                self.settled -= member.has_reached(self.target_epoch)
                self._disown(member)
                del self.members[member_id]
                instance_id = member.metadata.instance_id
                if instance_id is not None and self.static_members.get(instance_id) == member_id:
                    del self.static_members[instance_id]
                self._forget_shutdown_if_empty()
            return previous
        if value.instance_id is not None:
            self.static_members[value.instance_id] = member_id
        if member is None:
            self._add(member_id, value)
        elif value.process_id == member.metadata.process_id:
            member.metadata = value
        else:
            self._disown(member)
            member.metadata = value
            self._own(member)
        return previous

    def _forget_shutdown_if_empty(self) -> None:
        if not self.members:
            self.shutdown_requested_by = None

    def _add(self, member_id: str, metadata: StreamsMetadata) -> StreamsMember:
        member = self.members[member_id] = StreamsMember(member_id, metadata)
        self.most_members = max(self.most_members, len(self.members))
        self.settled += member.has_reached(self.target_epoch)
        return member

    def _set_current(self, member_id: str, value: StreamsAssignment | None) -> StreamsAssignment | None:
        member = self.members.get(member_id)
        if member is None:
            if value is None:
                return None
            # In a compacted log the assignment of a member may precede its metadata.
            member = self._add(member_id, UNKNOWN)
        previous = member.current
        self.settled -= member.has_reached(self.target_epoch)
        self._disown(member)
        member.current = FIRST if value is None else value
        self._own(member)
        self.settled += member.has_reached(self.target_epoch)
        return None if previous is FIRST else previous

    def _own(self, member: StreamsMember) -> None:
        for tasks in (member.current.assigned, member.current.revoking):
            self.owners.add(member.metadata.process_id, tasks)

    def _disown(self, member: StreamsMember) -> None:
        for tasks in (member.current.assigned, member.current.revoking):
            self.owners.remove(member.metadata.process_id, tasks)

    # After a batch of changes

    def changed(self, changes: GroupChanges, cause: Cause) -> OnWritten:
        """Report the changes to the observer. After the write, descriptions show the current topology."""
        report = self.coordinator.streams_observer.changed(changes, cause)

        def written(error: ErrorCode, now_ms: int) -> None:
            if error is ErrorCode.none:
                self.described = self.configured
            if report is not None:
                report(error, now_ms)

        return written

    def taken_back(self, previous_members: Mapping[str, ModernMember], now_ms: int) -> None:
        """Restart the timers of members that exist again, and stop those of the other ones."""
        from kohort.coordinator.streams.streams_sessions import resume_timers  # seldom needed

        resume_timers(self, previous_members, now_ms)
        self.coordinator.streams_observer.taken_back(self)


def _read_by(subtopology: Subtopology) -> Iterable[str]:
    return (*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics))
