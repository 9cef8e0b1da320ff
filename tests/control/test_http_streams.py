"""Streams groups over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from kohort.control.http.app import make_app
from tests.control.talking import Lab


@pytest.fixture
def streams() -> Lab:
    """Ada with two tasks, one of which must be revoked for bob."""
    made = Lab("streams")
    made.laboratory.record()
    made.talk("""
        given topic $topic with 2 partitions
        ada streams-beats {topology: {0: {reads: [$topic]}}}
          <- NONE {active_tasks: {0: [0, 1]}}
        bob streams-beats
          <- NONE {active_tasks: {}}
        ada streams-beats {owns: {0: [0, 1]}}
          <- NONE {active_tasks: {0: [0]}}
        """)
    return made


@pytest.fixture
async def http(streams: Lab) -> AsyncIterator[httpx.AsyncClient]:
    app = make_app(streams.stage.server, laboratory=streams.laboratory)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client
    streams.stage.close()


async def test_it_is_listed_beside_the_others(http: httpx.AsyncClient, streams: Lab) -> None:
    topic = streams.name("topic")
    (listed,) = (await http.get("/groups")).json()
    assert (listed["id"], listed["type"], listed["state"]) == (streams.name("group"), "streams", "Reconciling")
    assert (listed["lag"], listed["offsets"]) == ({f"{topic}-0": 0, f"{topic}-1": 0}, {})
    assert listed["migration"]["protocol"] == "streams"
    assert [item["speaks"] for item in listed["members"]] == ["streams", "streams"]
    (summary,) = (await http.get("/overview/groups")).json()
    assert (summary["type"], summary["members"]) == ("streams", 2)
    (group,) = (await http.get("/overview")).json()["groups"]
    assert group["shared"] == []
    assert [item["tasks"] for item in group["members"]] == ["active 0_0", ""]
    assert [item["what"] for item in group["waits"]] == ["to revoke active 0_1, which bob is to get"]
    (glance,) = (await http.get("/overview/summary")).json()
    assert glance["state"] == "Reconciling"


async def test_task_owners(http: httpx.AsyncClient, streams: Lab) -> None:
    group = (await http.get(f"/streams-groups/{streams.name('group')}")).json()
    ada, bob = group["members"]
    assert (ada["process_id"], ada["tasks"]["active"], ada["pending"]["active"]) == ("ada-process", ["0_0"], ["0_1"])
    assert (bob["state"], bob["target_tasks"]) == ("UnreleasedTasks", {"active": ["0_1"], "standby": []})
    (subtopology,) = group["topology"]["subtopologies"]
    assert (subtopology["source_topics"], subtopology["tasks"]) == ([streams.name("topic")], 2)
    assert (group["generation"], group["status"]) == (3, {})


async def test_waiting_for_its_tasks(http: httpx.AsyncClient, streams: Lab) -> None:
    path = f"/streams-groups/{streams.name('group')}/wait"
    late = await http.get(path, params={"members": 2, "timeout": 0.01})
    assert (late.status_code, "is not stable with 2 members" in late.text) == (408, True)


async def test_there_is_none(http: httpx.AsyncClient) -> None:
    assert (await http.get("/streams-groups/none")).status_code == 404
