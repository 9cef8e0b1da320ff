"""StreamsGroupDescribe (key 89): state, topology and members of streams groups."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_heartbeat import Endpoint, KeyValue, TaskIds, TaskOffset, TopicInfo
from kohort.protocol.messages.streams_group_topology_description_update import TopologyDescription
from kohort.protocol.shape import shape


@shape
class StreamsGroupDescribeRequest:
    group_ids: tuple[str, ...] = ()
    include_authorized_operations: bool = False
    include_topology_description: bool = False  # from v1 on


@shape
class Subtopology:
    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: tuple[TopicInfo, ...]
    repartition_source_topics: tuple[TopicInfo, ...]


@shape
class Topology:
    epoch: int
    subtopologies: tuple[Subtopology, ...] | None


@shape
class Assignment:
    active_tasks: tuple[TaskIds, ...]
    standby_tasks: tuple[TaskIds, ...]
    warmup_tasks: tuple[TaskIds, ...]


@shape
class Member:
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    user_endpoint: Endpoint | None = None
    client_tags: tuple[KeyValue, ...] = ()
    task_offsets: tuple[TaskOffset, ...] = ()
    task_end_offsets: tuple[TaskOffset, ...] = ()
    assignment: Assignment
    target_assignment: Assignment
    is_classic: bool = False


@shape
class DescribedGroup:
    error_code: ErrorCode
    error_message: str | None = None
    group_id: str
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    topology: Topology | None = None
    members: tuple[Member, ...] = ()
    authorized_operations: int = -(2**31)
    topology_description: TopologyDescription | None = None  # from v1 on
    topology_description_status: int = 0  # from v1 on: 0 not requested, 1 not stored, 2 error of the plugin, 3 present
    assignor_name: str | None = None  # from v1 on


@shape
class StreamsGroupDescribeResponse:
    throttle_time_ms: int = 0
    groups: tuple[DescribedGroup, ...]


MESSAGE = Message("streams_group_describe", StreamsGroupDescribeRequest, StreamsGroupDescribeResponse)
