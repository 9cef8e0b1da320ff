"""Records, offsets, and silent members over HTTP, for tests in any language."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator

import httpx
import pytest

from kohort.control.http.app import make_app
from kohort.control.http.routes import events_routes
from kohort.control.http.routes.events_routes import EVENTS_AT_ONCE
from kohort.testing import Cluster
from tests.control.talking import Lab


@pytest.fixture
async def http(lab: Lab) -> AsyncIterator[httpx.AsyncClient]:
    lab.laboratory.record()
    transport = httpx.ASGITransport(make_app(lab.stage.server, laboratory=lab.laboratory), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def create(http: httpx.AsyncClient) -> None:
    await http.post("/topics", json={"name": "orders", "partitions": 2})
    await http.post("/topics/orders/records", json={"values": ["a", None], "key": "k", "headers": {"trace": "7"}})
    await http.post("/topics/orders/records", json={"values": ["b", "c"], "partition": 1})


async def test_records_are_read_and_trimmed(http: httpx.AsyncClient) -> None:
    await create(http)
    records = (await http.get("/topics/orders/records")).json()
    assert [(record["partition"], record["offset"]) for record in records] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert records[0]["value"] == {"text": "a", "base64": "YQ=="}
    assert records[0]["key"]["text"] == "k"
    assert records[0]["headers"] == [{"name": "trace", "value": {"text": "7", "base64": "Nw=="}}]
    assert records[1]["value"] is None
    chosen = await http.get("/topics/orders/records", params={"partition": 1, "offset": 1, "limit": 1})
    assert [entry["value"]["text"] for entry in chosen.json()] == ["c"]
    trimmed = (await http.post("/topics/orders/delete-records", json={"before": 1, "partition": 1})).json()
    partition = trimmed["partitions"][1]
    assert (partition["partition"], partition["start_offset"], partition["end_offset"]) == (1, 1, 2)
    assert (partition["leader"], partition["replicas"], partition["in_sync"]) == (1, [1], [1])
    assert partition["size_bytes"] > 0
    refused = await http.post("/topics/orders/delete-records", json={"before": 9})
    assert (refused.status_code, refused.json()["detail"]) == (
        422,
        "orders-0 has offsets 0 to 2; cannot delete records before 9",
    )


async def test_binary_values_use_base64(http: httpx.AsyncClient, lab: Lab) -> None:
    await create(http)
    lab.laboratory.topics.append("orders", b"\xff\x00")
    value = (await http.get("/topics/orders/records", params={"offset": 2})).json()[0]["value"]
    assert (value["text"], b64decode(value["base64"])) == (None, b"\xff\x00")


async def test_topics_are_deleted(http: httpx.AsyncClient) -> None:
    await create(http)
    assert (await http.delete("/topics/orders")).status_code == 200
    assert (await http.delete("/topics/orders")).status_code == 404
    assert (await http.delete("/topics/__consumer_offsets")).status_code == 422


async def test_offsets_are_set_reset_and_deleted(http: httpx.AsyncClient) -> None:
    await create(http)
    group = (await http.put("/groups/billing/offsets", json={"offsets": {"orders-0": 1}})).json()
    assert (group["offsets"], group["lag"]) == ({"orders-0": 1}, {"orders-0": 1})
    group = (await http.post("/groups/billing/reset", json={"to": "latest", "topic": "orders"})).json()
    assert (group["offsets"], group["lag"]) == ({"orders-0": 2, "orders-1": 2}, {"orders-0": 0, "orders-1": 0})
    assert (await http.get("/groups/billing/wait", params={"caught_up": True})).json()["state"] == "Empty"
    assert (await http.post("/groups/billing/reset", json={"to": 1})).json()["offsets"]["orders-1"] == 1
    assert (await http.delete("/groups/billing")).status_code == 200
    assert (await http.get("/groups/billing")).status_code == 404


async def test_lag_in_records_and_seconds(http: httpx.AsyncClient, lab: Lab) -> None:
    await create(http)
    clock = lab.laboratory.clock
    clock.pause()
    now_ms = clock.now_ms() + clock.epoch_ms
    lab.laboratory.topics.append("orders", "c", timestamp=now_ms - 90_000)
    await http.put("/groups/billing/offsets", json={"offsets": {"orders-0": 2, "orders-1": 2}})
    expected = [
        {"topic": "orders", "partition": 0, "offset": 2, "lag": 1, "seconds": 90.0},
        {"topic": "orders", "partition": 1, "offset": 2, "lag": 0, "seconds": 0.0},
    ]
    assert (await http.get("/groups/billing/lag")).json() == expected
    assert (await http.get("/groups/billing/lag", params={"limit": 1})).json() == expected[:1]
    assert (await http.get("/groups/missing/lag")).status_code == 404


async def test_offset_is_awaited(http: httpx.AsyncClient) -> None:
    await create(http)
    waiting = asyncio.create_task(http.get("/groups/billing/wait", params={"committed": "orders-1:2", "timeout": 5}))
    await http.put("/groups/billing/offsets", json={"offsets": {"orders-1": 2}})
    assert (await waiting).json()["offsets"] == {"orders-1": 2}
    late = await http.get("/groups/billing/wait", params={"committed": "orders-1:3", "timeout": 0.01})
    assert late.status_code == 408
    assert "is not yet with offset 3 of orders-1 committed" in late.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "advice"),
    [
        ("offsets", {"offsets": {"orders": 1}}, "expected TOPIC-PARTITION, as in orders-0; got 'orders'"),
        ("offsets", {"offsets": {}}, "no offsets to commit"),
        ("offsets", {"offsets": {"orders-0": -1}}, "non-negative integer, got -1"),
    ],
)
async def test_invalid_commit_is_rejected(http: httpx.AsyncClient, path: str, body: object, advice: str) -> None:
    await create(http)
    refused = await http.put(f"/groups/billing/{path}", json=body)
    assert refused.status_code == 422
    assert advice in refused.json()["detail"]


async def test_frozen_member_and_isolated_client(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("given ada, bob share a stable group {session_timeout_ms: 10000}")
    frozen = await http.post("/faults/freeze", json={"group": lab.name("group"), "member": "bob"})
    assert frozen.status_code == 201
    members = (await http.get(f"/groups/{lab.name('group')}")).json()["members"]
    assert [member["is_alive"] for member in members] == [True, False]
    assert (await http.post("/faults/cut-off", json={"client_id": "ada", "node": 9})).status_code == 404
    assert (await http.post("/faults/cut-off", json={"client_id": "ada", "node": 1})).status_code == 201
    assert len(lab.faults) == 2


async def test_requests_are_counted_and_waited_for(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    number = (await http.post("/faults", json={"match": {"api": "Heartbeat"}, "do": "count"})).json()["number"]
    waiting = asyncio.create_task(http.get(f"/faults/{number}/wait", params={"times": 2, "timeout": 60}))
    for _ in range(2):
        lab.talk("ada Heartbeat v4 {generation_id: 1}\n  <- NONE")
    assert (await waiting).json()["acted"] == 2
    late = await http.get(f"/faults/{number}/wait", params={"times": 3, "timeout": 0.01})
    assert (late.status_code, "has acted 2 times, not 3" in late.json()["detail"]) == (408, True)
    assert (await http.get("/faults/99/wait")).status_code == 404


async def test_past_events_are_log_rows(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    rows = (await http.get("/events/past", params={"group": lab.name("group"), "kind": "member_added"})).json()
    assert [(row["kind"], row["cause"], row["client_id"]) for row in rows] == [("member_added", "join_new", "ada")]
    refused = await http.get("/events/past", params={"kind": "member_aded"})
    assert "did you mean member_added?" in refused.json()["detail"]


async def test_overview_lists_troubled_groups_first(http: httpx.AsyncClient, lab: Lab) -> None:
    assert (await http.get("/overview/summary")).json() == []
    lab.talk("""
        ada JoinGroup v2 {group_id: calm}
          <- NONE
        """)
    lab.laboratory.advance(3_600_000, expire_live_members=True)  # what was longer ago is not looked at
    lab.talk("""
        given ada, bob share a stable group
        eve joins
          <- nothing for 150 ms
        """)
    (row,) = (await http.get("/overview/summary")).json()
    assert (row["id"], row["state"], row["members"]) == (lab.name("group"), "PreparingRebalance", 3)
    assert sorted(row["waits"][0]["for_whom"]) == ["ada", "bob"]
    assert row["since_ms"] == row["marks"][-1]["began_ms_ago"] == 150
    assert (row["marks"][-1]["took_ms"], row["marks"][-1]["cause"]) == (None, "join new")
    assert all(mark["took_ms"] is not None for mark in row["marks"][:-1])


async def test_newest_past_events_are_returned(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    every = (await http.get("/events/past")).json()
    assert (await http.get("/events/past", params={"last": 2})).json() == every[-2:]
    assert (await http.get("/events/past", params={"last": 0})).status_code == 422


async def test_past_events_are_paginated(http: httpx.AsyncClient, lab: Lab) -> None:
    assert (await http.get("/events/past")).json() == []
    lab.talk("given ada shares a stable group")
    events = list(lab.laboratory.recorder)
    for _ in range(EVENTS_AT_ONCE):
        lab.laboratory.recorder._take(events[0])
    rows = (await http.get("/events/past")).json()
    assert [row["kind"] for row in rows] == [event.event.kind for event in (*events, *events[:1] * EVENTS_AT_ONCE)]


async def test_slow_event_reader_is_disconnected(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_routes, "WAITING_EVENTS", 5)
    lab.laboratory.record()
    listeners = list(lab.laboratory.recorder._listeners)
    following = await events_routes.stream(lab.laboratory)
    lab.talk("given ada shares a stable group")
    assert len(list(lab.laboratory.recorder)) > 5
    assert [piece async for piece in following.body_iterator] == []
    assert lab.laboratory.recorder._listeners == listeners


async def test_data_reset_keeps_groups_with_members(http: httpx.AsyncClient, lab: Lab) -> None:
    await create(http)
    await http.put("/groups/billing/offsets", json={"offsets": {"orders-0": 1}})
    lab.talk("given ada shares a stable group")
    left = (await http.post("/reset", params={"data": True})).json()
    assert left["groups"] == [lab.name("group")]
    assert [entry["id"] for entry in (await http.get("/groups")).json()] == [lab.name("group")]
    assert [entry["name"] for entry in (await http.get("/topics")).json() if not entry["internal"]] == []


async def test_jump_lists_expired_members() -> None:
    async with Cluster() as kafka:
        app = make_app(kafka.laboratory.server, laboratory=kafka.laboratory)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
            clock = (await http.post("/clock/advance", json={"seconds": 46, "patience": 0.1})).json()
            assert (clock["went_on_without"], clock["paused"]) == ([], False)
            assert clock["now_ms"] >= 46_000


async def test_records_are_searched(http: httpx.AsyncClient, lab: Lab) -> None:
    await http.post("/topics", json={"name": "parcels"})
    for second, key in ((1, "a"), (2, "b"), (3, "a")):
        body = {"values": [f"{key}{second}"], "key": key, "timestamp_ms": second * 1_000}
        await http.post("/topics/parcels/records", json=body)

    async def search(query: str) -> list[str]:
        answer = await http.get(f"/topics/parcels/records?{query}")
        return [record["value"]["text"] for record in answer.json()]

    assert await search("since_ms=1500") == ["b2", "a3"]
    assert await search("key=a") == ["a1", "a3"]
    assert await search("key=a&since_ms=1500&limit=1") == ["a3"]
    assert await search("offset=1&key=b") == ["b2"]
    assert (await http.get("/topics/parcels/records?since_ms=soon")).status_code == 422
