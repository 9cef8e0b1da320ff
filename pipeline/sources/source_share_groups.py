"""Start offset, lag and members of each partition of a cluster's share groups (KIP-932).

Each broker is queried for the groups that it coordinates; brokers without share groups are skipped.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from kohort.client.security import OPEN, Security
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.source_cluster import SourceCluster
from kohort.pipeline.sources.source_connection import (
    DESCRIBE_SHARE_GROUP_OFFSETS,
    LIST_GROUPS,
    SHARE_GROUP_DESCRIBE,
    Connection,
    WireError,
)
from kohort.pipeline.sources.source_rows import ShareLagSample
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kohort.protocol.messages.list_groups import ListGroupsRequest
from kohort.protocol.messages.share_group_describe import DescribedGroup, ShareGroupDescribeRequest

_BY_TYPE = 5  # first version of ListGroups with types
_SHARE = "share"
_AT_ONCE = 100  # groups per request
_DENIED = (ErrorCode.cluster_authorization_failed, ErrorCode.group_authorization_failed)


def sample_share_groups(
    address: str, security: Security = OPEN, is_wanted: Callable[[str], bool] = lambda _: True
) -> tuple[list[ShareLagSample], list[Issue]]:
    """Request the lag of the cluster's share groups, and list what could not be requested.

    Args:
        address: Bootstrap address.
        security: How to connect.
        is_wanted: Predicate that selects groups by name.
    """
    cluster = SourceCluster(address, security)
    samples: list[ShareLagSample] = []
    issues: list[Issue] = []
    try:
        for broker in cluster.metadata(()).brokers:
            connection = cluster.connection(broker.host, broker.port)
            try:
                samples += _of_broker(connection, is_wanted, issues)
            except OSError as error:
                issues.append(_unasked(address, str(error)))
    except OSError as error:
        issues.append(_unasked(address, str(error)))
    finally:
        cluster.close()
    return samples, issues


def _unasked(source: str, reason: str) -> Issue:
    return Issue("cluster_gone", source, f"cannot query the lag of share groups: {reason}")


def _of_broker(
    connection: Connection, is_wanted: Callable[[str], bool], issues: list[Issue]
) -> Iterator[ShareLagSample]:
    if connection.version(DESCRIBE_SHARE_GROUP_OFFSETS) is None or (connection.version(LIST_GROUPS) or 0) < _BY_TYPE:
        return
    answer = connection.ask(LIST_GROUPS, ListGroupsRequest(types_filter=(_SHARE,)))
    if answer.error_code in _DENIED:
        issues.append(_unasked(connection.host, "listing groups needs Describe on the groups or the cluster"))
        return
    if answer.error_code is not ErrorCode.none:
        raise WireError(f"{connection.host}:{connection.port} doesn't list its groups: {answer.error_code.name}")
    names = [group.group_id for group in answer.groups if is_wanted(group.group_id)]
    for start in range(0, len(names), _AT_ONCE):
        yield from _lags(connection, names[start : start + _AT_ONCE], issues)


def _lags(connection: Connection, names: Sequence[str], issues: list[Issue]) -> Iterator[ShareLagSample]:
    described = _describe(connection, names)
    request = DescribeShareGroupOffsetsRequest(
        groups=tuple(DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None) for name in names)
    )
    answer, now_ms = connection.ask(DESCRIBE_SHARE_GROUP_OFFSETS, request), round(time.time() * 1000)
    for group in answer.groups:
        if group.error_code is not ErrorCode.none:
            issues.append(_unasked(group.group_id, group.error_code.name))
        members = described.get(group.group_id)
        having = Counter() if members is None else _count_assigned(members)
        for topic in group.topics:
            for part in topic.partitions:
                if part.error_code is ErrorCode.none:
                    yield ShareLagSample(
                        group_id=group.group_id,
                        topic=topic.topic_name,
                        part=part.partition_index,
                        sampled_ms=now_ms,
                        start_offset=_none_if_negative(part.start_offset),
                        lag=_none_if_negative(part.lag),
                        members=None if members is None else len(members.members),
                        assigned=None if members is None else having[topic.topic_name, part.partition_index],
                    )


def _none_if_negative(number: int) -> int | None:
    return None if number < 0 else number


def _describe(connection: Connection, names: Sequence[str]) -> dict[str, DescribedGroup]:
    if connection.version(SHARE_GROUP_DESCRIBE) is None:
        return {}
    answer = connection.ask(SHARE_GROUP_DESCRIBE, ShareGroupDescribeRequest(group_ids=tuple(names)))
    return {group.group_id: group for group in answer.groups if group.error_code is ErrorCode.none}


def _count_assigned(group: DescribedGroup) -> Counter[tuple[str, int]]:
    """Count the members with each partition."""
    return Counter(
        (topic.topic_name, part)
        for member in group.members
        for topic in member.assignment.topic_partitions
        for part in topic.partitions
    )
