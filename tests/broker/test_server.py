"""Real sockets on loopback: listening, several nodes, stopping."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kohort.base.clock import SystemClock
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.runtime.registry import Registry
from kohort.broker.runtime.server import ListenError, Server, bind
from kohort.broker.settings.broker_settings import Settings
from kohort.cli.health import ask
from tests.support.frames import frame, heartbeat, message


@asynccontextmanager
async def serving(host: str = "127.0.0.1", nodes: int = 1) -> AsyncIterator[Server]:
    cluster = BrokerCluster(Settings(nodes=nodes), SystemClock(), nodes)
    server = Server(cluster, Registry(), asyncio.get_running_loop())
    await server.listen(host, 0)
    try:
        yield server
    finally:
        server.stop()


async def frames(reader: asyncio.StreamReader, count: int) -> list[bytes]:
    return [await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big")) for _ in range(count)]


async def test_requests_over_a_real_socket() -> None:
    async with serving() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.cluster.nodes[0].port)
        data = b"".join(heartbeat(n) for n in range(100))
        writer.write(data[:1_111])
        await writer.drain()
        writer.write(data[1_111:])
        answers = await frames(reader, 100)
        assert [int.from_bytes(answer[:4], "big") for answer in answers] == list(range(100))
        writer.write(bytes(4))
        assert await reader.read() == b""


async def test_offsets_topic_follows_first_request() -> None:
    async with serving() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.cluster.nodes[0].port)
        while True:
            writer.write(frame("find_coordinator", 4, 1, coordinator_keys=("g",)))
            (answer,) = await frames(reader, 1)
            (coordinator,) = message("find_coordinator").read_response(4, answer)[1].coordinators
            if coordinator.port != -1:
                break
        assert (coordinator.host, coordinator.port) == ("127.0.0.1", server.cluster.nodes[0].port)
        writer.close()


async def test_node_ports_and_addresses() -> None:
    async with serving(nodes=3) as server:
        server.cluster.offsets_topic.create(0)
        ports = [node.port for node in server.cluster.nodes]
        assert len(set(ports)) == 3
        for port in ports:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(frame("find_coordinator", 4, 1, coordinator_keys=("", "a")))
            (answer,) = await frames(reader, 1)
            coordinators = message("find_coordinator").read_response(4, answer)[1].coordinators
            assert [each.port for each in coordinators] == [ports[0], ports[2]]
            writer.close()


async def test_health_asks_any_broker() -> None:
    async with serving() as server:
        port = server.cluster.nodes[0].port
        assert await asyncio.to_thread(ask, "127.0.0.1", port, 5.0) > 10


async def test_stopping_hangs_up() -> None:
    async with serving() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.cluster.nodes[0].port)
        writer.write(heartbeat())
        await frames(reader, 1)
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)


@pytest.mark.needs("ipv6")
async def test_ipv6() -> None:
    async with serving("::1") as server:
        server.cluster.offsets_topic.create(0)
        reader, writer = await asyncio.open_connection("::1", server.cluster.nodes[0].port)
        writer.write(frame("find_coordinator", 4, 1, coordinator_keys=("g",)))
        (answer,) = await frames(reader, 1)
        assert message("find_coordinator").read_response(4, answer)[1].coordinators[0].host == "::1"
        writer.close()


async def test_stopped_node_keeps_port() -> None:
    async with serving(nodes=2) as server:
        node = server.cluster.nodes[1]
        server.stop_node(node)
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", node.port))
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", node.port)
        await server.start_node(node)
        reader, writer = await asyncio.open_connection("127.0.0.1", node.port)
        writer.write(heartbeat())
        await frames(reader, 1)
        server.stop_node(node)
    bind("127.0.0.1", node.port)[0].close()


def test_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=rf"127.0.0.1:{port} is in use; .*127.0.0.1:0"):
            bind("127.0.0.1", port)


def test_foreign_address() -> None:
    with pytest.raises(ListenError, match=r"cannot listen on 192\.0\.2\.1:1234: .*; use an address of this machine"):
        bind("192.0.2.1", 1234)


def test_unknown_host_name() -> None:
    with pytest.raises(ListenError, match=r"cannot listen on no\.such\.host\.invalid"):
        bind("no.such.host.invalid", 0)
