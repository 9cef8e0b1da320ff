"""Groups as a test sees them through the proxy, with a client that knows nothing of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from kohort.broker.scheduling.worker_thread import JOBS_HERE
from kohort.cli.watch.controlled import Controlled
from kohort.control.control_errors import ControlError
from kohort.control.http.listening import serve
from kohort.pipeline.sources.event_lines import read_event_log
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.pipeline.sources.stored import source_file
from kohort.protocol.errors import ErrorCode
from kohort.proxy.proxy_control import make_proxy_app
from kohort.proxy.proxy_server import ProxyServer
from kohort.testing import Cluster, Proxy
from tests.proxy.proxied import wire_to

pytestmark = pytest.mark.timeout(120)


@asynccontextmanager
async def consuming(proxy: Proxy, name: str, group: str = "billing") -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a consumer of `orders` that uses the proxy."""
    consumer = AIOKafkaConsumer(
        "orders",
        bootstrap_servers=proxy.bootstrap,
        group_id=group,
        client_id=name,
        heartbeat_interval_ms=100,
        retry_backoff_ms=10,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def test_group_from_first_to_last_member() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        kafka.topics.create("orders", partitions=2)
        group = proxy.group("billing")
        assert (group.state, group.type, group.members) == ("Dead", "", ())
        assert str(group.explain()).startswith("group billing: no traffic observed through the proxy")
        async with consuming(proxy, "ada"):
            await group.wait_stable(members=1)
            assert (group.type, group.generation, group.protocol) == ("classic", 1, "roundrobin")
            assert group.member("ada").partitions == {"orders": (0, 1)}
            async with consuming(proxy, "bob"):
                await group.wait_stable(members=2)
                assert group.assignments == kafka.group("billing").assignments
                assert group.generation == kafka.group("billing").generation
                assert group.coordinator == 1
            await group.wait_stable(members=1)
        await group.wait_state("Empty")
        assert [rebalance.cause for rebalance in group.history] == [
            rebalance.cause for rebalance in kafka.group("billing").history
        ]
        assert [rebalance.outcome for rebalance in group.history] == ["completed"] * 4
        assert "the traffic does not show why" not in group.timeline()


async def test_commits_and_lag() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        kafka.topics.create("orders")
        async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap) as producer:
            for number in range(5):
                await producer.send_and_wait("orders", b"%d" % number)
        group = proxy.group("billing")
        async with consuming(proxy, "ada") as consumer:
            for _ in range(3):
                await consumer.getone()
            await consumer.commit()
            await group.wait_for_offset("orders", 3)
            await group.wait_for(lambda: group.lag == {("orders", 0): 2})
            assert not group.is_caught_up
            for _ in range(2):
                await consumer.getone()
            await consumer.commit()
            await group.wait_caught_up()
            assert group.offsets == {("orders", 0): 5}


async def test_silent_member_is_not_expired() -> None:
    async with Cluster(settings={"group.min.session.timeout.ms": "500"}) as kafka, Proxy(kafka.bootstrap) as proxy:
        kafka.topics.create("orders")
        group = proxy.group("billing")
        async with consuming(proxy, "ada"), consuming(proxy, "bob"):
            await group.wait_stable(members=2)
            with proxy.faults.freeze(group="billing", member="bob*"):
                await kafka.clock.advance(seconds=15)
                await group.wait_stable(members=1)
            (rebalance,) = [rebalance for rebalance in group.history if rebalance.generation == group.generation]
            assert rebalance.cause.startswith("unknown: ")
            assert "the traffic does not show why" in rebalance.cause
            assert "expired" not in group.timeline()


@pytest.mark.parametrize(
    ("kind", "version", "more"),
    [("consumer", 1, {"rebalance_timeout_ms": 9_000, "topic_partitions": ()}), ("share", 1, {})],
)
async def test_groups_of_the_newer_protocols(kind: str, version: int, more: dict[str, object]) -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        kafka.topics.create("orders", partitions=2)
        kafka.clock.pause()  # the coordinator removes no member, however slow the machine is
        wire = await wire_to(proxy)
        await wire.asks("metadata", 12, topics=None)
        joining = {"group_id": "g", "member_epoch": 0, "subscribed_topic_names": ("orders",), **more}
        api = f"{kind}_group_heartbeat"
        for member_id in ("one", "two"):
            response = await wire.asks(api, version, member_id=member_id, **joining)
            assert response.error_code is ErrorCode.none, response
        group = proxy.group("g")
        assert (group.type, group.generation, group.coordinator, len(group.members)) == (kind, 3, 1, 2)
        assert group.member("one").partitions == {"orders": (0, 1)} or kind == "share"
        assert not group.is_settled, "the first member does not know the second"
        response = await wire.asks(api, version, group_id="g", member_id="two", member_epoch=-1)
        assert response.error_code is ErrorCode.none, response
        removals = [event.cause for event in group.events if event.kind == "member_removed"]
        assert removals == ["leave_explicit"], group.timeline()
        assert sorted(group.assignments) == ["one"]
        wire.close()


async def test_cluster_only_actions_are_rejected() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        group = proxy.group("billing")
        with pytest.raises(ControlError, match="a proxy can't move a coordinator"):
            group.move_coordinator(1)
        for item in (group.delete(), group.commit({("orders", 0): 1}), group.reset()):
            with pytest.raises(ControlError, match=r"^a proxy can't (delete|commit)"):
                await item
        with pytest.raises(TimeoutError, match=r"group billing \(nothing observed\) is not stable$"):
            await group.wait_stable(timeout=0.01)


def server_of(proxy: Proxy) -> ProxyServer:
    """Return the server of a proxy."""
    server = proxy._server
    assert isinstance(server, ProxyServer)
    return server


async def test_seen_groups_over_http() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        kafka.topics.create("orders")
        transport = httpx.ASGITransport(make_proxy_app(server_of(proxy).laboratory))
        async with (
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
            consuming(proxy, "ada"),
        ):
            waited = await client.get("/groups/billing/wait", params={"members": 1})
            assert (waited.status_code, waited.json()["state"]) == (200, "Stable")
            assert [entry["id"] for entry in (await client.get("/groups")).json()] == ["billing"]
            member = (await client.get("/groups/billing/members/ada")).json()
            assert (member["client_id"], member["partitions"], member["session_ends_in_ms"]) == (
                "ada", {"orders": [0]}, None,
            )  # fmt: skip
            explained = (await client.get("/groups/billing/explanation")).json()
            assert explained[0] == "group billing: Stable, generation 1, 1 member"
            assert explained[2].startswith("  ada: should send heartbeats; last request 0.")
            assert len((await client.get("/groups/billing/history")).json()) == 1
            past = (await client.get("/events/past", params={"group": "billing", "kind": "join_completed"})).json()
            assert [item["detail"]["evidence"] for item in past] == ["a response of the cluster"]
            assert (await client.get("/")).status_code == 200
            assert (await client.get("/overview/summary")).status_code == 200
            assert (await client.get("/groups/missing")).status_code == 404
            assert (await client.put("/groups/billing/offsets", json={"offsets": {"orders-0": 1}})).status_code == 404
            assert (await client.delete("/groups/billing")).status_code == 405


async def test_watch_shows_it() -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        kafka.topics.create("orders")
        async with serve(make_proxy_app(server_of(proxy).laboratory), "127.0.0.1", 0) as where, consuming(proxy, "ada"):
            await proxy.group("billing").wait_stable(members=1)
            snapshot = await Controlled(where).look(0.0)
            (group,) = snapshot.groups
            assert (group.group_id, group.state, [member.client_id for member in group.members or ()]) == (
                "billing",
                "Stable",
                ["ada"],
            )
            assert snapshot.brokers == 1


async def test_event_log_is_analyzable(tmp_path: Path) -> None:
    async with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        kafka.topics.create("orders")
        seen = server_of(proxy).look_at_groups()
        with seen.written(tmp_path, asyncio.get_running_loop().call_later, JOBS_HERE):
            async with consuming(proxy, "ada"):
                await proxy.group("billing").wait_stable(members=1)
        (file,) = tmp_path.iterdir()
        rows = list(read_event_log(source_file(str(file))))
        assert all(isinstance(row, GroupEvent) for row in rows)
        kinds = [row.kind for row in rows if isinstance(row, GroupEvent)]
        assert kinds[:5] == [
            "member_id_issued", "member_added", "rebalance_started", "join_completed", "assignment_received",
        ]  # fmt: skip


def test_without_await_too() -> None:
    with Cluster() as kafka, Proxy(kafka.bootstrap) as proxy:
        assert proxy.groups == []
        assert proxy.group("billing").state == "Dead"
        with pytest.raises(TimeoutError, match=r"group billing \(nothing observed\) is not stable"):
            proxy.group("billing").wait_stable(timeout=0.01)
