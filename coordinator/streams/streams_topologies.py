"""The topology of a group: who brings it, and which topics it needs (streams-groups §5, §6)."""

from typing import NamedTuple

from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_epochs import current_hash
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.streams.streams_checks import UNFORESEEN, UPDATED_TOPOLOGY
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import NOT_VALIDATED, StreamsKind
from kohort.coordinator.streams.streams_values import Status, StatusCode, Topology
from kohort.coordinator.streams.topology import BrokenTopology, ConfiguredTopology, InvalidTopology, configure
from kohort.protocol.errors import ErrorCode


class Configured(NamedTuple):
    """What a heartbeat finds out about the topology."""

    topology: ConfiguredTopology
    metadata_hash: int
    """The hash of the topics it needs, as they are now."""
    validated_epoch: int
    """Its epoch if it is ready."""


def take_topology(group: StreamsGroup, changes: GroupChanges, topology: Topology | None) -> Refusal | None:
    """Takes over the topology of the first member. Others must bring an equal one, or one of an older epoch.

    INVALID_REQUEST; UNKNOWN_SERVER_ERROR for a negative epoch and for two subtopologies of one id.
    """
    if topology is None:
        return None
    by_id = {each.subtopology_id: each for each in topology.subtopologies}
    if topology.epoch < 0 or len(by_id) < len(topology.subtopologies):
        return UNFORESEEN
    known = group.topology
    if known is None:
        changes.make(StreamsKind.TOPOLOGY, None, topology)
        return None
    if topology.epoch < known.epoch:
        return None
    is_equal = topology.epoch == known.epoch and by_id == {each.subtopology_id: each for each in known.subtopologies}
    return None if is_equal else UPDATED_TOPOLOGY


def stale_status(group: StreamsGroup, topology_epoch: int) -> tuple[Status, ...]:
    """What a member hears whose topology is an older one than the group's."""
    if group.topology is None or topology_epoch >= group.topology.epoch:
        return ()
    detail = (
        f"The member's topology epoch {topology_epoch} is behind the group's topology epoch {group.topology.epoch}."
    )
    return (Status(StatusCode.STALE_TOPOLOGY, detail),)


def configured(group: StreamsGroup, changes: GroupChanges) -> Configured | Refusal:
    """The topology with the number of partitions of each topic, worked out anew if any of them has changed.

    STREAMS_INVALID_TOPOLOGY: it cannot be worked out; UNKNOWN_SERVER_ERROR: Kafka does not foresee what it says.
    """
    assert group.topology is not None, "who joins brings one"
    version = group.coordinator.topics.version
    metadata_hash, before = group.metadata_hash, group.configured
    if before is None or group.checked_version != version:
        group.checked_version = version
        metadata_hash = current_hash(group)
    if before is None or metadata_hash != group.metadata_hash:
        try:
            group.configured = configure(group.topology, lambda name: _partitions_of(group, name))
        except InvalidTopology as problem:
            return Refusal(ErrorCode.streams_invalid_topology, str(problem))
        except BrokenTopology:
            return UNFORESEEN
        changes.on_undo(lambda now_ms: _configure_again(group))
    found = group.configured
    assert found is not None, "it was just made, or known before"
    return Configured(found, metadata_hash, group.topology.epoch if found.ready else NOT_VALIDATED)


def _configure_again(group: StreamsGroup) -> None:
    group.configured = None


def _partitions_of(group: StreamsGroup, name: str) -> int | None:
    topic = group.coordinator.topics.by_name(name)
    return None if topic is None else topic.partitions
