"""Topology of a group: the one that members send, and the topics it needs (streams-groups §5, §6)."""

from collections.abc import Generator
from functools import partial
from typing import NamedTuple

from kohort.coordinator.at_once import at_once
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.streams.streams_checks import UNFORESEEN, UPDATED_TOPOLOGY
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import NOT_VALIDATED, StreamsKind
from kohort.coordinator.streams.streams_values import Status, StatusCode, Topology
from kohort.coordinator.streams.topology import BrokenTopology, ConfiguredTopology, InvalidTopology, configuring
from kohort.coordinator.topic_info import TopicView
from kohort.protocol.errors import ErrorCode

# steps that configure a topology; they yield so that other requests are served
ConfigureSteps = Generator[None, None, ConfiguredTopology | Refusal]


class Prepared(NamedTuple):
    """Results that were computed before the heartbeat was handled, for large topologies (`streams_preparing.py`)."""

    member_topology: Topology | None = None  # the topology in the heartbeat
    topology: Topology | None = None  # the topology that was configured: that one, or the group's
    version: int = 0  # `TopicView.version` at that time
    outcome: ConfiguredTopology | Refusal | None = None  # the configured topology; None if nothing was configured
    encoded: bytes | None = None  # record value of the topology in the heartbeat, if it is large and the group has none
    equal_to: Topology | None = None  # the group's topology, if the one in the heartbeat has the same content


class Configured(NamedTuple):
    """Current topology, as the heartbeat sees it."""

    topology: ConfiguredTopology
    metadata_hash: int  # hash of the topics that it needs
    validated_epoch: int  # its epoch, if it is ready


def take_topology(
    group: StreamsGroup, changes: GroupChanges, topology: Topology | None, prepared: Prepared
) -> Refusal | None:
    """Set the topology of the first member. Other members must send an equal one, or one of an older epoch.

    Errors: INVALID_REQUEST; UNKNOWN_SERVER_ERROR for a negative epoch and for two subtopologies with the same id.
    """
    if topology is None:
        return None
    by_id = {subtopology.subtopology_id: subtopology for subtopology in topology.subtopologies}
    if topology.epoch < 0 or len(by_id) < len(topology.subtopologies):
        return UNFORESEEN
    group_topology = group.topology
    if group_topology is None:
        if prepared.encoded is not None:
            group.encoded_topology = topology, prepared.encoded
        changes.make(StreamsKind.TOPOLOGY, None, topology)
        return None
    if topology.epoch < group_topology.epoch:
        return None
    if prepared.equal_to is group_topology:
        return None
    is_equal = topology.epoch == group_topology.epoch and by_id == {
        subtopology.subtopology_id: subtopology for subtopology in group_topology.subtopologies
    }
    return None if is_equal else UPDATED_TOPOLOGY


def comparing(member_topology: Topology, group_topology: Topology) -> Generator[None, None, bool]:
    """Return whether two topologies have the same epoch and content, in any order. Yield after each subtopology."""
    if (member_topology.epoch, len(member_topology.subtopologies)) != (
        group_topology.epoch,
        len(group_topology.subtopologies),
    ):
        return False
    by_id = {subtopology.subtopology_id: subtopology for subtopology in group_topology.subtopologies}
    compared_ids: set[str] = set()
    for subtopology in member_topology.subtopologies:
        if by_id.get(subtopology.subtopology_id) != subtopology or subtopology.subtopology_id in compared_ids:
            return False
        compared_ids.add(subtopology.subtopology_id)
        yield
    return True


def stale_status(group: StreamsGroup, topology_epoch: int) -> tuple[Status, ...]:
    if group.topology is None or topology_epoch >= group.topology.epoch:
        return ()
    detail = (
        f"The member's topology epoch {topology_epoch} is behind the group's topology epoch {group.topology.epoch}."
    )
    return (Status(StatusCode.STALE_TOPOLOGY, detail),)


def configured(group: StreamsGroup, changes: GroupChanges, prepared: Prepared) -> Configured | Refusal:
    """Return the topology with partition counts, which are computed again if topics have changed.

    Errors: see `working_out`.
    """
    assert group.topology is not None, "a member that joins sends one"
    version = group.coordinator.topics.version
    metadata_hash, previous = group.metadata_hash, group.configured
    if previous is None or group.checked_version != version:
        group.checked_version = version
        metadata_hash = group.current_hash()
    if previous is None or metadata_hash != group.metadata_hash:
        outcome = prepared.outcome
        if outcome is None or prepared.topology is not group.topology or prepared.version != version:
            outcome = at_once(working_out(group.coordinator.topics, group.topology))
        if isinstance(outcome, Refusal):
            return outcome
        group.configure(outcome)
        changes.on_undo(lambda now_ms: _configure_again(group))
    topology = group.configured
    assert topology is not None, "configured above or earlier"
    return Configured(topology, metadata_hash, group.topology.epoch if topology.ready else NOT_VALIDATED)


def _configure_again(group: StreamsGroup) -> None:
    group.configured = None


def working_out(topics: TopicView, topology: Topology) -> ConfigureSteps:
    """Compute the partition counts of a topology.

    Errors: STREAMS_INVALID_TOPOLOGY; UNKNOWN_SERVER_ERROR for a topology that Kafka does not expect.
    """
    steps = configuring(topology, partial(_partitions_of, topics))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            configured: ConfiguredTopology = end.value
            return configured
        except InvalidTopology as error:
            return Refusal(ErrorCode.streams_invalid_topology, str(error))
        except BrokenTopology:
            return UNFORESEEN
        yield


def _partitions_of(topics: TopicView, name: str) -> int | None:
    topic = topics.by_name(name)
    return None if topic is None else topic.partitions
