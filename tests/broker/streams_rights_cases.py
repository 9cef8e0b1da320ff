"""Requests about streams groups, one for each row of `security/needs.py` about them."""

from __future__ import annotations

from typing import Any

from kohort.protocol.messages.streams_group_heartbeat import Subtopology, TopicInfo, Topology
from kohort.protocol.messages.streams_group_topology_description_update import TopologyDescription
from tests.broker.rights_cases import Case


def _topology(*changelogs: str) -> Topology:
    """Build a topology that reads t and has a store with each of these changelog topics."""
    stores = (TopicInfo(name=name, partitions=0, replication_factor=1, topic_configs=()) for name in changelogs)
    subtopology = Subtopology(subtopology_id="0", source_topics=("t",), state_changelog_topics=tuple(stores))
    return Topology(epoch=0, subtopologies=(subtopology,))


def _joining(group_id: str, topology: Topology, **more: Any) -> dict[str, Any]:
    tasks: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    newcomer = {"group_id": group_id, "member_id": "m", "member_epoch": 0, "rebalance_timeout_ms": 1_000}
    return {**newcomer, **tasks, "process_id": "p", "topology": topology, **more}


def _made(response: Any) -> list[str]:
    """Build the status of missing topics, which is empty if they may be created."""
    return [each.status_detail for each in response.status if "Unauthorized" not in each.status_detail]


STREAMS_CASES = (
    Case("streams_group_heartbeat", 0, _joining("w", _topology()), ("Describe topic t",), on="w"),
    Case("streams_group_heartbeat", 0, _joining("w", _topology()), ("Read group w",), "a topology is brought"),
    Case(
        "streams_group_heartbeat",
        0,
        _joining("stateful", _topology("c")),
        ("Read group stateful", "Describe topic t", "Describe topic c"),
        "internal topics are missing",
        _made,
    ),
    Case(
        "streams_group_topology_description_update",
        0,
        {
            "group_id": "w",
            "member_id": "admin",
            "topology_epoch": 0,
            "topology_description": TopologyDescription(subtopologies=(), global_stores=()),
        },
        on="w",
    ),
    Case("streams_group_describe", 0, {"group_ids": ["w"]}, ("Describe topic t",), on="w"),
    Case("streams_group_describe", 0, {"group_ids": ["w"]}, ("Describe group w",), "of every topic of its topology"),
)


def streams_groups_there() -> list[Case]:
    return [Case("streams_group_heartbeat", 0, _joining("w", _topology(), member_id="admin"))]
