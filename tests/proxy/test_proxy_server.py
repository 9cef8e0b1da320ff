"""Clients of a cluster through the proxy, over real ports."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from kohort.client.client_connection import BrokerError
from kohort.client.security import from_settings
from kohort.protocol.wire import INT
from kohort.testing import Cluster
from tests.proxy.proxied import proxied, until
from tests.support.frames import heartbeat
from tests.support.wires import Waiting

pytestmark = pytest.mark.timeout(120)


async def brokers(port: int) -> dict[int, tuple[str, int]]:
    """Return the nodes' addresses in a Metadata response."""
    wire = await Waiting.to(port)
    answer = await wire.asks("metadata", 12, topics=())
    wire.close()
    return {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}


def ports_of(kafka: Cluster) -> list[int]:
    """Return the cluster's own ports."""
    return [int(part.rpartition(":")[2]) for part in kafka.bootstrap.split(",")]


async def test_every_node_has_a_port() -> None:
    async with Cluster(nodes=3) as kafka, proxied(ports_of(kafka)[0]) as proxy:
        told = await brokers(proxy.port)
        assert sorted(told) == proxy.nodes == [1, 2, 3]
        assert {host for host, _ in told.values()} == {"127.0.0.1"}
        assert not {port for _, port in told.values()} & {*ports_of(kafka)}
        assert told[1] == ("127.0.0.1", proxy.port), "clients begin at the node that was named"
        for _, port in told.values():
            assert await brokers(port) == told


async def test_group_runs_through_proxy() -> None:
    async with Cluster(nodes=3) as kafka, proxied(*ports_of(kafka)) as proxy:
        first = await Waiting.to(proxy.port)
        found = await first.asks("find_coordinator", 4, coordinator_keys=("g",))
        port = found.coordinators[0].port
        assert port not in ports_of(kafka)
        member = await Waiting.to(port)
        fields = {"group_id": "g", "generation_id": 1, "member_id": "m"}
        assert (await member.asks("heartbeat", 4, **fields)).error_code.name == "unknown_member_id"
        first.close()
        member.close()


async def test_restarted_node_keeps_its_port() -> None:
    async with Cluster(nodes=2) as kafka, proxied(ports_of(kafka)[0]) as proxy:
        told = await brokers(proxy.port)
        wire = await Waiting.to(told[2][1])
        await kafka.stop_node(2)
        with pytest.raises(ConnectionResetError):
            await wire.asks("metadata", 12, topics=())
        with pytest.raises(ConnectionResetError):
            await brokers(told[2][1])
        assert sorted(await brokers(proxy.port)) == [1]
        await kafka.start_node(2)
        assert await brokers(told[2][1]) == told


async def test_unreachable_cluster_disconnects_clients() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with proxied(port) as proxy:
        with pytest.raises(BrokerError, match=f"^127.0.0.1:{port}: nothing listens there"):
            await proxy.reach()
        with pytest.raises(ConnectionResetError):
            await brokers(proxy.port)


async def test_first_responding_broker_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        away = taken.getsockname()[1]
    async with Cluster() as kafka, proxied(away, *ports_of(kafka)) as proxy:
        await proxy.reach()
        assert sorted(await brokers(proxy.port)) == [1]


class Broker:
    """Sends prepared bytes, to one client at a time."""

    def __init__(self, says: Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]) -> None:
        self._says = says
        self.port = 0

    async def __aenter__(self) -> Broker:
        self._server = await asyncio.start_server(self._says, "127.0.0.1", 0)  # type: ignore[arg-type]
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()


async def test_cut_response_is_forwarded() -> None:
    async def says(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(INT.pack(100) + INT.pack(1) + b"half")
        writer.close()

    async with Broker(says) as broker, proxied(broker.port) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(heartbeat(1))
        assert await reader.read() == INT.pack(100) + INT.pack(1) + b"half"
        writer.close()
        await until(lambda: not proxy.clients)


async def test_client_disconnect_reaches_cluster() -> None:
    heard = asyncio.get_running_loop().create_future()

    async def says(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.set_result(await reader.read())
        writer.close()

    async with Broker(says) as broker, proxied(broker.port) as proxy:
        _, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        half = heartbeat(1)[:-3]
        writer.write(half)
        writer.close()
        assert await asyncio.wait_for(heard, 30) == half


async def held_back(writer: asyncio.StreamWriter) -> int:
    """Return how many bytes a side accepts while the other one does not read."""
    sent = 0
    while sent < 200 << 20:
        writer.write(bytes(1 << 20))
        sent += 1 << 20
        try:
            await asyncio.wait_for(writer.drain(), 0.5)
        except TimeoutError:
            return sent
    return sent


@pytest.mark.parametrize("who", ["client", "cluster"])
async def test_slow_reader_applies_backpressure(who: str) -> None:
    other = asyncio.get_running_loop().create_future()

    async def says(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if who == "cluster":
            await reader.readexactly(len(heartbeat(1)))
        other.set_result((reader, writer))

    async with Broker(says) as broker, proxied(broker.port) as proxy:
        _, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        if who == "client":
            # One endless request, which is not read.
            writer.write(INT.pack(1 << 30) + heartbeat(1)[4:])
            await writer.drain()
            await asyncio.wait_for(other, 30)
            taken = await held_back(writer)
        else:
            writer.write(heartbeat(1))
            _, their_writer = await asyncio.wait_for(other, 30)
            their_writer.write(INT.pack(1 << 30) + INT.pack(1))
            taken = await held_back(their_writer)
        assert taken < 40 << 20
        writer.transport.abort()


SECURITIES = [
    ("SASL_PLAINTEXT", "PLAIN"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-256"),
    ("SASL_SSL", "SCRAM-SHA-512"),
    ("SASL_SSL", "OAUTHBEARER"),
    ("SSL", ""),
]


@pytest.mark.parametrize(("protocol", "mechanism"), SECURITIES)
async def test_proxy_logs_in_for_plaintext_clients(protocol: str, mechanism: str) -> None:
    async with Cluster(security=protocol) as kafka:
        settings = kafka.client_config("alice", library="java", mechanism=mechanism or "PLAIN")
        port = int(settings.pop("bootstrap.servers").rpartition(":")[2])
        async with proxied(port, security=from_settings(settings)) as proxy:
            await proxy.reach()
            told = await brokers(proxy.port)
            assert await brokers(told[1][1]) == told
            counted = kafka.faults.on("Metadata", principal="*alice*").count()
            await brokers(told[1][1])
            assert counted.acted == 1


async def test_rejected_login_is_named() -> None:
    async with Cluster(security="SASL_PLAINTEXT") as kafka:
        settings = kafka.client_config("alice", library="java", mechanism="PLAIN")
        port = int(settings.pop("bootstrap.servers").rpartition(":")[2])
        wrong = {name: str(value).replace("alice-secret", "wrong") for name, value in settings.items()}
        async with proxied(port, security=from_settings(wrong)) as proxy:
            with pytest.raises(BrokerError, match="the login failed: Authentication failed"):
                await proxy.reach()
            with pytest.raises(ConnectionResetError):
                await brokers(proxy.port)


async def test_rejected_token_is_named(tmp_path: Path) -> None:
    async with Cluster(security="SASL_SSL") as kafka:
        settings = kafka.client_config("alice", library="java", mechanism="OAUTHBEARER")
        port = int(settings.pop("bootstrap.servers").rpartition(":")[2])
        token = tmp_path / "token"
        token.write_text("bm8=.bm8=.\n")
        settings["sasl.oauthbearer.token.endpoint.url"] = token.as_uri()
        async with proxied(port, security=from_settings(settings)) as proxy:
            with pytest.raises(BrokerError, match="the login failed"):
                await proxy.reach()


async def test_clients_may_log_in_themselves() -> None:
    async with Cluster(security="SASL_PLAINTEXT") as kafka, proxied(ports_of(kafka)[0]) as proxy:
        wire = await Waiting.to(proxy.port)
        await wire.asks("sasl_handshake", 0, mechanism="PLAIN")
        raw = b"\x00alice\x00alice-secret"
        assert await wire.exchanges(INT.pack(len(raw)) + raw) == b""
        answer = await wire.asks("metadata", 12, topics=())
        assert answer.brokers[0].port not in ports_of(kafka)
        wire.close()


@pytest.mark.long
async def test_session_is_renewed_between_requests() -> None:
    settings = {"connections.max.reauth.ms": 1_300}  # Kafka takes no second login within a second
    async with Cluster(security="SASL_PLAINTEXT", settings=settings) as kafka:
        counted = kafka.faults.on("SaslAuthenticate").count()
        config = kafka.client_config("alice", library="java", mechanism="PLAIN")
        port = int(config.pop("bootstrap.servers").rpartition(":")[2])
        async with proxied(port, security=from_settings(config)) as proxy:
            wire = await Waiting.to(proxy.port)
            await wire.asks("metadata", 12, topics=())
            await counted.wait(3, timeout=30)  # two sessions have ended meanwhile
            await wire.asks("metadata", 12, topics=())
            wire.close()


@pytest.mark.long
async def test_held_request_survives_reauthentication() -> None:
    settings = {"connections.max.reauth.ms": 1_300}
    async with Cluster(security="SASL_PLAINTEXT", settings=settings) as kafka:
        counted = kafka.faults.on("SaslAuthenticate").count()
        config = kafka.client_config("alice", library="java", mechanism="PLAIN")
        port = int(config.pop("bootstrap.servers").rpartition(":")[2])
        async with proxied(port, security=from_settings(config)) as proxy:
            wire = await Waiting.to(proxy.port)
            rule = proxy.laboratory.faults.on("Metadata").hold()
            slow = kafka.faults.on("SaslAuthenticate", client_id="kohort-proxy").delay(0.2)
            asked = asyncio.ensure_future(wire.asks("metadata", 12, topics=()))
            await rule.wait()
            await counted.wait(2, timeout=30)
            rule.remove()  # in the middle of the login
            assert (await asked).brokers[0].node_id == 1
            slow.remove()
            wire.close()
