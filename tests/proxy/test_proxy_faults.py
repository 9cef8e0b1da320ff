"""Rules and gates before a cluster that knows nothing of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest

from kohort.client.security import from_settings
from kohort.control.control_errors import ControlError, NotFoundError
from kohort.control.faults.rule_parsing import parse_rule
from kohort.protocol.wire import INT
from kohort.proxy.proxy_control import make_proxy_app
from kohort.proxy.proxy_server import ProxyServer
from kohort.testing import Cluster, Proxy
from tests.proxy.proxied import log_in, until, wire_to
from tests.support.frames import frame, heartbeat, message
from tests.support.wires import Waiting

pytestmark = pytest.mark.timeout(120)

PAGE = files("kohort.control.http.page")

BEAT: dict[str, Any] = {"group_id": "billing", "generation_id": 1, "member_id": "bob"}


async def beat(wire: Waiting, member: str = "bob", group: str = "billing") -> str:
    """Return the error of a Heartbeat; the cluster does not know the member."""
    answer = await wire.asks("heartbeat", 4, group_id=group, generation_id=1, member_id=member)
    return str(answer.error_code.name).upper()


async def test_error_rule_respects_times() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        seen = kafka.faults.on("Heartbeat").count()
        rule = proxy.faults.on("Heartbeat", group="billing", member="bob").error("REBALANCE_IN_PROGRESS", times=2)
        wire = await wire_to(proxy)
        assert await beat(wire, "ada") == "UNKNOWN_MEMBER_ID"
        assert await beat(wire) == "REBALANCE_IN_PROGRESS"
        assert await beat(wire, group="orders") == "UNKNOWN_MEMBER_ID"
        assert await beat(wire) == "REBALANCE_IN_PROGRESS"
        assert await beat(wire) == "UNKNOWN_MEMBER_ID"
        assert (rule.seen, rule.acted, seen.acted) == (2, 2, 3)
        wire.close()


async def test_held_request_preserves_order() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        rule = proxy.faults.on("Heartbeat", member="bob").hold()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.bootstrap.rpartition(":")[2]))
        writer.write(frame("heartbeat", 4, 1, **(BEAT | {"member_id": "ada"})))
        writer.write(frame("heartbeat", 4, 2, **BEAT) + frame("metadata", 12, 3, topics=()) + heartbeat(4))
        assert await told(reader) == 1
        await rule.wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.05)
        rule.remove()
        assert [await told(reader) for _ in range(3)] == [2, 3, 4]
        writer.close()


async def told(reader: asyncio.StreamReader) -> int:
    """Return the correlation id of the next response."""
    (size,) = INT.unpack(await reader.readexactly(4))
    return int.from_bytes((await reader.readexactly(size))[:4], "big")


async def test_delayed_lost_and_closed_responses() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        seen = kafka.faults.on("Heartbeat").count()
        wire = await wire_to(proxy)
        before = asyncio.get_running_loop().time()
        proxy.faults.on("Heartbeat").delay(0.05, times=1)
        assert await beat(wire) == "UNKNOWN_MEMBER_ID"
        assert asyncio.get_running_loop().time() - before >= 0.05
        proxy.faults.on("Heartbeat").close(times=1)
        with pytest.raises(ConnectionResetError):
            await beat(wire)
        assert seen.acted == 1
        wire = await wire_to(proxy)
        lost = proxy.faults.on("Heartbeat").lose_response(times=1)
        asked = asyncio.ensure_future(beat(wire))
        await lost.wait()
        assert seen.acted == 2
        lost.remove()  # which closes what it has silenced
        with pytest.raises(ConnectionResetError):
            await asked


async def test_response_is_cut() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        proxy.faults.on("Heartbeat").truncate(6)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.bootstrap.rpartition(":")[2]))
        writer.write(frame("heartbeat", 4, 1, **BEAT))
        assert len(await reader.read()) == 6
        writer.close()


async def test_single_member_is_silenced() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        silent = proxy.faults.freeze(group="billing", member="bob")
        bob, ada = await wire_to(proxy), await wire_to(proxy)
        asked = asyncio.ensure_future(beat(bob))
        await silent.wait()
        assert await beat(ada, "ada") == "UNKNOWN_MEMBER_ID"
        assert not asked.done()
        silent.remove()
        assert await asked == "UNKNOWN_MEMBER_ID"


async def test_requests_and_answers_wait_at_gates() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        seen = kafka.faults.on("Heartbeat").count()
        wire = await wire_to(proxy)
        with proxy.gates.hold("heartbeat-received", group="billing") as gate:
            asked = asyncio.ensure_future(beat(wire))
            await until(lambda: gate.held)
            assert seen.acted == 0
            gate.release("bob")
            assert await asked == "UNKNOWN_MEMBER_ID"
        with proxy.gates.hold("join-received") as gate:
            joins = {"group_id": "billing", "session_timeout_ms": 30_000, "member_id": "", "protocol_type": "consumer"}
            joining = asyncio.ensure_future(wire.asks("join_group", 2, **joins, protocols=()))
            await until(lambda: gate.held)
            gate.release_all()
            assert (await joining).error_code.name == "inconsistent_group_protocol"


async def test_join_response_is_withheld() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        wire = await wire_to(proxy)
        with proxy.gates.hold("join-complete") as gate:
            joining = asyncio.ensure_future(
                wire.asks(
                    "join_group",
                    2,
                    group_id="billing",
                    session_timeout_ms=30_000,
                    rebalance_timeout_ms=30_000,
                    member_id="",
                    protocol_type="consumer",
                    protocols=_protocols(),
                )
            )
            await until(lambda: gate.held)
            assert gate.held[0].member.startswith("ada-")
            assert kafka.group("billing").generation == 1
        assert (await joining).generation_id == 1


def _protocols() -> tuple[object, ...]:
    from kohort.protocol.messages.join_group import JoinGroupRequestProtocol

    return (JoinGroupRequestProtocol(name="range", metadata=b""),)


async def test_acks_zero_produce_fails_by_disconnect() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        proxy.faults.on("Produce").error("NOT_LEADER_OR_FOLLOWER", times=1)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.bootstrap.rpartition(":")[2]))
        writer.write(frame("produce", 9, 1, acks=0, timeout_ms=1, topic_data=()))
        assert await reader.read() == b""
        writer.close()


async def test_concurrent_requests_fail_individually() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        proxy.faults.on("Heartbeat").error("REBALANCE_IN_PROGRESS")
        reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.bootstrap.rpartition(":")[2]))
        writer.write(b"".join(frame("heartbeat", 4, number, **BEAT) for number in range(2_000)))
        assert [await told(reader) for _ in range(2_000)] == list(range(2_000))
        writer.close()


async def test_broker_only_faults_are_rejected() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        on = proxy.faults.on
        refused: list[Callable[[], object]] = [
            lambda: on("Heartbeat", state="Stable").hold(),
            lambda: on("Heartbeat").delay(until="Stable"),
            lambda: on("ShareAcknowledge", records="orders-0@5").hold(),
            lambda: proxy.faults.zombie(group="g"),
            lambda: proxy.faults.hide_node(1),
            lambda: proxy.faults.stale_metadata(),
            lambda: on("Fetch").deny("Read"),
        ]
        for item in refused:
            with pytest.raises(ControlError, match=r"^a proxy (can't|does not)"):
                item()
        with pytest.raises(ControlError, match="a proxy can't hold at offsets-loaded"):
            proxy.gates.hold("offsets-loaded")
        with pytest.raises(NotFoundError, match="unknown node 7"):
            on("Heartbeat", node=7).hold()
        assert len(proxy.faults) == 0


async def test_client_sees_older_release_versions() -> None:
    about = {"client_software_name": "x", "client_software_version": "v1"}
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        with kafka.faults.as_kafka("2.8"):
            wire = await wire_to(kafka)
            ours = await wire.asks("api_versions", 3, **about)
        wire = await wire_to(proxy)
        with proxy.faults.as_kafka("2.8", client_id="*") as rule:
            assert set((await wire.asks("api_versions", 3, **about)).api_keys) == set(ours.api_keys)
            answer = await wire.exchanges(frame("api_versions", 4, 1, **about))
            _, refused = message("api_versions").read_response(0, answer)
            assert (refused.error_code.name, len(refused.api_keys)) == ("unsupported_version", 1)
            assert rule.acted == 2
        with proxy.faults.as_kafka("4.3"):
            features = (await wire.asks("api_versions", 4, **about)).finalized_features
        levels = {feature.name: feature.max_version_level for feature in features}
        assert (levels["group.version"], levels["share.version"], levels["metadata.version"]) == (1, 1, 30)
        with proxy.faults.as_kafka("2.8", client_id="other"):
            offered = {
                api_key.api_key: api_key.max_version
                for api_key in (await wire.asks("api_versions", 4, **about)).api_keys
            }
        assert offered[11] == 9


async def test_common_versions_are_offered() -> None:
    async with Cluster(as_kafka="2.8") as kafka, Proxy(kafka.bootstrap) as proxy:
        wire = await wire_to(proxy)
        for release, joins in (("1.1", 2), ("2.8", 7), ("3.9", 7), ("4.3", 7)):
            with proxy.faults.as_kafka(release):
                offered = {
                    api_key.api_key: api_key.max_version for api_key in (await wire.asks("api_versions", 0)).api_keys
                }
            assert (offered[11], offered.get(68)) == (joins, None)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"])
async def test_principal_rule_matches_proxied_login(mechanism: str) -> None:
    async with Cluster(security="SASL_PLAINTEXT") as kafka, Proxy(kafka.bootstrap) as proxy:
        for user, hears in (("alice", "REBALANCE_IN_PROGRESS"), ("bob", "UNKNOWN_MEMBER_ID")):
            config = kafka.client_config(user, library="java", mechanism=mechanism)
            with proxy.faults.on("Heartbeat", principal="User:alice").error("REBALANCE_IN_PROGRESS"):
                wire = await wire_to(proxy)
                await log_in(wire, from_settings(config))
                assert await beat(wire) == hears


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"])
async def test_proxy_login_sets_principal(mechanism: str, tmp_path: Path) -> None:
    async with Cluster(security="SASL_PLAINTEXT") as kafka:
        file = written(kafka.client_config("alice", library="java", mechanism=mechanism), tmp_path)
        async with Proxy(kafka.bootstrap, command_config=file) as proxy:
            proxy.faults.on("Heartbeat", principal="User:alice").error("REBALANCE_IN_PROGRESS")
            assert await beat(await wire_to(proxy)) == "REBALANCE_IN_PROGRESS"


async def test_certificate_principal_is_unknown(tmp_path: Path) -> None:
    async with Cluster(security="SSL") as kafka:
        file = written(kafka.client_config("alice", library="java"), tmp_path)
        async with Proxy(kafka.bootstrap, command_config=file) as proxy:
            with pytest.raises(ControlError, match=r"^a proxy does not know the principal that the cluster derives"):
                proxy.faults.on("Heartbeat", principal="User:alice").hold()


def written(config: dict[str, Any], folder: Path) -> Path:
    """Write a file of client properties."""
    file = folder / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in config.items() if name != "bootstrap.servers"))
    return file


async def test_node_rule_skips_other_nodes() -> None:
    async with Cluster(nodes=2) as kafka, Proxy(kafka.bootstrap) as proxy:
        first = await wire_to(proxy)
        ports = {broker.node_id: broker.port for broker in (await first.asks("metadata", 12, topics=())).brokers}
        one, two = await Waiting.to(ports[1]), await Waiting.to(ports[2])
        proxy.faults.on("Heartbeat", node=2).error("REBALANCE_IN_PROGRESS")
        assert await beat(two) == "REBALANCE_IN_PROGRESS"
        assert await beat(one) != "REBALANCE_IN_PROGRESS"


async def test_proxy_faults_over_http() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        server = proxy._server
        assert isinstance(server, ProxyServer)
        transport = httpx.ASGITransport(make_proxy_app(server.laboratory))
        wire = await wire_to(proxy)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            rule = {"match": {"api": "Heartbeat"}, "do": "error", "with": {"name": "FENCED_INSTANCE_ID"}}
            made = await client.post("/faults", json=rule)
            assert made.status_code == 201
            assert await beat(wire) == "FENCED_INSTANCE_ID"
            refused = await client.post("/faults", json={"match": {"group": "g"}, "do": "zombie"})
            assert (refused.status_code, refused.json()["detail"][:20]) == (422, "a proxy can't create")
            assert (await client.post("/gates", json={"name": "heartbeat-received"})).status_code == 201
            left = (await client.post("/reset")).json()
            held = "gate heartbeat-received was still held; waiting: none"
            assert left == {"gates": [held], "violations": [], "groups": []}
            assert (await client.get("/faults")).json() == []
            assert (await client.post("/clock/pause")).status_code == 404
        assert await beat(wire) == "UNKNOWN_MEMBER_ID"


async def test_page_offers_only_served_paths() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        server = proxy._server
        assert isinstance(server, ProxyServer)
        server.look_at_groups()
        app = make_proxy_app(server.laboratory)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            offers = (await client.get("/page/offers.js")).text
            served = set(re.findall(r'"([^"]+)"', offers))
            assert "/faults" in served
            assert not [path for path in served if path.startswith(("/clock", "/leaders"))]
            names = [point["name"] for point in (await client.get("/gates/points")).json()]
            assert "join-received" in names
            for name in names:
                assert (await client.post("/gates", json={"name": name})).status_code == 201
                await client.delete(f"/gates/{name}")
            scripts = "".join(file.read_text() for file in PAGE.iterdir() if file.name.endswith(".js"))
            matches = re.findall(r"(?:request\(|act\('[A-Z]+', )['`]([a-z/]+)", scripts)
            requested = {match.partition("?")[0] for match in matches}
            assert {"overview", "gates", "faults", "reset", "clock/pause"} <= requested
            unserved = {name for name in requested if not any(path.startswith(f"/{name}") for path in served)}
            hidden = {"clock/advance", "clock/pause", "clock/run", "topics", "topics/"}
            assert unserved == hidden, "the page hides these (laboratory.js, main.js)"


async def test_rule_from_file_text() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        parse_rule(
            proxy.faults, {"match": {"client_id": "a*"}, "do": "error", "with": {"name": "UNKNOWN_SERVER_ERROR"}}
        )
        assert await beat(await wire_to(proxy)) == "UNKNOWN_SERVER_ERROR"


def test_without_await_too() -> None:
    with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        with proxy.faults.on("Heartbeat").hold() as rule:
            assert rule.seen == 0
        assert proxy.bootstrap != kafka.bootstrap


async def test_unreachable_cluster_is_named() -> None:
    with pytest.raises(ControlError, match="nothing listens there"):
        async with Proxy("127.0.0.1:1"):
            pass
