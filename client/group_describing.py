"""How groups are asked about: for each kind the API that describes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kohort.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kohort.protocol.messages.describe_groups import DescribeGroupsRequest
from kohort.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kohort.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest

DESCRIBING: Final[dict[str, tuple[str, Callable[[tuple[str, ...]], Any]]]] = {
    "classic": ("describe_groups", lambda group_ids: DescribeGroupsRequest(groups=group_ids)),
    "consumer": ("consumer_group_describe", lambda group_ids: ConsumerGroupDescribeRequest(group_ids=group_ids)),
    "share": ("share_group_describe", lambda group_ids: ShareGroupDescribeRequest(group_ids=group_ids)),
    "streams": ("streams_group_describe", lambda group_ids: StreamsGroupDescribeRequest(group_ids=group_ids)),
}
"""By kind of group: the API, and a request about groups.

Brokers before Kafka 4.0 describe no consumer groups, before 4.1 no share groups and no streams groups.
"""
