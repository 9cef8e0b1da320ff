"""A child made by fork: it keeps no socket of the cluster, and calls to the cluster fail in it at once."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
import uvloop
from fastapi import FastAPI

from kohort.control.http.listening import serve
from kohort.testing import Cluster, Proxy

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

FORKED = "RuntimeError: this process was forked from the one that the cluster runs in"


@contextmanager
def forked(work: Callable[[], object] = bool) -> Iterator[str]:
    """Run `work` in a forked child that lives until the block ends. Yield its result or its error, as text."""
    result, alive = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.close(alive[1])
        try:
            text = f"{work()}"
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(result[1], text.encode() or b"-")
        os.read(alive[0], 1)
        os._exit(0)
    os.close(result[1])
    try:
        yield os.read(result[0], 65_536).decode()
    finally:
        os.close(alive[1])
        os.waitpid(child, 0)
        os.close(alive[0])
        os.close(result[0])


def addresses(bootstrap: str) -> list[tuple[str, int]]:
    return [(host, int(port)) for host, _, port in (node.rpartition(":") for node in bootstrap.split(","))]


def is_closed(client: socket.socket) -> bool:
    """Return whether the broker has closed a connection."""
    client.settimeout(10)
    with suppress(ConnectionResetError):
        while client.recv(100):
            pass
    return True


def refuses(address: tuple[str, int]) -> bool:
    with suppress(ConnectionRefusedError):
        socket.create_connection(address, 10).close()
        return False
    return True


@contextmanager
def clients(bootstrap: str) -> Iterator[list[socket.socket]]:
    """Connect to each node, and wait until it has accepted."""
    connected = [socket.create_connection(address, 10) for address in addresses(bootstrap)]
    try:
        for client in connected:
            client.sendall(bytes.fromhex("0000000a 0012 0000 00000001 0000"))  # ApiVersions
            assert client.recv(4)
        yield connected
    finally:
        for client in connected:
            client.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_close_is_seen_despite_child(host: str) -> None:
    with Cluster(nodes=3, host=host) as kafka, clients(kafka.bootstrap) as connected, forked():
        for client in connected:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert all(map(is_closed, connected))


def test_ports_are_closed_despite_child() -> None:
    with Cluster(nodes=3) as kafka:
        nodes = addresses(kafka.bootstrap)
        with clients(kafka.bootstrap) as connected:
            kafka.stop_node(2)
            child = forked()
            child.__enter__()
            kafka.start_node(2)
            assert is_closed(connected[1])
    assert all(map(refuses, nodes))  # the child outlives the cluster
    child.__exit__(None, None, None)


def test_child_keeps_other_sockets() -> None:
    ours, theirs = socket.socketpair()
    with Cluster() as kafka, clients(kafka.bootstrap) as connected:

        def write() -> int:
            connected[0].sendall(bytes.fromhex("0000000a 0012 0000 00000002 0000"))
            return theirs.send(b"x")

        with forked(write) as text:
            assert text == "1"
            assert ours.recv(1) == b"x"
            assert connected[0].recv(4)
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    "call",
    [
        lambda kafka, group: kafka.bootstrap,
        lambda kafka, group: group.wait_stable(members=1),
        lambda kafka, group: group.state,
        lambda kafka, group: kafka.clock.advance(1),
        lambda kafka, group: kafka.__exit__(None, None, None),
    ],
)
def test_calls_from_child_fail(call: Callable[[object, object], object]) -> None:
    with Cluster() as kafka:
        group = kafka.group("billing")
        with forked(lambda: call(kafka, group)) as text:
            assert text.startswith(FORKED)
        assert group.state == "Dead"


def test_child_can_start_own_cluster() -> None:
    def start() -> str:
        with Cluster() as own:
            own.topics.create("orders")
            return own.group("billing").state

    with Cluster(), forked(start) as text:
        assert text == "Dead"


@pytest.mark.parametrize("new_loop", [asyncio.SelectorEventLoop, uvloop.new_event_loop])
def test_child_of_async_cluster(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def work() -> None:
        async with Cluster(nodes=2) as kafka:
            group, topics = kafka.group("billing"), kafka.topics
            reader, writer = await asyncio.open_connection(*addresses(kafka.bootstrap)[1])
            writer.write(bytes.fromhex("0000000a 0012 0000 00000001 0000"))
            await reader.readexactly(4)
            with forked(lambda: asyncio.run(group.wait_stable(members=1))) as text:
                assert text.startswith(FORKED)
                writer.write(b"GET / HTTP/1.1\r\n\r\n")
                await asyncio.wait_for(reader.read(), 10)
            with forked(lambda: kafka.bootstrap) as text:
                assert text.startswith(FORKED)
            topics.create("orders")
            nodes = addresses(kafka.bootstrap)
            writer.close()
            child = forked()
            child.__enter__()
        assert all(map(refuses, nodes))
        child.__exit__(None, None, None)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(work())


def test_child_of_proxy() -> None:
    with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy, clients(proxy.bootstrap) as connected:
        group = proxy.group("billing")
        with forked(lambda: group.wait_stable(members=1)) as text:
            assert text.startswith(FORKED)
            kafka.stop_node(1)
            assert is_closed(connected[0])
            connected[0].close()
            kafka.start_node(1)


def test_child_of_control_address() -> None:
    async def work() -> None:
        async with serve(FastAPI(), "127.0.0.1", 0) as address:
            reader, writer = await asyncio.open_connection(*addresses(address)[0])
            child = forked()
            child.__enter__()
        assert refuses(addresses(address)[0])
        await asyncio.wait_for(reader.read(), 10)
        writer.close()
        child.__exit__(None, None, None)

    asyncio.run(work())
