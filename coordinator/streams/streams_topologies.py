"""The topology of a group: who brings it, and which topics it needs (streams-groups §5, §6)."""

from collections.abc import Generator
from functools import partial
from typing import NamedTuple

from kohort.coordinator.at_once import at_once
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_epochs import current_hash
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.streams.streams_checks import UNFORESEEN, UPDATED_TOPOLOGY
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import NOT_VALIDATED, StreamsKind
from kohort.coordinator.streams.streams_values import Status, StatusCode, Topology
from kohort.coordinator.streams.topology import BrokenTopology, ConfiguredTopology, InvalidTopology, configuring
from kohort.coordinator.topic_info import TopicView
from kohort.protocol.errors import ErrorCode

WorkingOut = Generator[None, None, ConfiguredTopology | Refusal]
"""A topology that is being worked out. It yields where others may come."""


class Prepared(NamedTuple):
    """What is known ahead of a heartbeat: a large topology takes its time (`streams_preparing.py`)."""

    brought: Topology | None = None
    """The topology that the heartbeat brings."""
    topology: Topology | None = None
    """A topology that was worked out: this one, or the group's."""
    version: int = 0
    """What `TopicView.version` was then."""
    outcome: ConfiguredTopology | Refusal | None = None
    """What came of it; None if nothing was worked out."""
    encoded: bytes | None = None
    """The value of the record of the topology that is brought, if it is a large one that the group has not."""
    equal_to: Topology | None = None
    """The group's topology, if the one that is brought was compared with it and has the same content."""


class Configured(NamedTuple):
    """What a heartbeat finds out about the topology."""

    topology: ConfiguredTopology
    metadata_hash: int
    """The hash of the topics it needs, as they are now."""
    validated_epoch: int
    """Its epoch if it is ready."""


def take_topology(
    group: StreamsGroup, changes: GroupChanges, topology: Topology | None, prepared: Prepared
) -> Refusal | None:
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
        if prepared.encoded is not None:
            group.encoded_topology = topology, prepared.encoded
        changes.make(StreamsKind.TOPOLOGY, None, topology)
        return None
    if topology.epoch < known.epoch:
        return None
    if prepared.equal_to is known:
        return None
    is_equal = topology.epoch == known.epoch and by_id == {each.subtopology_id: each for each in known.subtopologies}
    return None if is_equal else UPDATED_TOPOLOGY


def comparing(brought: Topology, known: Topology) -> Generator[None, None, bool]:
    """Whether two topologies have the same epoch and content, in whatever order. Yields after each subtopology."""
    if (brought.epoch, len(brought.subtopologies)) != (known.epoch, len(known.subtopologies)):
        return False
    by_id = {each.subtopology_id: each for each in known.subtopologies}
    seen: set[str] = set()
    for each in brought.subtopologies:
        if by_id.get(each.subtopology_id) != each or each.subtopology_id in seen:
            return False
        seen.add(each.subtopology_id)
        yield
    return True


def stale_status(group: StreamsGroup, topology_epoch: int) -> tuple[Status, ...]:
    """What a member hears whose topology is an older one than the group's."""
    if group.topology is None or topology_epoch >= group.topology.epoch:
        return ()
    detail = (
        f"The member's topology epoch {topology_epoch} is behind the group's topology epoch {group.topology.epoch}."
    )
    return (Status(StatusCode.STALE_TOPOLOGY, detail),)


def configured(group: StreamsGroup, changes: GroupChanges, prepared: Prepared) -> Configured | Refusal:
    """The topology with the number of partitions of each topic, worked out anew if any of them has changed.

    Refusals: see `working_out`.
    """
    assert group.topology is not None, "who joins brings one"
    version = group.coordinator.topics.version
    metadata_hash, before = group.metadata_hash, group.configured
    if before is None or group.checked_version != version:
        group.checked_version = version
        metadata_hash = current_hash(group)
    if before is None or metadata_hash != group.metadata_hash:
        outcome = prepared.outcome
        if outcome is None or prepared.topology is not group.topology or prepared.version != version:
            outcome = at_once(working_out(group.coordinator.topics, group.topology))
        if isinstance(outcome, Refusal):
            return outcome
        group.configured = outcome
        changes.on_undo(lambda now_ms: _configure_again(group))
    found = group.configured
    assert found is not None, "it was just made, or known before"
    return Configured(found, metadata_hash, group.topology.epoch if found.ready else NOT_VALIDATED)


def _configure_again(group: StreamsGroup) -> None:
    group.configured = None


def working_out(topics: TopicView, topology: Topology) -> WorkingOut:
    """What a group can do with a topology.

    STREAMS_INVALID_TOPOLOGY: it cannot be worked out; UNKNOWN_SERVER_ERROR: Kafka does not foresee what it says.
    """
    steps = configuring(topology, partial(_partitions_of, topics))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: ConfiguredTopology = end.value
            return found
        except InvalidTopology as problem:
            return Refusal(ErrorCode.streams_invalid_topology, str(problem))
        except BrokenTopology:
            return UNFORESEEN
        yield


def _partitions_of(topics: TopicView, name: str) -> int | None:
    topic = topics.by_name(name)
    return None if topic is None else topic.partitions
