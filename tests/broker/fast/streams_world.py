"""Members of one streams group on two brokers with equal requests, one of which has no fast path."""

from __future__ import annotations

from typing import Any

from kohort.protocol.messages.streams_group_heartbeat import Endpoint, Subtopology, TaskOffset, Topology
from tests.broker.fast.consumer_world import GROUP, ConsumerWorld
from tests.broker.fast.pair import Pair


class StreamsWorld(ConsumerWorld):
    """Members send heartbeats while others join and leave, topics change, and writes fail."""

    def __init__(self, seed: int, *, guarded: bool) -> None:
        super().__init__(seed, guarded=guarded)
        topics = self.chance.choice((("t",), ("t", "u")))
        subtopologies = tuple(Subtopology(subtopology_id=name, source_topics=(name,)) for name in topics)
        self._topology = Topology(epoch=0, subtopologies=subtopologies)
        self._has_endpoints = self.chance.random() < 0.5

    def subscribes(self, pair: Pair) -> None:
        pair.member.generation = 0
        number = self.pairs.index(pair)
        self.tells(
            pair,
            topology=self._topology,
            rebalance_timeout_ms=60_000,
            process_id=f"process {number}",
            client_tags=(),
            user_endpoint=Endpoint(host="host", port=number) if self._has_endpoints else None,
            **dict.fromkeys(("active_tasks", "standby_tasks", "warmup_tasks"), ()),
        )

    def acknowledges(self, pair: Pair) -> None:
        if pair.member.generation > 0 and self.chance.random() < 0.2:
            offsets = (TaskOffset(subtopology_id="t", partition=0, offset=self.chance.randrange(10)),)
            self.tells(pair, task_offsets=offsets, task_end_offsets=offsets)
        elif pair.member.generation > 0:
            self.tells(pair, active_tasks=pair.tasks, standby_tasks=(), warmup_tasks=())

    def tells(self, pair: Pair, **fields: Any) -> None:
        """Send a heartbeat with the epochs that the member knows. Two of the members are static."""
        number = self.pairs.index(pair)
        sender = {
            "group_id": GROUP,
            "member_id": pair.member.member_id,
            "member_epoch": pair.member.generation,
            "endpoint_information_epoch": pair.endpoint_epoch,
            "instance_id": f"instance {number}" if number % 2 else None,
        }
        pair.says(pair.frame("streams_group_heartbeat", number % 2, **sender, **fields))
