"""What a log line shows of a value."""

from io import StringIO
from typing import Any

from kohort.broker.cluster.node import Node
from kohort.broker.short_text import LONGEST, short_text
from kohort.broker.ticket import Ticket
from kohort.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.support.broker import Broker
from tests.support.frames import frame


def production(topics: int, records: bytes) -> ProduceRequest:
    data = TopicProduceData(name="t", partition_data=(PartitionProduceData(index=0, records=records),))
    return ProduceRequest(transactional_id=None, acks=1, timeout_ms=1, topic_data=(data,) * topics)


def test_short_values_are_complete() -> None:
    request = production(1, b"abc")
    assert short_text(request) == repr(request)


def test_long_values_are_cut() -> None:
    assert len(short_text(production(50_000, bytes(1_000_000)))) <= LONGEST + 1
    assert "(1000000 bytes)" in short_text(production(1, bytes(1_000_000)))
    assert short_text("a" * 1_000_000).endswith("(1000000 letters)")
    assert short_text(tuple(range(1_000))) == "(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...)"


def test_failed_request_line_is_short(lines: StringIO) -> None:
    broker = Broker()

    def handle(node: Node, request: Any, ticket: Ticket) -> None:
        raise ZeroDivisionError

    broker.api("find_coordinator").handle = handle
    broker.client().says(frame("find_coordinator", 4, 1, coordinator_keys=("group" * 100,) * 2_000))
    assert "find_coordinator v4 failed" in lines.getvalue()
    assert len(lines.getvalue()) < 3 * LONGEST
