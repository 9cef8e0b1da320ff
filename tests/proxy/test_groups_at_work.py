"""Groups that are active before the proxy starts, or bypass it: the proxy queries the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaConsumer

from kohort.client.security import from_settings
from kohort.proxy.proxy_control import make_proxy_app
from kohort.proxy.proxy_server import ProxyServer
from kohort.testing import Cluster, Proxy
from tests.proxy.proxied import log_in, until, wire_to
from tests.support.frames import to_fetch
from tests.support.wires import Waiting

pytestmark = pytest.mark.timeout(120)


@asynccontextmanager
async def consuming(bootstrap: str, name: str) -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a consumer of `orders` in the group billing."""
    consumer = AIOKafkaConsumer(
        "orders",
        bootstrap_servers=bootstrap,
        group_id="billing",
        client_id=name,
        heartbeat_interval_ms=100,
        retry_backoff_ms=10,
        enable_auto_commit=False,
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


@asynccontextmanager
async def at_work(*names: str) -> AsyncIterator[Cluster]:
    """Yield a cluster where the group billing has members, without a proxy."""
    async with Cluster() as kafka, AsyncExitStack() as consumers:
        kafka.topics.create("orders", partitions=4)
        for name in names:
            await consumers.enter_async_context(consuming(kafka.bootstrap, name))
        await kafka.group("billing").wait_stable(members=len(names))
        yield kafka


async def beats(wire: Waiting, kafka: Cluster, who: str) -> None:
    """Send a heartbeat through the proxy, of a member that has joined without it."""
    group = kafka.group("billing")
    member_id = group.member(who).member_id
    answer = await wire.asks("heartbeat", 4, group_id="billing", generation_id=group.generation, member_id=member_id)
    assert answer.error_code.name == "none"


async def test_heartbeat_reveals_classic_group() -> None:
    async with at_work("ada", "bob") as kafka, Proxy(kafka.bootstrap) as proxy:
        group, theirs, wire = proxy.group("billing"), kafka.group("billing"), await wire_to(proxy)
        await beats(wire, kafka, "ada")
        await group.wait_stable(members=2)
        assert group.assignments == theirs.assignments
        assert (group.generation, group.protocol) == (theirs.generation, theirs.protocol)
        assert "perhaps others" not in str(group)
        assert group.events == [], "nothing has happened"
        lines = str(group.explain()).splitlines()
        assert lines[0] == f"group billing: Stable, generation {theirs.generation}, 2 members"
        assert any(line.startswith("  bob: does not connect through the proxy; described 0.") for line in lines)
        async with consuming(kafka.bootstrap, "cleo"):
            await theirs.wait_stable(members=3)
            await group.wait_stable(members=3)
            assert group.assignments == theirs.assignments
            added = [event for event in group.events if event.kind == "member_added"]
            assert [(item.client_id, item.cause) for item in added] == [("cleo", "unknown")]
            assert (added[0].detail or {})["evidence"] == ("a description by the cluster; it joined without the proxy")
        await group.wait_stable(members=2)
        wire.close()


@pytest.mark.parametrize("leads", [True, False])
async def test_half_of_group_bypasses_proxy(leads: bool) -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy, AsyncExitStack() as consumers:
        kafka.topics.create("orders", partitions=4)
        group, theirs = proxy.group("billing"), kafka.group("billing")
        ways = [("ada", proxy.bootstrap), ("bob", kafka.bootstrap)]
        for name, bootstrap in ways if leads else reversed(ways):
            await consumers.enter_async_context(consuming(bootstrap, name))
        await theirs.wait_stable(members=2)
        await group.wait_stable(members=2)
        await group.wait_for(lambda: group.assignments == theirs.assignments)
        assert [member.client_id for member in group.members if member.is_leader] == ["ada" if leads else "bob"]
        await group.wait_for(lambda: {member.client_id for member in group.members} == {"ada", "bob"})


@pytest.mark.parametrize(
    ("kind", "more"), [("consumer", {"rebalance_timeout_ms": 9_000, "topic_partitions": ()}), ("share", {})]
)
async def test_heartbeat_reveals_consumer_group(kind: str, more: dict[str, Any]) -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders", partitions=4)
        straight, api = await wire_to(kafka), f"{kind}_group_heartbeat"
        joining = {"group_id": "g", "member_epoch": 0, "subscribed_topic_names": ("orders",), **more}
        for name in ("one", "two"):
            await straight.asks(api, 1, client_id=name, member_id=name, **joining)
        epoch = (await straight.asks(api, 1, group_id="g", member_id="one", member_epoch=2)).member_epoch
        theirs = kafka.share_group("g") if kind == "share" else kafka.group("g")
        async with Proxy(kafka.bootstrap) as proxy:
            wire, group = await wire_to(proxy), proxy.group("g")
            assert (
                await wire.asks(api, 1, group_id="g", member_id="one", member_epoch=epoch)
            ).error_code.name == "none"
            await group.wait_for(lambda: len(group.members) == 2)
            assert (group.type, group.state, group.generation) == (kind, theirs.state, theirs.generation)
            assert group.assignments == theirs.assignments
            assert "  two: does not connect through the proxy; described 0." in str(group.explain()) or kind == "share"
            assert group.events == []
            await straight.asks(api, 1, member_id="three", **joining)
            await group.wait_for(lambda: len(group.members) == 3)
            assert [(event.kind, event.cause) for event in group.events][:2] == [
                ("member_added", "unknown"), ("epoch_bumped", "unknown"),
            ]  # fmt: skip
            wire.close()
        straight.close()


async def test_offset_fetch_reveals_group() -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders")
        await kafka.group("simple").commit({("orders", 0): 0})
        async with Proxy(kafka.bootstrap) as proxy:
            wire = await wire_to(proxy)
            for word in ("simple", "unknown"):
                await wire.asks("offset_fetch", 7, groups=to_fetch(word))
            await until(lambda: [group.id for group in proxy.groups] == ["simple"])
            assert (proxy.group("simple").state, proxy.group("simple").type) == ("Empty", "classic")
            wire.close()


async def test_describe_error_keeps_group_state() -> None:
    async with at_work("ada", "bob") as kafka:
        kafka.faults.on("DescribeGroups").error("GROUP_AUTHORIZATION_FAILED")
        async with Proxy(kafka.bootstrap) as proxy:
            wire, group = await wire_to(proxy), proxy.group("billing")
            await beats(wire, kafka, "ada")
            await group.wait_for(lambda: "cannot describe it" in str(group.explain()))
            assert str(group.explain()).splitlines()[0] == (
                f"group billing: Stable, generation {group.generation}, 1 member observed, there may be others; "
                "the cluster cannot describe it: GROUP_AUTHORIZATION_FAILED"
            )
            assert (group.state, len(group.members)) == ("Stable", 1)
            wire.close()


@pytest.mark.parametrize("logs_in", [True, False])
async def test_polling_needs_own_login(logs_in: bool, tmp_path: Path) -> None:
    async with Cluster(security="SASL_PLAINTEXT") as kafka:
        config = kafka.client_config("alice", library="java", mechanism="PLAIN")
        kafka.topics.create("orders")
        straight, more = await wire_to(kafka), {"topic_partitions": ()}
        await log_in(straight, from_settings(config))
        joining = {"group_id": "g", "member_epoch": 0, "subscribed_topic_names": ("orders",), **more}
        for name in ("one", "two"):
            await straight.asks("consumer_group_heartbeat", 1, member_id=name, rebalance_timeout_ms=9_000, **joining)
        file = tmp_path / "client.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in config.items()))
        async with Proxy(kafka.bootstrap, command_config=file if logs_in else None) as proxy:
            wire, group = await wire_to(proxy), proxy.group("g")
            if not logs_in:
                await log_in(wire, from_settings(config))
            await wire.asks("consumer_group_heartbeat", 1, group_id="g", member_id="one", member_epoch=2)
            if logs_in:
                await group.wait_for(lambda: len(group.members) == 2)
            else:
                await group.wait_for(lambda: "the cluster cannot describe it" in str(group.explain()))
                assert (group.state, len(group.members)) == ("Stable", 1)
            wire.close()
        straight.close()


async def test_missing_response_is_harmless() -> None:
    async with at_work("ada") as kafka:
        rule = kafka.faults.on("DescribeGroups").drop()
        async with Proxy(kafka.bootstrap) as proxy:
            wire, group = await wire_to(proxy), proxy.group("billing")
            await beats(wire, kafka, "ada")
            await until(lambda: rule.acted == 1)
            await beats(wire, kafka, "ada")
            await group.wait_stable(members=1)
            wire.close()


async def test_proxy_groups_over_http() -> None:
    async with at_work("ada", "bob") as kafka, Proxy(kafka.bootstrap) as proxy:
        wire, server = await wire_to(proxy), proxy._server
        assert isinstance(server, ProxyServer)
        await beats(wire, kafka, "ada")
        transport = httpx.ASGITransport(make_proxy_app(server.laboratory))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            waited = await client.get("/groups/billing/wait", params={"members": 2})
            assert (waited.status_code, waited.json()["state"]) == (200, "Stable")
            bob = (await client.get("/groups/billing/members/bob")).json()
            assert bob["partitions"] == {"orders": list(kafka.group("billing").member("bob").partitions["orders"])}
        wire.close()


async def test_stopped_proxy_ends_polling() -> None:
    async with at_work("ada") as kafka:
        rule = kafka.faults.on("DescribeGroups").drop()
        async with Proxy(kafka.bootstrap) as proxy:
            wire = await wire_to(proxy)
            await beats(wire, kafka, "ada")
            await until(lambda: rule.acted == 1)
            wire.close()
        await until(lambda: not any("Descriptions" in repr(task.get_coro()) for task in asyncio.all_tasks()))
