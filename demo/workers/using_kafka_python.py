"""kafka-python: heartbeats on a thread of their own, everything else within `poll`."""

from __future__ import annotations

from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor

from kohort.demo.workers.consumer import COMMIT_INTERVAL_MS, POLL_MS, Fetched, Listener, Part


class KafkaPythonConsumer:
    """Commits, within `poll`, what earlier polls returned."""

    def __init__(self, part: Part, listener: Listener) -> None:
        self._topic = part.topic
        self._listener = listener
        self._consumer = KafkaConsumer(
            bootstrap_servers=part.bootstrap.split(","),
            client_id=part.name,
            group_id=part.group,
            group_instance_id=part.instance,
            partition_assignment_strategy=[CooperativeStickyAssignor if part.cooperative else _Range],
            session_timeout_ms=part.session_timeout_ms,
            heartbeat_interval_ms=part.heartbeat_interval_ms,
            max_poll_interval_ms=part.max_poll_interval_ms,
            auto_offset_reset="earliest",
            enable_auto_commit=True,
            auto_commit_interval_ms=COMMIT_INTERVAL_MS,
            fetch_max_wait_ms=POLL_MS,
        )

    def join(self) -> None:
        self._consumer.subscribe([self._topic], listener=_Callbacks(self._listener))

    def poll(self) -> list[Fetched]:
        self._remember_the_join()
        fetched = self._consumer.poll(timeout_ms=POLL_MS)
        return [
            Fetched(record.partition, record.offset, record.value) for batch in fetched.values() for record in batch
        ]

    def _remember_the_join(self) -> None:
        """Complete a join that was in progress when the time of the last poll was up.

        When the leader rejoins because of new metadata, kafka-python 3.0 drops the reason as soon as it has made the
        assignment; the next poll then never checks the result of the join, and the consumer stays idle.
        """
        coordinator = self._consumer._coordinator
        if coordinator.rejoining:
            coordinator.request_rejoin()

    def identity(self) -> tuple[int, str]:
        metadata = self._consumer.group_metadata()
        return metadata.generation_id, metadata.member_id

    def processed(self) -> None:
        pass  # the next poll knows

    def close(self) -> None:
        self._consumer.close()


class _Range(RangePartitionAssignor):  # type: ignore[misc]  # the library has no types
    """Range assignor with the static members at one end.

    kafka-python 3.0 leaves dynamic members without partitions, when it leads, if a static one is between them.
    """

    @classmethod
    def assign(cls, cluster: Any, members: Any) -> Any:
        return super().assign(cluster, sorted(members, key=lambda member: member.group_instance_id is None))


class _Callbacks(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._listener.assigned([partition.partition for partition in assigned])

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._listener.revoked([partition.partition for partition in revoked])
