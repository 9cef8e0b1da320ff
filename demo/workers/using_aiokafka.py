"""aiokafka: everything runs on one event loop, which runs here during a poll (nearly always)."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor

from kohort.demo.workers.consumer import COMMIT_INTERVAL_MS, POLL_MS, Fetched, Listener, Part


class AiokafkaConsumer:
    """Commits in the background what `poll` has returned; nothing runs between a poll and its report."""

    def __init__(self, part: Part, listener: Listener) -> None:
        assert not part.cooperative, "aiokafka has no cooperative assignor"
        self._topic = part.topic
        self._callbacks = _Callbacks(listener)
        self._runner = asyncio.Runner()
        self._consumer: Any = self._runner.run(_make(part))

    def join(self) -> None:
        self._consumer.subscribe([self._topic], listener=self._callbacks)
        self._runner.run(self._consumer.start())

    def poll(self) -> list[Fetched]:
        fetched = self._runner.run(self._consumer.getmany(timeout_ms=POLL_MS))
        return [
            Fetched(record.partition, record.offset, record.value) for batch in fetched.values() for record in batch
        ]

    def identity(self) -> tuple[int, str]:
        coordinator = self._consumer._coordinator  # the generation has no public accessor
        return coordinator.generation, coordinator.member_id

    def processed(self) -> None:
        pass  # the loop knows

    def close(self) -> None:
        self._runner.run(self._consumer.stop())
        self._runner.close()


async def _make(part: Part) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=part.bootstrap.split(","),
        client_id=part.name,
        group_id=part.group,
        group_instance_id=part.instance,
        partition_assignment_strategy=[RangePartitionAssignor],
        session_timeout_ms=part.session_timeout_ms,
        heartbeat_interval_ms=part.heartbeat_interval_ms,
        max_poll_interval_ms=part.max_poll_interval_ms,
        rebalance_timeout_ms=part.max_poll_interval_ms,
        auto_offset_reset="earliest",
        enable_auto_commit=True,
        auto_commit_interval_ms=COMMIT_INTERVAL_MS,
        fetch_max_wait_ms=POLL_MS,
    )


class _Callbacks(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._listener.assigned([partition.partition for partition in assigned])

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._listener.revoked([partition.partition for partition in revoked])
