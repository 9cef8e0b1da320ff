"""confluent-kafka: librdkafka communicates on threads of its own, `consume` returns the records that they have."""

from __future__ import annotations

import struct
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException

from kohort.demo.workers.consumer import COMMIT_INTERVAL_MS, POLL_MS, Fetched, Listener, Part

MOST_RECORDS = 500


class ConfluentKafkaConsumer:
    """Commits in the background what `processed` has marked."""

    def __init__(self, part: Part, listener: Listener) -> None:
        self._topic = part.topic
        self._listener = listener
        self._batch: list[Any] = []
        config: dict[str, Any] = {
            "bootstrap.servers": part.bootstrap,
            "client.id": part.name,
            "group.id": part.group,
            "group.protocol": part.protocol,
            "max.poll.interval.ms": part.max_poll_interval_ms,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": True,
            "auto.commit.interval.ms": COMMIT_INTERVAL_MS,
            "enable.auto.offset.store": False,
            "fetch.wait.max.ms": POLL_MS,
        }
        if part.protocol == "classic":
            config |= {
                "partition.assignment.strategy": "cooperative-sticky" if part.cooperative else "range",
                "session.timeout.ms": part.session_timeout_ms,
                "heartbeat.interval.ms": part.heartbeat_interval_ms,
            }
        if part.instance is not None:
            config["group.instance.id"] = part.instance
        self._consumer = Consumer(config)

    def join(self) -> None:
        self._consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._revoked)

    def poll(self) -> list[Fetched]:
        messages = self._consumer.consume(MOST_RECORDS, POLL_MS / 1000)
        self._batch = [message for message in messages if message.error() is None]
        return [Fetched(message.partition(), message.offset(), message.value()) for message in self._batch]

    def identity(self) -> tuple[int, str]:
        # The metadata is opaque to Python; librdkafka writes "CGMDv2:", the generation as the machine does, and names.
        metadata = self._consumer.consumer_group_metadata()
        (generation,) = struct.unpack_from("=i", metadata, len(b"CGMDv2:"))
        return generation, self._consumer.memberid()

    def processed(self) -> None:
        try:
            for message in self._batch:
                self._consumer.store_offsets(message)
        except KafkaException as problem:
            # the partition was revoked meanwhile; its new owner reads these records again
            if problem.args[0].code() != KafkaError._STATE:
                raise

    def close(self) -> None:
        self._consumer.close()

    def _assigned(self, _: Consumer, partitions: list[Any]) -> None:
        self._listener.assigned([partition.partition for partition in partitions])

    def _revoked(self, _: Consumer, partitions: list[Any]) -> None:
        self._listener.revoked([partition.partition for partition in partitions])
