"""Lines of kohort's event log, as a test needs them."""

from __future__ import annotations

import json

AT_MS = 1_782_900_000_000


def event_line(seq: int, group: str, node_id: int = 1) -> str:
    """Return an event that completes a rebalance of a group."""
    return json.dumps({
        "v": 1, "event_id": f"{node_id}-5eed0001-{seq}", "seq": seq, "boot_id": "5eed0001", "node_id": node_id,
        "ts": AT_MS + 1000 * seq, "co_partition": 0, "co_epoch": 0, "group_id": group, "group_type": "classic",
        "kind": "rebalance_completed", "generation": seq, "members": 1, "duration_us": 1000,
    })  # fmt: skip
