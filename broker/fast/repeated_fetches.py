"""Repeated OffsetFetch requests, most of whose response is cached in encoded form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kohort.broker.apis.offset_fetch import IDS_FROM, answered, is_long
from kohort.coordinator.offsets.fetching_offsets import never_committed, partition_answer
from kohort.protocol.messages.offset_fetch import (
    MESSAGE,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    around_partitions,
    encoded,
)
from kohort.protocol.wire import frame

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.fast.cached_request import CachedRequest
    from kohort.coordinator.coordinator import GroupCoordinator
    from kohort.coordinator.offsets.offsets import CommittedOffset

_NOTHING: Final[dict[int, CommittedOffset]] = {}


class RepeatedFetch:
    """A repeated OffsetFetch, whose response is encoded except for the offsets.

    Tools that monitor the lag of groups send it, and consumers that call `committed()`.
    """

    __slots__ = ("_group_id", "_parts", "_topics")

    def __init__(self, request: OffsetFetchRequestGroup, around: list[bytes]) -> None:
        """Prepare the response.

        Args:
            request: With topics.
            around: Encoded parts of the response around the partitions.
        """
        self._group_id = request.group_id
        self._topics = [(topic.name, topic.partition_indexes) for topic in request.topics or ()]
        parts = [b""] * (2 * len(around) - 1)
        parts[::2] = around
        self._parts = parts  # those of the partitions are at [1::2]

    def answer(self, coordinator: GroupCoordinator) -> bytes | None:
        """Return the response body, or None if the group needs other checks."""
        group = coordinator.classic_group(self._group_id)
        if group is None or group.offsets is None or group.pending_offsets is not None:
            return None
        topics = group.offsets.topics
        encoded_partitions: list[bytes] = []
        for name, partitions in self._topics:
            stored = topics.get(name, _NOTHING)
            for partition in partitions:
                committed = stored.get(partition)
                if committed is None:
                    answer = never_committed(partition)
                else:
                    answer = committed.answer or partition_answer(partition, committed)
                encoded_partitions.append(answer.encoded or encoded(answer))
        self._parts[1::2] = encoded_partitions
        return b"".join(self._parts)


def encode_repeated(node: Node, cached: CachedRequest, now_ms: int) -> bytes | None:
    repeated: RepeatedFetch | None = cached.kept
    if repeated is not None:
        body = repeated.answer(node.coordinator)
        if body is not None:
            return frame(0, True, body)
    request: OffsetFetchRequest = cached.request
    if len(request.groups) != 1 or is_long(node, request.groups[0]):
        return None
    if repeated is None and request.groups[0].topics and MESSAGE.api.first_flexible <= cached.version < IDS_FROM:
        around = around_partitions(cached.version, request.groups[0])
        cached.kept = RepeatedFetch(request.groups[0], around)
    written = MESSAGE.write(cached.version, 0, answered(node, request, cached.version, None))
    return written if isinstance(written, bytes) else None
