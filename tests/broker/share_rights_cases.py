"""Requests to share coordinators, one for each row of `security/needs.py` about them."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.broker.rights_cases import Case, World

_PARTITIONS: dict[str, dict[str, Any]] = {
    "initialize_share_group_state": {"state_epoch": 0, "start_offset": 0},
    "read_share_group_state": {"leader_epoch": 0},
    "write_share_group_state": {"state_epoch": 0, "leader_epoch": 0, "start_offset": 0, "state_batches": []},
    "delete_share_group_state": {},
    "read_share_group_state_summary": {"leader_epoch": 0},
}
"""Partition fields of each request."""


def _state(asked: dict[str, Any], world: World) -> dict[str, Any]:
    topic = {"topic_id": world.topic_id, "partitions": [{"partition": 0, **asked}]}
    return {"group_id": "s", "topics": [topic]}


SHARE_STATE_CASES = tuple(Case(api, 0, partial(_state, asked)) for api, asked in _PARTITIONS.items())


def _joining(**more: Any) -> dict[str, Any]:
    return {"group_id": "s", "member_id": "m", "member_epoch": 0, "subscribed_topic_names": ["t"], **more}


def _fetching(more: dict[str, Any], world: World) -> dict[str, Any]:
    topics = [{"topic_id": world.topic_id, "partitions": [{"partition_index": 0}]}]
    asked = {"max_wait_ms": 0, "min_bytes": 1, "max_records": 9, "batch_size": 9, "forgotten_topics_data": []}
    return {"group_id": "s", "member_id": "m", "share_session_epoch": 0, "topics": topics, **asked, **more}


def _acknowledging(world: World) -> dict[str, Any]:
    batch = {"first_offset": 0, "last_offset": 0, "acknowledge_types": (1,)}
    topics = [{"topic_id": world.topic_id, "partitions": [{"partition_index": 0, "acknowledgement_batches": [batch]}]}]
    return {"group_id": "s", "member_id": "m", "share_session_epoch": 1, "topics": topics}


_NAMED = [{"topic_name": "t", "partitions": [0]}]
_ALTERED = [{"topic_name": "t", "partitions": [{"partition_index": 0, "start_offset": 0}]}]

SHARE_GROUP_CASES = (
    Case("share_group_heartbeat", 1, _joining(), ("Describe topic t",), on="s"),
    Case("share_group_heartbeat", 1, _joining(), ("Read group s",), "topics are named"),
    Case("share_group_describe", 1, {"group_ids": ["s"]}, ("Describe topic t",), on="s"),
    Case("share_group_describe", 1, {"group_ids": ["s"]}, ("Describe group s",), "of every topic that members have"),
    Case("share_fetch", 2, partial(_fetching, {}), ("Read topic t",), on="s"),
    Case("share_fetch", 2, partial(_fetching, {}), ("Read group s",)),
    Case("share_acknowledge", 2, _acknowledging, ("Read topic t",), on="s"),
    Case("share_acknowledge", 2, _acknowledging, ("Read group s",)),
    Case(
        "describe_share_group_offsets",
        1,
        {"groups": [{"group_id": "s", "topics": _NAMED}]},
        ("Describe topic t",),
        on="s",
    ),
    Case(
        "describe_share_group_offsets",
        1,
        {"groups": [{"group_id": "s", "topics": _NAMED}]},
        ("Describe group s",),
        "topics are named",
    ),
    Case(
        "describe_share_group_offsets",
        1,
        {"groups": [{"group_id": "s", "topics": None}]},
        ("Describe group s",),
        "all topics are requested",
        lambda response: [each.topic_name for each in response.groups[0].topics],
    ),
    Case("alter_share_group_offsets", 0, {"group_id": "new", "topics": _ALTERED}, ("Read topic t",), on="new"),
    Case("alter_share_group_offsets", 0, {"group_id": "new", "topics": _ALTERED}, ("Read group new",)),
    Case(
        "delete_share_group_offsets",
        0,
        {"group_id": "empty", "topics": [{"topic_name": "t"}]},
        ("Read topic t",),
        on="empty",
    ),
    Case(
        "delete_share_group_offsets", 0, {"group_id": "empty", "topics": [{"topic_name": "t"}]}, ("Delete group empty",)
    ),
)


def share_groups_there() -> list[Case]:
    """Return requests that create a group with an assigned member and a group without members."""
    return [
        Case("share_group_heartbeat", 1, _joining(member_id="admin")),
        Case("share_group_heartbeat", 1, _joining(member_id="admin", member_epoch=2, subscribed_topic_names=None)),
        Case("alter_share_group_offsets", 0, {"group_id": "empty", "topics": _ALTERED}),
        Case("share_fetch", 2, partial(_fetching, {})),
    ]
