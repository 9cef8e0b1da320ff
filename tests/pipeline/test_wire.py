"""The offsets topic over the wire: kohort with a real consumer, and clusters that aren't there."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import expand, ingest, sample
from kohort.pipeline.sources.found import WIRE, Source
from tests.clients.serving import serving
from tests.pipeline.local_groups import load_groups


@pytest.mark.clients
@pytest.mark.timeout(300)
def test_kohort_consumer_is_recorded(tmp_path: Path) -> None:
    with serving(nodes=2) as bootstrap:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic("orders", 2, 1)])["orders"].result(120)
        producer = Producer({"bootstrap.servers": bootstrap})
        for n in range(20):
            producer.produce("orders", f"{n}", partition=n % 2)
        producer.flush(120)
        consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "g", "client.id": "c-1", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["orders"])
        read = 0
        while read < 20:
            read += len(consumer.consume(20, 1.0))
        consumer.commit(asynchronous=False)
        sources, issues = expand([Source(WIRE, bootstrap)])
        assert issues == []
        with Writer(tmp_path, "0") as writer:
            ingest(sources, "", writer)
            sample(sources, "", writer)
        publish(tmp_path, "0", [writer.task])
        consumer.close()
    analysis = analyse(load_groups(tmp_path)["g"])
    generation = analysis.generations[-1]
    assert [member.client_id for member in generation.members.values()] == ["c-1"]
    assert set(generation.owners) == {("orders", 0), ("orders", 1)}
    assert {place: int(found.committed[-1]) for place, found in analysis.group.commits.items()} == {
        ("orders", 0): 10, ("orders", 1): 10,
    }  # fmt: skip
    assert {place: int(ends.log_end[-1]) for place, ends in analysis.group.ends.items()} == {
        ("orders", 0): 10, ("orders", 1): 10,
    }  # fmt: skip


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_nobody_there() -> None:
    sources, (issue,) = expand([Source(WIRE, f"127.0.0.1:{free_port()}")])
    assert sources == []
    assert issue.rule == "cluster_unreachable"


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\4"], ids=["hangs up", "http", "short"]
)
def test_not_a_kafka(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(answer)

        thread = threading.Thread(target=talk)
        thread.start()
        sources, (issue,) = expand([Source(WIRE, f"127.0.0.1:{server.getsockname()[1]}")])
        thread.join()
    assert sources == []
    assert issue.rule == "cluster_unreachable"
