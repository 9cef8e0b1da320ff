"""DescribeShareGroupOffsets (key 90), versions 0-1: progress of share groups in partitions (KIP-932).

v1: lag, the number of records that are not completed (KIP-1226).

The group need not exist. Any node describes requested partitions; only its coordinator describes all of a group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from kohort.base.logs import log
from kohort.broker.apis.share_offsets_errors import SHARE_OFFSETS_ERRORS
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
    from kohort.coordinator.share.persister import Outcome
    from kohort.coordinator.share.state_partitions import TopicIdPartition

    # ids of topics, if they exist, and requested partitions, by topic name
    Partitions = dict[str, tuple[UUID | None, list[int]]]

UNKNOWN = -1  # as an offset, a lag or a count
# the error of groups for which Kafka fails (observed on 4.3.0)
UNFORESEEN = Refusal(ErrorCode.unknown_server_error, SHARE_OFFSETS_ERRORS[ErrorCode.unknown_server_error])


def handle(
    node: Node, request: DescribeShareGroupOffsetsRequest, ticket: Ticket
) -> Task[DescribeShareGroupOffsetsResponse | None]:
    """Describe groups. The response is sent when share coordinators have answered for all of these groups.

    Requests for all partitions of the same group are handled once.
    """
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

    for entry in request.groups:
        group = whole.get(entry.group_id) if entry.topics is None else None
        if group is None:
            group = _Group(node, entry, ticket, on_described)
            pending += 1
            if entry.topics is None:
                whole[entry.group_id] = group
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
    """A group of the request. An unexpected error fails this group only."""

    def __init__(
        self,
        node: Node,
        entry: DescribeShareGroupOffsetsRequestGroup,
        ticket: Ticket,
        on_described: Callable[[], None],
    ) -> None:
        """Prepare the description of a group. `on_described` is called once, when its response is available."""
        self._node = node
        self._request = entry
        self._ticket = ticket
        self._on_described = on_described
        self._pending = 1
        self._topics: list[tuple[str, UUID | None, list[DescribeShareGroupOffsetsResponsePartition]]] = []
        self._refusal: Refusal | None = None
        self._described: DescribeShareGroupOffsetsResponseGroup | None = None

    def describe(self) -> Task[None]:
        """Call share coordinators for the partitions of the group, PARTITIONS_AT_ONCE per slice."""
        try:
            yield from self._call_coordinators()
        except Exception as error:
            self._fail(error)
        self._call_answered()

    def response(self) -> Task[DescribeShareGroupOffsetsResponseGroup]:
        """Return the group of the response; the same object each time."""
        if self._described is None and self._refusal is not None:
            self._described = _refused(self._request.group_id, *self._refusal)
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
                group_id=self._request.group_id, topics=tuple(topics)
            )
        return self._described

    def _call_coordinators(self) -> Task[None]:
        node, access, group_id = self._node, self._node.cluster.access, self._request.group_id
        requested = yield from _find_partitions(node, self._request, self._ticket)
        if isinstance(requested, Refusal):
            self._refusal = requested
            return
        for name, (topic_id, indexes) in requested.items():
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
                    partitions += [DescribeShareGroupOffsetsResponsePartition(partition_index=index) for index in some]
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
        """Call share coordinators, and replace the entries of `partitions` from `start` on by their results."""
        node, now_ms = self._node, self._ticket.received_at_ms
        epochs = {(topic_id, index): _leader_epoch(node, topic_id, index) for index in indexes}

        def summarized(outcomes: Mapping[TopicIdPartition, Outcome], now_ms: int) -> None:
            try:
                for at, index in enumerate(indexes, start):
                    partitions[at] = _partition(node, topic_id, index, outcomes.get((topic_id, index)))
            except Exception as error:
                self._fail(error)
            self._call_answered()

        self._pending += 1
        node.coordinator.share_persister().read_summary(self._request.group_id, epochs, summarized, now_ms)

    def _call_answered(self) -> None:
        self._pending -= 1
        if not self._pending:
            self._on_described()

    def _fail(self, error: Exception) -> None:
        log.error(f"{self._request.group_id}: describing offsets of a share group failed", error)
        self._refusal = UNFORESEEN


def _find_partitions(
    node: Node, entry: DescribeShareGroupOffsetsRequestGroup, ticket: Ticket
) -> Task[Partitions | Refusal]:
    """Return the requested partitions, or all of the group."""
    if node.cluster.access is not None and not node.cluster.access.allows(ticket, DESCRIBE_GROUP, entry.group_id):
        return Refusal(ErrorCode.group_authorization_failed)
    return (yield from (_all(node, entry.group_id, ticket) if entry.topics is None else _named(node, entry.topics)))


def _all(node: Node, group_id: str, ticket: Ticket) -> Task[Partitions | Refusal]:
    """Return the initialized partitions of a group. Topics that the client may not see are left out."""
    error = node.coordinator.availability(group_id)
    if error is not ErrorCode.none:
        return Refusal(error, SHARE_OFFSETS_ERRORS.get(error))
    group, access = node.coordinator.share_group(group_id), node.cluster.access
    partitions: Partitions = {}
    for topic_id, topic in (group.states.initialized if group is not None else {}).items():
        if access is None or access.shows(ticket, DESCRIBE_TOPIC, topic.name):
            partitions[topic.name] = topic_id, sorted(topic.partitions)
        yield
    return partitions


def _named(node: Node, topics: Sequence[DescribeShareGroupOffsetsRequestTopic]) -> Task[Partitions | Refusal]:
    """Return requested partitions.

    A topic without partitions, or with a negative one, fails the group (Kafka 4.3.0).
    """
    listed: dict[str, tuple[UUID | None, list[int]]] = {}
    for entry in topics:
        topic = node.cluster.topics.by_name(entry.topic_name)
        if topic is not None and min(entry.partitions, default=-1) < 0:
            return UNFORESEEN
        _, indexes = listed.get(entry.topic_name, (None, []))
        indexes += entry.partitions
        listed[entry.topic_name] = None if topic is None else topic.topic_id, indexes
        yield
    partitions: Partitions = {}
    for name, (topic_id, indexes) in listed.items():
        partitions[name] = topic_id, indexes if topic_id is None else sorted(set(indexes))
        yield
    return partitions


def _leader_epoch(node: Node, topic_id: UUID, index: int) -> int:
    partition = node.cluster.topics.partition(topic_id, index)
    return partition.leader_epoch if partition is not None else 0


def _hidden_partition(index: int) -> DescribeShareGroupOffsetsResponsePartition:
    error = ErrorCode.topic_authorization_failed
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=index, error_code=error, error_message=SHARE_OFFSETS_ERRORS[error]
    )


def _partition(
    node: Node, topic_id: UUID, index: int, outcome: Outcome | None
) -> DescribeShareGroupOffsetsResponsePartition:
    """Return the description of a partition, with -1 for unknown values."""
    if outcome is None or outcome.error_code is not ErrorCode.none or outcome.start_offset == UNKNOWN:
        return DescribeShareGroupOffsetsResponsePartition(partition_index=index)
    partition = node.cluster.topics.partition(topic_id, index)
    lag = UNKNOWN
    if partition is not None and outcome.delivery_complete_count != UNKNOWN:
        lag = wrap_int64(partition.log.high_watermark - outcome.start_offset - outcome.delivery_complete_count)
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=index, start_offset=outcome.start_offset, leader_epoch=outcome.leader_epoch, lag=lag
    )


def _refused(group_id: str, error: ErrorCode, message: str | None = None) -> DescribeShareGroupOffsetsResponseGroup:
    """Return a group with an error. Only errors of the coordinator have messages."""
    return DescribeShareGroupOffsetsResponseGroup(group_id=group_id, error_code=error, error_message=message)


def error_response(
    request: DescribeShareGroupOffsetsRequest, error_code: ErrorCode
) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(
        groups=tuple(_refused(entry.group_id, error_code) for entry in request.groups)
    )
