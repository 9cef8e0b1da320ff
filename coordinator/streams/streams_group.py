"""Streams group: the state that its records describe (streams-groups §4)."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.modern.modern_group import FIRST_EPOCH, ModernGroup
from kohort.coordinator.modern.modern_values import Change, Record
from kohort.coordinator.modern.record_parts import key_of
from kohort.coordinator.streams.streams_config import StreamsConfig
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
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_owners import TaskOwners
from kohort.coordinator.streams.streams_states import StreamsGroupState
from kohort.coordinator.streams.streams_values import NO_TASK_SETS, Subtopology, TaskSets, Topology
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.coordinator.groups.group_host import GroupHost
    from kohort.coordinator.streams.topology import ConfiguredTopology


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
        "shutdown_requested_by",
        "sources",
        "stored_description",
        "topology",
        "validated_topology_epoch",
    )

    group_type = STREAMS
    kinds = StreamsKind
    records = STREAMS_RECORDS
    unknown = StreamsMetadata()
    no_target = NO_TASK_SETS

    def __init__(self, coordinator: "GroupHost", group_id: str, partition: int) -> None:
        super().__init__(coordinator, group_id, partition)
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
        self.owners = TaskOwners()
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

    @property
    def assignor_name(self) -> str:
        return "sticky"  # the assignor of every streams group (Kafka 4.4)

    @property
    def config(self) -> StreamsConfig:
        config: StreamsConfig = self.coordinator.configs[STREAMS](self.group_id)
        return config

    @property
    def max_size(self) -> int:
        return self.coordinator.settings.group_streams_max_size

    def next_epoch(self) -> StreamsEpoch:
        """Return the next epoch with unchanged inputs, because a member was removed."""
        return self.epoch_values._replace(epoch=self.epoch + 1)

    def subscribed_names(self) -> Iterable[str]:
        return self.required_topics

    def vanish(self) -> None:
        super().vanish()
        if self.initial_delay is not None and not self.initial_delay.completed:
            self.coordinator.purgatory.cancel(self.initial_delay)

    def configure(self, topology: "ConfiguredTopology") -> None:
        """Set the topology with partition counts.

        The partitions of all endpoints are computed again. This fails if a topic of a task was deleted, as in Kafka.
        """
        self.configured = topology
        for member in self.members.values():
            member.listed = None

    def forget_memory(self) -> None:
        """Drop the state that is not in the log."""
        self.configured = self.described = self.shutdown_requested_by = None
        self.endpoint_epoch = 0

    # Commits, expiry and deletion (streams-groups §12)

    def given_at(self, current: StreamsAssignment, topic: str, topic_id: UUID | None, partition: int) -> int | None:
        subtopology = self.sources.get(topic)
        return None if subtopology is None else current.given_at(subtopology.subtopology_id, partition)

    def is_in_use(self, topic: str) -> bool:
        """Return whether the topology reads a topic and the group has members. Changelogs do not count."""
        return bool(self.members) and topic in self.sources

    # Records

    def last_keys(self) -> Sequence[tuple[StreamsKind, str | None]]:
        return (StreamsKind.GROUP_EPOCH, None), (StreamsKind.TOPOLOGY, None)

    def new_member(self, member_id: str, metadata: StreamsMetadata) -> StreamsMember:
        return StreamsMember(member_id, metadata)

    def record_of(self, change: Change) -> Record:
        encoded = self.encoded_topology
        if encoded is None or encoded[0] is not change.value:
            return super().record_of(change)
        self.encoded_topology = None
        return key_of(self.group_id, change.kind, change.name), encoded[1]

    def _set_epoch(self, value: StreamsEpoch | None) -> StreamsEpoch:
        previous = self.epoch_values
        following = value or StreamsEpoch(FIRST_EPOCH)
        self.epoch, self.metadata_hash, self.validated_topology_epoch, self.configs, *descriptions = following
        self.stored_description, self.failed_description = descriptions
        return previous

    def _set_other(self, change: Change) -> Topology | None:
        previous, self.topology = self.topology, change.value
        subtopologies = () if self.topology is None else self.topology.subtopologies
        self.sources = {topic: subtopology for subtopology in subtopologies for topic in _read_by(subtopology)}
        changelogs = (topic.name for subtopology in subtopologies for topic in subtopology.state_changelog_topics)
        self.required_topics = frozenset((*self.sources, *changelogs))
        return previous

    def _set_member(self, member_id: str, value: StreamsMetadata | None) -> StreamsMetadata | None:
        previous: StreamsMetadata | None = super()._set_member(member_id, value)
        if not self.members:
            self.shutdown_requested_by = None
        return previous

    def _replace_metadata(self, member: StreamsMember, metadata: StreamsMetadata) -> None:
        if metadata.process_id == member.metadata.process_id:
            member.metadata = metadata
            return
        self._disown(member)
        member.metadata = metadata
        self._own(member)

    def _count(self, metadata: StreamsMetadata, by: int) -> None:
        """Count nothing: the topology names the topics that all members read."""

    def _replace_current(self, member: StreamsMember, assignment: StreamsAssignment) -> None:
        current = member.current
        if assignment.assigned is current.assigned and assignment.revoking is current.revoking:
            member.current = assignment  # only its epochs differ
        else:
            super()._replace_current(member, assignment)

    def _own(self, member: StreamsMember) -> None:
        for tasks in (member.current.assigned, member.current.revoking):
            self.owners.add(member.metadata.process_id, tasks)

    def _disown(self, member: StreamsMember) -> None:
        for tasks in (member.current.assigned, member.current.revoking):
            self.owners.remove(member.metadata.process_id, tasks)

    def on_written(self) -> None:
        """Show the current topology in descriptions."""
        self.described = self.configured


def _read_by(subtopology: Subtopology) -> Iterable[str]:
    return (*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics))
