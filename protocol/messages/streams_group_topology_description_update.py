"""StreamsGroupTopologyDescriptionUpdate (key 93): a member's description of its topology (KIP-1331)."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class TopologyDescriptionNode:
    name: str
    node_type: int  # 1: source, 2: processor, 3: sink
    source_topics: tuple[str, ...]
    sink_topic: str | None = None
    stores: tuple[str, ...]
    successors: tuple[str, ...]


@shape
class TopologyDescriptionSubtopology:
    subtopology_id: str
    nodes: tuple[TopologyDescriptionNode, ...]


@shape
class TopologyDescriptionGlobalStore:
    source: TopologyDescriptionNode
    processor: TopologyDescriptionNode


@shape
class TopologyDescription:
    subtopologies: tuple[TopologyDescriptionSubtopology, ...]
    global_stores: tuple[TopologyDescriptionGlobalStore, ...]


@shape
class StreamsGroupTopologyDescriptionUpdateRequest:
    group_id: str
    member_id: str
    topology_epoch: int
    topology_description: TopologyDescription


@shape
class StreamsGroupTopologyDescriptionUpdateResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None


MESSAGE = Message(
    "streams_group_topology_description_update",
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)
