"""Sends every batch of `odd_batches` to a Kafka, and writes down what it answers and what it stores.

    python -m tests.storage.record_odd_batches 127.0.0.1:31000

The Kafka should be of the version that the answers are for; its topics `plain`, `compacted`, ... are created again.
"""

import json
import socket
import sys
import time
from struct import Struct
from typing import Any

from kohort.protocol.messages import create_topics, delete_topics, fetch, produce
from kohort.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig
from kohort.protocol.messages.delete_topics import DeleteTopicState
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from tests.storage.odd_batches import ANSWERS, CASES, TOPICS, Case, in_words, stored_in_words

_SIZE = Struct(">i")
ANSWERED_WITHIN_S = 10


class Connection:
    """One request at a time."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=ANSWERED_WITHIN_S)
        self._file = self._socket.makefile("rb")

    def ask(self, message: Any, version: int, **fields: Any) -> Any:
        """Return the response, or None if the broker disconnected or is silent."""
        frame = message.write_request(version, 1, "odd", message.request(**fields))
        self._socket.sendall(_SIZE.pack(len(frame)) + frame)
        try:
            size = self._file.read(4)
        except TimeoutError:
            return None
        if len(size) < 4:
            return None
        return message.read_response(version, self._file.read(*_SIZE.unpack(size)))[1]


def answer_to(connection: Connection, case: Case, now_ms: int) -> dict[str, Any] | None:
    """Return the response to one batch without times, or None."""
    data = PartitionProduceData(index=0, records=case.records(now_ms))
    topics = (TopicProduceData(name=case.topic, partition_data=(data,)),)
    fields = {"acks": case.acks, "timeout_ms": 5_000, "topic_data": topics}
    response = connection.ask(produce.MESSAGE, case.version, **fields)
    if response is None:
        return None
    part = response.responses[0].partition_responses[0]
    description = in_words(part)
    if not part.error_code:
        description["stored"] = stored(connection, case, part.base_offset, now_ms)
    return description


def stored(connection: Connection, case: Case, offset: int, now_ms: int) -> dict[str, Any]:
    what = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    response = connection.ask(
        fetch.MESSAGE, 12, replica_id=-1, max_wait_ms=100, min_bytes=1, max_bytes=1 << 20,
        isolation_level=0, session_id=0, session_epoch=-1,
        topics=(FetchTopic(topic=case.topic, partitions=(what,)),), forgotten_topics_data=(), rack_id="",
    )  # fmt: skip
    records = b"".join(response.responses[0].partitions[0].records)
    sent = case.records(now_ms)
    assert sent is not None
    return stored_in_words(records, offset, sent, now_ms)


def main() -> None:
    address = sys.argv[1]
    connection = Connection(address)
    names = tuple(DeleteTopicState(name=name, topic_id=None) for name in TOPICS)
    connection.ask(delete_topics.MESSAGE, 6, timeout_ms=10_000, topics=names)
    time.sleep(2)
    topics = tuple(
        CreatableTopic(
            name=name, num_partitions=1, replication_factor=1, assignments=(),
            configs=tuple(CreatableTopicConfig(name=key, value=value) for key, value in configs.items()),
        )
        for name, configs in TOPICS.items()
    )  # fmt: skip
    response = connection.ask(create_topics.MESSAGE, 7, topics=topics, timeout_ms=10_000, validate_only=False)
    assert all(topic.error_code.name == "none" for topic in response.topics), response
    time.sleep(2)
    answers: dict[str, Any] = {}
    for name, case in CASES.items():
        answers[name] = answer_to(connection, case, int(time.time() * 1000))
        if answers[name] is None:
            connection = Connection(address)
    ANSWERS.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(answers)} answers are in {ANSWERS}")


if __name__ == "__main__":
    main()
