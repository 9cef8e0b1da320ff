"""DescribeShareGroupOffsets (key 90), versions 0-1: how far share groups are with partitions (KIP-932).

v1: lag, the records that are not done yet (KIP-1226).

Nobody asks whether a group exists. Named partitions are described by any node, all of a group by its coordinator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from kohort.broker.apis.share_offsets_errors import SHARE_OFFSETS_ERRORS
from kohort.broker.logs import log
from kohort.broker.scheduling.awaited_response import AwaitedResponse
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.share.state_calls import PARTITIONS_AT_ONCE
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kohort.protocol.wire import wrap_int64
from kohort.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.share.share_host import Outcome
    from kohort.coordinator.share.state_partitions import TopicIdPartition

    Partitions = dict[str, tuple[UUID | None, list[int]]]
    """By name, the ids of topics that exist, and the partitions that are asked for."""

UNKNOWN = -1
"""As an offset, a lag, a count."""
UNFORESEEN = Refusal(ErrorCode.unknown_server_error, SHARE_OFFSETS_ERRORS[ErrorCode.unknown_server_error])
"""What a group hears of which Kafka can't describe what is asked for (heard from 4.3.0)."""


def handle(
    node: Node, request: DescribeShareGroupOffsetsRequest, ticket: Ticket
) -> Task[DescribeShareGroupOffsetsResponse | None]:
    """Answer when share coordinators have answered for all groups. All of a group is described once."""
    if not node.cluster.features.serves_share_groups:
        return error_response(request, ErrorCode.unsupported_version)
    groups: list[_Group] = []
    whole: dict[str, _Group] = {}
    response: AwaitedResponse[list[_Group], DescribeShareGroupOffsetsResponse] = AwaitedResponse(ticket, _response)
    pending = 1

    def on_described() -> None:
        nonlocal pending
        pending -= 1
        if not pending:
            response.set(groups)

    for asked in request.groups:
        group = whole.get(asked.group_id) if asked.topics is None else None
        if group is None:
            group = _Group(node, asked, ticket, on_described)
            pending += 1
            if asked.topics is None:
                whole[asked.group_id] = group
            yield from group.describe()
        groups.append(group)
        yield
    on_described()
    return (yield from response.get())


def _response(groups: list[_Group]) -> Task[DescribeShareGroupOffsetsResponse]:
    described: list[DescribeShareGroupOffsetsResponseGroup] = []
    for group in groups:
        described.append((yield from group.response()))
        yield
    return DescribeShareGroupOffsetsResponse(groups=tuple(described))


class _Group:
    """One group of the request. What fails unexpectedly fails for this group only."""

    def __init__(
        self,
        node: Node,
        asked: DescribeShareGroupOffsetsRequestGroup,
        ticket: Ticket,
        on_described: Callable[[], None],
    ) -> None:
        """Prepare to describe a group. `on_described` is called once, when its response can be made."""
        self._node = node
        self._asked = asked
        self._ticket = ticket
        self._on_described = on_described
        self._pending = 1
        self._topics: list[tuple[str, UUID | None, list[DescribeShareGroupOffsetsResponsePartition]]] = []
        self._refusal: Refusal | None = None
        self._described: DescribeShareGroupOffsetsResponseGroup | None = None

    def describe(self) -> Task[None]:
        """Call share coordinators for the partitions of the group, PARTITIONS_AT_ONCE in one step."""
        try:
            yield from self._call_coordinators()
        except Exception as problem:
            self._fail(problem)
        self._call_answered()

    def response(self) -> Task[DescribeShareGroupOffsetsResponseGroup]:
        """Return the group of the response; the same object each time."""
        if self._described is None and self._refusal is not None:
            self._described = _refused(self._asked.group_id, *self._refusal)
        elif self._described is None:
            topics = []
            for name, topic_id, partitions in self._topics:
                topics.append(
                    DescribeShareGroupOffsetsResponseTopic(
                        topic_name=name, topic_id=topic_id, partitions=tuple(partitions)
                    )
                )
                yield
            self._described = DescribeShareGroupOffsetsResponseGroup(
                group_id=self._asked.group_id, topics=tuple(topics)
            )
        return self._described

    def _call_coordinators(self) -> Task[None]:
        node, access, group_id = self._node, self._node.cluster.access, self._asked.group_id
        wanted = yield from _wanted(node, self._asked, self._ticket)
        if isinstance(wanted, Refusal):
            self._refusal = wanted
            return
        for name, (topic_id, indexes) in wanted.items():
            is_hidden = access is not None and not access.allows(self._ticket, DESCRIBE_TOPIC, name)
            if topic_id is not None and indexes and not is_hidden and not group_id:
                self._refusal = UNFORESEEN  # no share coordinator keeps its state (observed)
                return
            partitions: list[DescribeShareGroupOffsetsResponsePartition] = []
            self._topics.append((name, None if is_hidden else topic_id, partitions))
            for start in range(0, len(indexes), PARTITIONS_AT_ONCE):
                some = indexes[start : start + PARTITIONS_AT_ONCE]
                if is_hidden:
                    partitions += map(_hidden_partition, some)
                else:
                    partitions += [DescribeShareGroupOffsetsResponsePartition(partition_index=each) for each in some]
                    if topic_id is not None:
                        self._call(topic_id, partitions, start, some)
                yield
            yield

    def _call(
        self,
        topic_id: UUID,
        partitions: list[DescribeShareGroupOffsetsResponsePartition],
        start: int,
        indexes: Sequence[int],
    ) -> None:
        """Have `partitions` filled in from `start` on, once their share coordinators have answered."""
        node, now_ms = self._node, self._ticket.received_at_ms
        epochs = {(topic_id, index): _leader_epoch(node, topic_id, index) for index in indexes}

        def summarized(outcomes: Mapping[TopicIdPartition, Outcome], now_ms: int) -> None:
            try:
                for at, index in enumerate(indexes, start):
                    partitions[at] = _partition(node, topic_id, index, outcomes.get((topic_id, index)))
            except Exception as problem:
                self._fail(problem)
            self._call_answered()

        self._pending += 1
        node.coordinator.share_persister().read_summary(self._asked.group_id, epochs, summarized, now_ms)

    def _call_answered(self) -> None:
        self._pending -= 1
        if not self._pending:
            self._on_described()

    def _fail(self, problem: Exception) -> None:
        log.error(f"{self._asked.group_id}: describing offsets of a share group failed", problem)
        self._refusal = UNFORESEEN


def _wanted(node: Node, asked: DescribeShareGroupOffsetsRequestGroup, ticket: Ticket) -> Task[Partitions | Refusal]:
    """Find the partitions that are named, or all of the group."""
    if node.cluster.access is not None and not node.cluster.access.allows(ticket, DESCRIBE_GROUP, asked.group_id):
        return Refusal(ErrorCode.group_authorization_failed)
    return (yield from (_all(node, asked.group_id, ticket) if asked.topics is None else _named(node, asked.topics)))


def _all(node: Node, group_id: str, ticket: Ticket) -> Task[Partitions | Refusal]:
    """Find the partitions of a group that are ready; topics that the client may not see are left out."""
    error = node.coordinator.availability(group_id)
    if error is not ErrorCode.none:
        return Refusal(error, SHARE_OFFSETS_ERRORS.get(error))
    group, access = node.coordinator.share_groups.get(group_id), node.cluster.access
    wanted: Partitions = {}
    for topic_id, topic in (group.states.initialized if group is not None else {}).items():
        if access is None or access.shows(ticket, DESCRIBE_TOPIC, topic.name):
            wanted[topic.name] = topic_id, sorted(topic.partitions)
        yield
    return wanted


def _named(node: Node, topics: Sequence[DescribeShareGroupOffsetsRequestTopic]) -> Task[Partitions | Refusal]:
    """Find named partitions. A topic without partitions, or with one below 0, fails the group (Kafka 4.3.0)."""
    listed: dict[str, tuple[UUID | None, list[int]]] = {}
    for each in topics:
        topic = node.cluster.topics.by_name(each.topic_name)
        if topic is not None and min(each.partitions, default=-1) < 0:
            return UNFORESEEN
        _, indexes = listed.get(each.topic_name, (None, []))
        indexes += each.partitions
        listed[each.topic_name] = None if topic is None else topic.topic_id, indexes
        yield
    wanted: Partitions = {}
    for name, (topic_id, indexes) in listed.items():
        wanted[name] = topic_id, indexes if topic_id is None else sorted(set(indexes))
        yield
    return wanted


def _leader_epoch(node: Node, topic_id: UUID, index: int) -> int:
    topic = node.cluster.topics.by_id(topic_id)
    partition = topic.partition(index) if topic is not None else None
    return partition.leader_epoch if partition is not None else 0


def _hidden_partition(index: int) -> DescribeShareGroupOffsetsResponsePartition:
    error = ErrorCode.topic_authorization_failed
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=index, error_code=error, error_message=SHARE_OFFSETS_ERRORS[error]
    )


def _partition(
    node: Node, topic_id: UUID, index: int, outcome: Outcome | None
) -> DescribeShareGroupOffsetsResponsePartition:
    """Return what is known of a partition; -1 for what is not."""
    if outcome is None or outcome.error_code is not ErrorCode.none or outcome.start_offset == UNKNOWN:
        return DescribeShareGroupOffsetsResponsePartition(partition_index=index)
    topic = node.cluster.topics.by_id(topic_id)
    partition = topic.partition(index) if topic is not None else None
    lag = UNKNOWN
    if partition is not None and outcome.delivery_complete_count != UNKNOWN:
        lag = wrap_int64(partition.log.high_watermark - outcome.start_offset - outcome.delivery_complete_count)
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=index, start_offset=outcome.start_offset, leader_epoch=outcome.leader_epoch, lag=lag
    )


def _refused(group_id: str, error: ErrorCode, message: str | None = None) -> DescribeShareGroupOffsetsResponseGroup:
    """The errors that a client brings about have no message here; those of the coordinator have one."""
    return DescribeShareGroupOffsetsResponseGroup(group_id=group_id, error_code=error, error_message=message)


def error_response(
    request: DescribeShareGroupOffsetsRequest, error_code: ErrorCode
) -> DescribeShareGroupOffsetsResponse:
    """What a request hears that failed here, or that is not served."""
    return DescribeShareGroupOffsetsResponse(
        groups=tuple(_refused(each.group_id, error_code) for each in request.groups)
    )
