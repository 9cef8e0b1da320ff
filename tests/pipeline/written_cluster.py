"""A cluster whose groups have a history that the test writes."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

from kohort.coordinator.groups.group_placement import partition_for
from kohort.coordinator.offsets.offsets_topic_records import (
    GroupValue,
    MemberValue,
    expiring_offset_value,
    group_key,
    group_value,
    offset_key,
)
from kohort.protocol.batches import Record, build_batch

GROUPS = ("orders", "billing", "shipping")


NOW_MS = round(time.time() * 1000)


class World:
    """A cluster whose groups' records the test writes itself, as a coordinator would."""

    def __init__(self, kafka: Any, seed: int, groups: Sequence[str] = GROUPS, step_ms: int = 9_000) -> None:
        """Limit the time between two batches to `step_ms`."""
        self.kafka, self.groups, self._step_ms = kafka, groups, step_ms
        self.random = random.Random(seed)
        self._generation = dict.fromkeys(groups, 0)
        self.ts_ms = NOW_MS - 3_600_000

    def write(self, batches: int) -> None:
        """Write commits and generations of all groups, in batches of several records each."""
        for _ in range(batches):
            group = self.random.choice(self.groups)
            self.ts_ms += self.random.randrange(1, self._step_ms)
            records = self.rebalance(group) if self.random.random() < 0.1 else self._commit(group)
            self.append(group, records)

    def append(self, group: str, records: list[Record]) -> None:
        """Append one batch to the partition of the group."""
        self.kafka.topics.append_batch("__consumer_offsets", build_batch(records), partition=partition_for(group, 50))

    def _commit(self, group: str) -> list[Record]:
        value = expiring_offset_value(self.random.randrange(10_000), "", self.ts_ms, self.ts_ms + 1_000)
        parts = self.random.sample(range(6), self.random.randrange(1, 6))
        return [Record(offset_key(group, "topic", part), value, self.ts_ms) for part in parts]

    def rebalance(self, group: str) -> list[Record]:
        self._generation[group] += 1
        members = tuple(
            MemberValue(
                member_id=f"{name}-id",
                group_instance_id=None,
                client_id=name,
                client_host="/10.0.0.1",
                rebalance_timeout_ms=300_000,
                session_timeout_ms=45_000,
                subscription=b"",
                assignment=b"",
            )
            for name in self.random.sample(("ada", "bob", "eve"), self.random.randrange(1, 4))
        )
        value = GroupValue(
            protocol_type="consumer",
            generation_id=self._generation[group],
            protocol_name="range",
            leader_id=members[0].member_id,
            state_timestamp_ms=self.ts_ms,
            members=members,
        )
        return [Record(group_key(group), group_value(value), self.ts_ms)]
