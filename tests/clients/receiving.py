"""Records as they must survive, read back with confluent-kafka."""

from __future__ import annotations

from typing import Any, NamedTuple

from confluent_kafka import Consumer, TopicPartition

from tests.clients.ordered_process import PATIENCE_S


class Sent(NamedTuple):
    """A record, as far as it must survive."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    timestamp_ms: int


def receive_with_confluent_kafka(bootstrap: str, topic: str, count: int) -> list[Sent]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    heard: list[Any] = []
    while len(heard) < count:
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        assert message.error() is None, message.error()
        heard.append(message)
    consumer.close()
    return [
        Sent(
            response.key(),
            response.value(),
            tuple((name, value) for name, value in response.headers() or ()),
            response.timestamp()[1],
        )
        for response in heard
    ]
