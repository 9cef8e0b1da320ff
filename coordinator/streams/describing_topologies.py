"""StreamsGroupTopologyDescriptionUpdate requests: checks in Kafka's order (KIP-1331; newer-release §5)."""

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.modern.group_refusals import (
    GROUP_ID_EMPTY,
    MEMBER_ID_EMPTY,
    Refusal,
    group_missing,
    unknown_member,
)
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import NO_DESCRIPTION
from kohort.coordinator.streams.topology_descriptions import OnOutcome
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    TopologyDescription,
    TopologyDescriptionGlobalStore,
    TopologyDescriptionNode,
    TopologyDescriptionSubtopology,
)

NO_PLUGIN = Refusal(
    ErrorCode.unsupported_version, "The broker has no streams group topology description plugin configured."
)
SOURCE, PROCESSOR, SINK = 1, 2, 3  # types of nodes


class InvalidDescription(Exception):
    """Description that the API cannot represent."""


def update_topology_description(
    coordinator: GroupCoordinator,
    request: StreamsGroupTopologyDescriptionUpdateRequest,
    now_ms: int,
    on_outcome: OnOutcome,
) -> None:
    """Store the description that a member sends.

    Errors, in this order: UNSUPPORTED_VERSION without a plugin, INVALID_REQUEST, an error of the coordinator,
    GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, and those of `TopologyDescriptions.store`.
    """
    descriptions = coordinator.topology_descriptions
    if descriptions is None:
        on_outcome(NO_PLUGIN, now_ms)
        return
    group = _find_group(coordinator, request)
    if isinstance(group, Refusal):
        on_outcome(group, now_ms)
        return
    try:
        description = _check_description(request.topology_description)
    except InvalidDescription as error:
        on_outcome(Refusal(ErrorCode.invalid_request, str(error)), now_ms)
        return
    descriptions.store(group, request.topology_epoch, description, now_ms, on_outcome)


def _find_group(
    coordinator: GroupCoordinator, request: StreamsGroupTopologyDescriptionUpdateRequest
) -> StreamsGroup | Refusal:
    if not request.member_id.strip():
        return MEMBER_ID_EMPTY
    if not request.group_id.strip():
        return GROUP_ID_EMPTY
    group = coordinator.streams_group(request.group_id)
    if group is None:
        error = ErrorCode.none if request.group_id in coordinator.groups else coordinator.availability(request.group_id)
        return group_missing(request.group_id) if error is ErrorCode.none else Refusal(error)
    if request.member_id not in group.members:
        return unknown_member(request.member_id, request.group_id)
    topology_epoch = NO_DESCRIPTION if group.topology is None else group.topology.epoch
    if request.topology_epoch != topology_epoch:
        message = (
            f"Topology epoch {request.topology_epoch} does not match the group's current topology epoch "
            f"{topology_epoch}."
        )
        return Refusal(ErrorCode.invalid_request, message)
    return group


def _check_description(description: TopologyDescription) -> TopologyDescription:
    """Return the description with the fields that each type of node has.

    Raises:
        InvalidDescription: The type of a node is unknown, or a global store has other nodes than a source and a
            processor.
    """
    return TopologyDescription(
        subtopologies=tuple(
            TopologyDescriptionSubtopology(
                subtopology_id=subtopology.subtopology_id, nodes=tuple(map(_check_node, subtopology.nodes))
            )
            for subtopology in description.subtopologies
        ),
        global_stores=tuple(map(_check_global_store, description.global_stores)),
    )


def _check_global_store(store: TopologyDescriptionGlobalStore) -> TopologyDescriptionGlobalStore:
    source, processor = _check_node(store.source), _check_node(store.processor)
    if (source.node_type, processor.node_type) != (SOURCE, PROCESSOR):
        raise InvalidDescription("Global store must be composed of a source and a processor node.")
    return TopologyDescriptionGlobalStore(source=source, processor=processor)


def _check_node(node: TopologyDescriptionNode) -> TopologyDescriptionNode:
    if node.node_type not in (SOURCE, PROCESSOR, SINK):
        raise InvalidDescription(f"Unknown topology node type: {node.node_type}")
    return TopologyDescriptionNode(
        name=node.name,
        node_type=node.node_type,
        source_topics=tuple(dict.fromkeys(node.source_topics)) if node.node_type == SOURCE else (),
        sink_topic=node.sink_topic if node.node_type == SINK else None,
        stores=tuple(dict.fromkeys(node.stores)) if node.node_type == PROCESSOR else (),
        successors=() if node.node_type == SINK else tuple(dict.fromkeys(node.successors)),
    )
