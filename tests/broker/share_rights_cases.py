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
"""What each says of a partition."""


def _state(asked: dict[str, Any], world: World) -> dict[str, Any]:
    topic = {"topic_id": world.topic_id, "partitions": [{"partition": 0, **asked}]}
    return {"group_id": "s", "topics": [topic]}


SHARE_STATE_CASES = tuple(Case(api, 0, partial(_state, asked)) for api, asked in _PARTITIONS.items())
