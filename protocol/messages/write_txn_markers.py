"""WriteTxnMarkers (key 27): commit or abort markers for the partitions of transactions."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class WritableTxnMarkerTopic:
    name: str
    partition_indexes: tuple[int, ...]


@shape
class WritableTxnMarker:
    producer_id: int
    producer_epoch: int
    transaction_result: bool  # true: commit
    topics: tuple[WritableTxnMarkerTopic, ...]
    coordinator_epoch: int
    transaction_version: int = 0  # from v2 on


@shape
class WriteTxnMarkersRequest:
    markers: tuple[WritableTxnMarker, ...]


@shape
class WritableTxnMarkerPartitionResult:
    partition_index: int
    error_code: ErrorCode


@shape
class WritableTxnMarkerTopicResult:
    name: str
    partitions: tuple[WritableTxnMarkerPartitionResult, ...]


@shape
class WritableTxnMarkerResult:
    producer_id: int
    topics: tuple[WritableTxnMarkerTopicResult, ...]


@shape
class WriteTxnMarkersResponse:
    markers: tuple[WritableTxnMarkerResult, ...]


MESSAGE = Message("write_txn_markers", WriteTxnMarkersRequest, WriteTxnMarkersResponse)
