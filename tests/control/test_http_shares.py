"""Share groups over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from kohort.control.http.app import make_app
from tests.control.sharing_lab import SharingLab


@pytest.fixture
async def http(shared: SharingLab) -> AsyncIterator[httpx.AsyncClient]:
    """Ada holds two records of three."""
    shared.produce("a b c")
    shared.talk("""
        ada ShareFetch v2 {epoch: 0, max_records: 2, share_acquire_mode: 1, from: {$topic: [0]}}
          <- NONE
        """)
    app = make_app(shared.stage.server, laboratory=shared.laboratory)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def test_it_is_listed_beside_the_others(http: httpx.AsyncClient, shared: SharingLab) -> None:
    (listed,) = (await http.get("/groups")).json()
    assert (listed["id"], listed["type"], listed["state"]) == (shared.name("group"), "share", "Stable")
    assert listed["lag"] == {f"{shared.topic}-0": 3}
    assert (listed["offsets"], listed["migration"]["protocol"]) == ({}, "share")
    assert [item["speaks"] for item in listed["members"]] == ["share"]
    (summary,) = (await http.get("/overview/groups")).json()
    assert (summary["type"], summary["members"]) == ("share", 1)
    (group,) = (await http.get("/overview")).json()["groups"]
    assert (group["shared"][0]["acquired"], group["lags"]) == (2, {shared.topic: {"0": 3}})
    assert [item["what"] for item in group["waits"]] == [f"to acknowledge {shared.topic}-0 0-1, delivered once"]


async def test_lock_owners_and_waiting_record(http: httpx.AsyncClient, shared: SharingLab) -> None:
    path = f"/share-groups/{shared.name('group')}"
    (partition,) = (await http.get(path)).json()["partitions"]
    assert (partition["start_offset"], partition["acquired"], partition["lag"]) == (0, 2, 3)
    assert partition["fetched_by"] == ["ada-member"]
    held, free = (await http.get(f"{path}/in-flight", params={"topic": shared.topic, "partition": 0})).json()
    assert (held["first_offset"], held["last_offset"], held["holder"], held["ends_in_ms"]) == (0, 1, "ada", 2_000)
    assert (free["state"], free["holder"], free["ends_in_ms"]) == ("available", "", None)
    record = (await http.get(f"{path}/records/{shared.topic}/0/1")).json()
    assert record["delivery_count"] == 1
    assert record["explanation"].endswith("ada holds it; in 2 s: other members may acquire it; delivered once of 3")
    told = (await http.get(f"/groups/{shared.name('group')}/explanation")).json()
    assert f"  {shared.topic}-0: begins at 0, 2 held, lag 3; 2 can be acquired next" in told


async def test_lag_in_records_and_seconds(http: httpx.AsyncClient, shared: SharingLab) -> None:
    clock = shared.laboratory.clock
    shared.laboratory.topics.append(shared.topic, "d", timestamp=clock.now_ms() + clock.epoch_ms - 5_000)
    shared.talk("""
        ada ShareFetch v2 {epoch: 1, acks: {$topic: {0: {0-1: accept}}}}
          <- NONE
        ada ShareAcknowledge v2 {epoch: 2, acks: {$topic: {0: {2: reject}}}}
          <- NONE
        """)
    (row,) = (await http.get(f"/groups/{shared.name('group')}/lag")).json()
    assert row == {"topic": shared.topic, "partition": 0, "offset": 3, "lag": 1, "seconds": 5.0}


async def test_records_are_redelivered(http: httpx.AsyncClient, shared: SharingLab) -> None:
    path = f"/share-groups/{shared.name('group')}/redeliver"
    assert (await http.post(path, json={"first_offset": 1, "member": "ada"})).json() == {"records": 1}
    assert shared.held == ["0-0 ada"]
    assert (await http.post(path, json={})).json() == {"records": 1}
    refused = await http.post(path, json={"topic": "nope"})
    assert (refused.status_code, "nope" in refused.json()["detail"]) == (404, True)


async def test_it_is_given_settings(http: httpx.AsyncClient, shared: SharingLab) -> None:
    path = f"/share-groups/{shared.name('group')}/configs"
    assert (await http.put(path, json={"configs": {"share.delivery.count.limit": "2"}})).status_code == 200
    record = (await http.get(f"/share-groups/{shared.name('group')}/records/{shared.topic}/0/1")).json()
    assert record["explanation"].endswith("delivered once of 2")
    refused = await http.put(path, json={"configs": {"share.delivery.count.limit": "often"}})
    assert (refused.status_code, "share.delivery.count.limit" in refused.json()["detail"]) == (422, True)


async def test_one_waits_until_nothing_is_left(http: httpx.AsyncClient, shared: SharingLab) -> None:
    path = f"/share-groups/{shared.name('group')}/wait"
    late = await http.get(path, params={"timeout": 0.01})
    assert (late.status_code, "0-1: acquired by ada" in late.json()["detail"]) == (408, True)
    assert (await http.get(path, params={"members": 1})).json()["state"] == "Stable"
    shared.talk("""
        ada ShareFetch v2 {epoch: 1, acks: {$topic: {0: {0-1: accept}}}}
          <- NONE
        ada ShareAcknowledge v2 {epoch: 2, acks: {$topic: {0: {2: reject}}}}
          <- NONE
        """)
    assert (await http.get(path)).json()["partitions"][0]["lag"] == 0
    caught_up = await http.get(f"/groups/{shared.name('group')}/wait", params={"caught_up": True})
    assert caught_up.status_code == 200


@pytest.mark.parametrize("path", ["", "/in-flight", "/records/orders/0/1"])
async def test_unknown_share_group_is_not_found(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(f"/share-groups/nope{path}")
    assert (answer.status_code, answer.json()["detail"][:29]) == (404, "share group nope does not exi")


async def test_other_group_type_is_rejected(http: httpx.AsyncClient, shared: SharingLab) -> None:
    await http.put("/groups/billing/offsets", json={"offsets": {f"{shared.topic}-0": 1}})
    answer = await http.get("/share-groups/billing")
    assert (answer.status_code, "is not a share group" in answer.json()["detail"]) == (422, True)
    answer = await http.put(f"/groups/{shared.name('group')}/offsets", json={"offsets": {f"{shared.topic}-0": 1}})
    assert (answer.status_code, "is a share group" in answer.json()["detail"]) == (422, True)


async def test_data_reset_deletes_empty_share_group(http: httpx.AsyncClient, shared: SharingLab) -> None:
    left = (await http.post("/reset", params={"data": True})).json()
    assert left["groups"] == [shared.name("group")]
    shared.talk("""
        ada share-beats {member_epoch: -1}
          <- NONE
        """)
    assert (await http.post("/reset", params={"data": True})).json()["groups"] == []
    assert (await http.get("/groups")).json() == []


async def test_lag_is_in_metrics(http: httpx.AsyncClient, shared: SharingLab) -> None:
    labels = f'{{consumergroup="{shared.name("group")}",partition="0",topic="{shared.topic}"}}'

    async def lines() -> list[str]:
        return (await http.get("/metrics")).text.splitlines()

    assert f"kafka_consumergroup_lag{labels} 3.0" in await lines()
    assert f"kafka_consumergroup_current_offset{labels} 0.0" in await lines()
    shared.talk("wait 1500 ms")
    (seconds,) = [line for line in await lines() if line.startswith("kafka_consumergroup_lag_seconds{")]
    assert float(seconds.rpartition(" ")[2]) >= 1.5
    shared.talk("""
        ada ShareAcknowledge v2 {epoch: 1, acks: {$topic: {0: {0-1: accept}}}}
          <- NONE
        """)
    assert f"kafka_consumergroup_lag{labels} 1.0" in await lines()
