"""Recorded conversations, and functions that record them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from kohort.proxy.talk.talk_lines import FIRST_LINE
from kohort.proxy.talk.talk_writer import recording
from kohort.testing import Cluster
from tests.proxy.proxied import proxied
from tests.support.wires import Waiting

BEATS = f"""{FIRST_LINE}
      0 ms  ada connects as ada
      1 ms  bob connects as bob
      2 ms  ada Heartbeat v4 {{group_id: billing, generation_id: 1, member_id: $ada}}
      3 ms  bob Heartbeat v4 {{group_id: billing, generation_id: 1, member_id: $bob}}
      4 ms  ada Heartbeat v4 {{group_id: billing, generation_id: 1, member_id: $ada}}
      5 ms  bob <- UNKNOWN_MEMBER_ID
      6 ms  ada <- UNKNOWN_MEMBER_ID
      7 ms  bob disconnects
"""  # two unknown clients; one was killed

# a member joins a group that had been in generation 56, commits, falls silent, and is removed
JOINS = f"""{FIRST_LINE}
      0 ms  ada connects as ada
      1 ms  ada Metadata v12 {{topics: [{{name: orders}}]}}
      2 ms  ada <- {{topics: [{{error_code: NONE, name: orders, topic_id: $orders_id, partitions: 2}}]}}
      3 ms  ada FindCoordinator v4 {{coordinator_keys: [billing]}}
      4 ms  ada <- {{coordinators: {{billing: NONE}}}}
     10 ms  ada/2 connects as ada
     11 ms  ada/2 JoinGroup v9 {{group_id: billing, session_timeout_ms: 6000, rebalance_timeout_ms: 6000, protocol_type: consumer, protocols: {{range: subscription(orders)}}}}
     12 ms  ada/2 <- MEMBER_ID_REQUIRED {{member_id: $ada}}
     13 ms  ada/2 JoinGroup v9 {{group_id: billing, session_timeout_ms: 6000, rebalance_timeout_ms: 6000, member_id: $ada, protocol_type: consumer, protocols: {{range: subscription(orders)}}}}
   3014 ms  ada/2 <- NONE {{generation_id: 57, protocol_type: consumer, protocol_name: range, leader: $ada, member_id: $ada, members: {{$ada: subscription(orders)}}}}
   3015 ms  ada/2 SyncGroup v5 {{group_id: billing, generation_id: 57, member_id: $ada, protocol_type: consumer, protocol_name: range, assignments: {{$ada: assignment(orders:0+1)}}}}
   3016 ms  ada/2 <- NONE {{protocol_type: consumer, protocol_name: range, assignment: assignment(orders:0+1)}}
   3017 ms  ada/2 OffsetFetch v8 {{groups: [{{group_id: billing, topics: {{orders: [0, 1]}}}}], require_stable: true}}
   3018 ms  ada/2 <- {{groups: [{{group_id: billing, topics: {{orders: {{0: 5, 1: -1}}}}}}]}}
   4000 ms  ada/2 Heartbeat v4 {{group_id: billing, generation_id: 57, member_id: $ada}}
   4001 ms  ada/2 <- NONE
   4100 ms  ada/2 OffsetCommit v8 {{group_id: billing, generation_id_or_member_epoch: 57, member_id: $ada, topics: {{orders: {{0: 7}}}}}}
   4101 ms  ada/2 <- {{topics: {{orders: {{0: NONE}}}}}}
  12000 ms  ada/2 Heartbeat v4 {{group_id: billing, generation_id: 57, member_id: $ada}}
  12001 ms  ada/2 <- UNKNOWN_MEMBER_ID
  12100 ms  ada/2 disconnects
"""  # noqa: E501 - as they are written


@asynccontextmanager
async def recorded(path: Path, kafka: Cluster) -> AsyncIterator[Waiting]:
    """Yield a connection to a cluster through a recording proxy."""
    async with proxied(int(kafka.bootstrap.rpartition(":")[2])) as proxy:
        with recording(proxy.tap, path):
            wire = await Waiting.to(proxy.port)
            yield wire
            wire.close()
