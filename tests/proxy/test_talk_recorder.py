"""Traffic through a proxy becomes lines with client, time and message, without ids and payloads."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from kohort.protocol.consumer_protocol import Subscription, write_subscription
from kohort.protocol.errors import ErrorCode
from kohort.protocol.headers import read_header
from kohort.protocol.messages import message_of
from kohort.protocol.messages.join_group import JoinGroupRequestProtocol
from kohort.protocol.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from kohort.protocol.wire import INT
from kohort.proxy.talk.id_names import Naming
from kohort.proxy.talk.talk_lines import FIRST_LINE
from kohort.proxy.talk.talk_recorder import HEADER, Recorder
from kohort.proxy.talk.talk_writer import RecordError, TalkWriter
from kohort.proxy.tap import Line, ObservedCall, Tap
from tests.support.frames import frame


class Client:
    """A client of node 1."""

    host = "10.0.0.1"
    node_id = 1


class World:
    """A recording, and its clock."""

    def __init__(self) -> None:
        self.now_us = 1_000_000
        self.lines: list[str] = []
        self.tap = Tap(lambda: self.now_us)
        self.recorder = Recorder(self.lines.append, self.tap.now_us)
        self.tap.listen(self.recorder)

    @property
    def told(self) -> list[str]:
        """The lines behind the header, without the space before them."""
        return [line.lstrip() for line in self.lines[len(HEADER) :]]

    def connect(self) -> Line:
        return self.tap.line(Client())

    def ask(self, line: Line, name: str, version: int, client_id: str | None = "ada", **fields: Any) -> ObservedCall:
        """Pass a request to the cluster."""
        request = frame(name, version, 1, client_id=client_id, **fields)
        observed = line.on_request(read_header(request, INT.size), request, True)
        assert observed is not None, "it expects an answer"
        return observed

    def answer(self, observed: ObservedCall, name: str, version: int, **fields: Any) -> None:
        """Pass the cluster's response."""
        written = message_of(name).write(version, 1, message_of(name).response(**fields))
        observed.line.on_response(observed, written if isinstance(written, bytes) else b"".join(written))


def test_join_omits_ids_and_user_data() -> None:
    world = World()
    line = world.connect()
    subscription = write_subscription(Subscription(topics=("orders",), user_data=b"secret"))
    asked = world.ask(
        line,
        "join_group",
        5,
        group_id="billing",
        session_timeout_ms=6_000,
        rebalance_timeout_ms=9_000,
        member_id="ada-secret",
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=subscription),),
    )
    world.now_us += 3_002_000
    world.answer(
        asked,
        "join_group",
        5,
        error_code=ErrorCode.none,
        generation_id=3,
        protocol_name="range",
        leader="bob-secret",
        member_id="ada-secret",
        members=(),
    )
    line.on_close()
    assert world.lines[0] == FIRST_LINE
    assert world.told == [
        "0 ms  ada connects as ada",
        "0 ms  ada JoinGroup v5 {group_id: billing, session_timeout_ms: 6000, rebalance_timeout_ms: 9000, "
        "member_id: $ada, protocol_type: consumer, protocols: {range: subscription(orders)}}",
        "3002 ms  ada <- NONE {generation_id: 3, protocol_name: range, leader: $ada_2, member_id: $ada}",
        "3002 ms  ada disconnects",
    ]


def test_client_connections_are_numbered() -> None:
    world = World()
    for client_id in ("Billing-1", "Billing-1", None, "42"):
        world.ask(world.connect(), "heartbeat", 1, client_id, group_id="g", generation_id=1, member_id="")
    assert [line for line in world.told if "connects" in line] == [
        "0 ms  billing1 connects as Billing-1",
        "0 ms  billing1/2 connects as Billing-1",
        "0 ms  client connects as nobody",
        '0 ms  client42 connects as "42"',
    ]


def test_commit_metadata_becomes_length() -> None:
    world = World()
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="secret")
    topic = OffsetCommitRequestTopic(name="orders", partitions=(partition,))
    world.ask(world.connect(), "offset_commit", 8, group_id="g", member_id="", topics=(topic,))
    assert world.told[1].endswith("committed_metadata: left_out(6)}]}}")


@pytest.mark.parametrize("name", ["produce", "fetch", "sasl_authenticate", "sasl_handshake", "api_versions"])
def test_records_and_logins_are_not_heard(name: str) -> None:
    assert message_of(name).api.key not in Recorder.keys


def test_oversized_response_still_has_line() -> None:
    world = World()
    asked = world.ask(world.connect(), "heartbeat", 1, group_id="g", generation_id=1, member_id="")
    asked.line.on_response(asked, None)
    assert world.told[2] == "0 ms  ada <- {left_out: true}"


def test_unreadable_request_becomes_comment() -> None:
    world = World()
    line = world.connect()
    request = frame("heartbeat", 1, 1, client_id="ada", group_id="g", generation_id=1, member_id="m")
    newer = read_header(request, INT.size)._replace(api_version=99)
    asked = line.on_request(newer, request, True)
    assert asked is not None
    line.on_response(asked, b"")
    assert world.told[1:] == ["# 0 ms  ada: Heartbeat v99 can't be read here, and neither is its answer"]


def test_old_id_names_are_forgotten() -> None:
    naming = Naming(most=2)
    told = [naming.named({"member_id": member}, "ada")["member_id"] for member in ("a", "b", "a", "c", "a", "b")]
    assert told == ["$ada", "$ada_2", "$ada", "$ada_3", "$ada", "$ada_4"]


def test_close_flushes_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.talk"
    writer = TalkWriter(path)
    for number in range(1_000):
        writer.write(f"line {number}")
    writer.close()
    assert path.read_text().splitlines() == [f"line {number}" for number in range(1_000)]


def test_full_disk_ends_recording(tmp_path: Path) -> None:
    path = tmp_path / "x.talk"
    writer = TalkWriter(path)
    writer._failed(OSError(errno.ENOSPC, "No space left on device"))
    writer.write("behind a line that is half written")
    writer.close()
    assert path.read_text() == ""


@pytest.mark.parametrize("place", ["nowhere/x.talk", "."])
def test_unwritable_file_is_one_line(tmp_path: Path, place: str) -> None:
    with pytest.raises(RecordError, match=r"can't be written: No such file or directory|already exists"):
        TalkWriter(tmp_path / place)
