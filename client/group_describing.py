"""The API that describes groups of each type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kohort.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kohort.protocol.messages.describe_groups import DescribeGroupsRequest
from kohort.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kohort.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest

# By group type: the API, and a request for given groups.
#
# Brokers before Kafka 4.0 cannot describe consumer groups, before 4.1 neither share nor streams groups.
DESCRIBING: Final[dict[str, tuple[str, Callable[[tuple[str, ...]], Any]]]] = {
    "classic": ("describe_groups", lambda group_ids: DescribeGroupsRequest(groups=group_ids)),
    "consumer": ("consumer_group_describe", lambda group_ids: ConsumerGroupDescribeRequest(group_ids=group_ids)),
    "share": ("share_group_describe", lambda group_ids: ShareGroupDescribeRequest(group_ids=group_ids)),
    "streams": ("streams_group_describe", lambda group_ids: StreamsGroupDescribeRequest(group_ids=group_ids)),
}
