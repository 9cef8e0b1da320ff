"""WriteTxnMarkers (key 27), versions 1 and 2: coordinators end transactions at the leaders of partitions.

v1 tagged fields · v2 the version of the transaction (KIP-1228): from EPOCHS_FROM on a marker has a newer epoch than the
transaction that it ends.

Administrators use it to end hanging transactions. kohort's own coordinators write markers without this request, because
all nodes share a process.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kohort.broker.apis.leadership import led_partition
from kohort.broker.cluster.transaction_markers import write_marker
from kohort.broker.scheduling.cooperative import one_by_one
from kohort.protocol.batches import NO_EPOCH, NO_PRODUCER, Marker
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kohort.security.acls import CLUSTER_NAME
from kohort.security.rights import ALTER_CLUSTER, CLUSTER_ACTION

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket


EPOCHS_FROM = 2  # first version of transactions in which each end has a new epoch (`TransactionVersion.TV_2`)


def handle(node: Node, request: WriteTxnMarkersRequest, ticket: Ticket) -> Task[WriteTxnMarkersResponse]:
    """Write each marker to its partitions that this node leads. Results are grouped by producer, topic and partition.

    A marker without producer id or epoch (-1) fails the whole request with UNKNOWN_SERVER_ERROR, as in Kafka.
    """
    access = node.cluster.access
    if (
        access is not None
        and not access.shows(ticket, ALTER_CLUSTER, CLUSTER_NAME)
        and not access.allows_on_cluster(ticket, CLUSTER_ACTION)
    ):
        return error_response(request, ErrorCode.cluster_authorization_failed)
    for marker in request.markers:
        if (yield from _is_impossible(node, marker)):
            return error_response(request, ErrorCode.unknown_server_error)
    outcomes: dict[int, dict[str, dict[int, ErrorCode]]] = {}
    for marker in request.markers:
        for topic in marker.topics:
            for index in topic.partition_indexes:
                error = _write(node, marker, topic.name, index, ticket.received_at_ms)
                outcomes.setdefault(marker.producer_id, {}).setdefault(topic.name, {})[index] = error
                yield
            yield
        yield
    markers = []
    for producer_id, by_topic in outcomes.items():
        topics = yield from one_by_one(_result_of, by_topic.items())
        markers.append(WritableTxnMarkerResult(producer_id=producer_id, topics=topics))
    return WriteTxnMarkersResponse(markers=tuple(markers))


def _result_of(topic: tuple[str, dict[int, ErrorCode]]) -> WritableTxnMarkerTopicResult:
    name, partitions = topic
    return _result(name, partitions.items())


def _result(name: str, partitions: Iterable[tuple[int, ErrorCode]]) -> WritableTxnMarkerTopicResult:
    return WritableTxnMarkerTopicResult(
        name=name,
        partitions=tuple(
            WritableTxnMarkerPartitionResult(partition_index=index, error_code=error) for index, error in partitions
        ),
    )


def _is_impossible(node: Node, marker: WritableTxnMarker) -> Task[bool]:
    """Return whether Kafka fails when it writes the marker. A marker without existing partitions is not written."""
    yield
    if marker.producer_id != NO_PRODUCER and marker.producer_epoch != NO_EPOCH:
        return False
    for named in marker.topics:
        topic = node.cluster.topics.by_name(named.name)
        if topic is not None and any(topic.partition(index) for index in named.partition_indexes):
            return True
        yield
    return False


def _write(node: Node, marker: WritableTxnMarker, topic: str, index: int, now_ms: int) -> ErrorCode:
    partition = led_partition(node, node.cluster.topics.by_name(topic), index)
    if isinstance(partition, ErrorCode):
        return partition
    if marker.transaction_version < 0:  # as in Kafka, for this partition only
        return ErrorCode.unknown_server_error
    return write_marker(
        node.cluster,
        topic,
        index,
        marker.producer_id,
        marker.producer_epoch,
        Marker(marker.transaction_result, marker.coordinator_epoch),
        now_ms,
        bumped=marker.transaction_version >= EPOCHS_FROM,
    )


def error_response(request: WriteTxnMarkersRequest, error_code: ErrorCode) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=tuple(
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=tuple(
                    _result(topic.name, ((index, error_code) for index in topic.partition_indexes))
                    for topic in marker.topics
                ),
            )
            for marker in request.markers
        )
    )
