"""A broker that answers with nonsense: whoever asks says so in a sentence, and keeps its memory."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module

import pytest
from click.testing import CliRunner

from kohort.cli.commands import main
from kohort.cli.watch.client import BrokerError
from kohort.cli.watch.looking import WatchedCluster
from kohort.pipeline.sources.found import WIRE, Source
from kohort.pipeline.sources.source_cluster import SourceCluster, expand, partitions, sample
from kohort.pipeline.sources.source_connection import WireError
from kohort.protocol.api_keys import API_BY_KEY
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kohort.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from kohort.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from kohort.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker

HIGHEST = {1: 12, 2: 7, 3: 12, 9: 9, 15: 6, 16: 5}
"""The newest versions that both clients speak."""

VERSIONS = ApiVersionsResponse(
    error_code=ErrorCode.none,
    api_keys=tuple(ApiVersion(api_key=key, min_version=0, max_version=newest) for key, newest in HIGHEST.items()),
)

Answer = Callable[[int, int, int], bytes]
"""From an API's key, version and correlation id to a frame without its length; bytes that are sent as they are, where
they begin with a length of their own."""


class HostileBroker:
    """Answers ApiVersions as it should, and everything else as the test likes."""

    def __init__(self, answer: Answer, *, at_once: bool = False) -> None:
        """`at_once`: ApiVersions is answered by the test, too."""
        self._answer, self._at_once = answer, at_once
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as requests:
            while head := requests.read(12):
                size, key, version, correlation_id = struct.unpack(">ihhi", head)
                requests.read(size - 8)
                if key == 18 and not self._at_once:
                    connection.sendall(whole(key, version, correlation_id, VERSIONS))
                else:
                    connection.sendall(self._answer(key, version, correlation_id))


def whole(key: int, version: int, correlation_id: int, response: object) -> bytes:
    """A frame as our own broker writes it."""
    message = import_module(f"kohort.protocol.messages.{API_BY_KEY[key].name}").MESSAGE
    frame = message.write(version, correlation_id, response)
    return frame if isinstance(frame, bytes) else b"".join(map(bytes, frame))


def framed(correlation_id: int, body: bytes) -> bytes:
    return struct.pack(">ii", len(body) + 4, correlation_id) + body


BODIES = {
    "a count of everything": b"\x7f\xff\xff\xff" * 20,
    "a compact count of everything": b"\x00" * 5 + b"\xff\xff\xff\xff\x0f" * 20,
    "ones": b"\xff" * 200,
    "zeros": bytes(200),
    "nothing": b"",
    "a long varint": b"\x00" * 4 + b"\x80" * 500,
    "text": b"<html>hello</html>" * 20,
}


def about_cluster(brokers: tuple[MetadataResponseBroker, ...]) -> MetadataResponse:
    return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=())


@pytest.fixture
def hostile() -> Iterator[Callable[..., HostileBroker]]:
    made: list[HostileBroker] = []

    def make(answer: Answer, *, at_once: bool = False) -> HostileBroker:
        made.append(HostileBroker(answer, at_once=at_once))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "later"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_answers_that_are_none(hostile: Callable[..., HostileBroker], body: bytes, at_once: bool) -> None:
    # a count of 2³¹-1 would make kio allocate that much memory
    broker = hostile(lambda key, version, correlation_id: framed(correlation_id, body), at_once=at_once)
    if body != BODIES["zeros"] or at_once:  # else they are a cluster of nobody
        with pytest.raises(BrokerError, match=broker.address):
            await WatchedCluster(broker.address).look(0)
    with pytest.raises(WireError):
        partitions(SourceCluster(broker.address))
    sources, (issue,) = expand(Source(WIRE, broker.address))
    assert (sources, issue.rule) == ([], "cluster_unreachable")


@pytest.mark.parametrize("frame", [b"\x7f\xff\xff\xff", b"\x00\x00\x00\x00", b""])
def test_lengths_that_are_none(hostile: Callable[..., HostileBroker], frame: bytes) -> None:
    broker = hostile(lambda *_: frame + b"\0" * 100, at_once=True)
    shown = CliRunner().invoke(main, ["watch", broker.address, "--once"])
    assert shown.exit_code == 1
    assert shown.output.startswith("kohort: ")
    assert shown.output.count("\n") == 1


def test_brokers_at_addresses_that_are_none(hostile: Callable[..., HostileBroker]) -> None:
    for host, port in (("127.0.0.1", 70_000), ("127.0.0.1", -1), ("a" * 300, 9092), ("\0", 9092), ("..", 9092)):
        told = (MetadataResponseBroker(node_id=1, host=host, port=port),)
        answer = MetadataResponse(brokers=told, cluster_id="c", controller_id=1, topics=())
        broker = hostile(lambda key, version, number, answer=answer: whole(key, version, number, answer))
        shown = CliRunner().invoke(main, ["watch", broker.address, "--once"])
        assert shown.exit_code == 0, shown.output
        assert "!" in shown.output, "the cluster is there, and one of its brokers is not"
        for _ in sample(broker.address):
            pytest.fail("it has no topics")


def test_excessive_brokers_are_rejected(hostile: Callable[..., HostileBroker]) -> None:
    told = tuple(MetadataResponseBroker(node_id=n, host="127.0.0.1", port=1) for n in range(5_000))
    answer = MetadataResponse(brokers=told, cluster_id="c", controller_id=1, topics=())
    broker = hostile(lambda key, version, number: whole(key, version, number, answer))
    shown = CliRunner().invoke(main, ["watch", broker.address, "--once"])
    assert (shown.exit_code, shown.output.count("\n")) == (1, 1)
    assert "invalid response from " in shown.output


def test_groups_that_nobody_asked_for(hostile: Callable[..., HostileBroker]) -> None:
    def answer(key: int, version: int, number: int) -> bytes:
        if key == 3:
            here = (MetadataResponseBroker(node_id=1, host="127.0.0.1", port=broker.port),)
            return whole(key, version, number, about_cluster(here))
        if key == 16:
            group = ListedGroup(group_id="a", protocol_type="consumer", group_state="Stable", group_type="classic")
            return whole(key, version, number, ListGroupsResponse(error_code=ErrorCode.none, groups=(group,)))
        other = DescribedGroup(
            error_code=ErrorCode.none, group_id="b", group_state="", protocol_type="", protocol_data="", members=()
        )
        return whole(key, version, number, DescribeGroupsResponse(groups=(other,)))

    broker = hostile(answer)
    shown = CliRunner().invoke(main, ["watch", broker.address, "--once"])
    assert (shown.exit_code, shown.output.count("\n")) == (1, 1)
    assert "invalid response from " in shown.output


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_health_believes_no_count(hostile: Callable[..., HostileBroker], body: bytes) -> None:
    broker = hostile(lambda key, version, number: framed(number, body), at_once=True)
    asked = CliRunner().invoke(main, ["health", broker.address, "--timeout", "0.5"])
    assert asked.exit_code == 1
    # Clients of earlier tests may log to the same stderr: only lines about this broker count.
    (line,) = [line for line in asked.output.splitlines() if line.startswith(broker.address)]
    assert line.startswith(f"{broker.address} does not respond: ")
