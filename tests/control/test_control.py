"""The control address, asked without a socket; the broker behind it has a clock that stands still."""

from collections.abc import AsyncIterator
from io import StringIO

import httpx
import pytest

from kohort.broker.runtime.server import ListenError
from kohort.control.http.app import make_app
from kohort.control.http.routes import nodes_routes
from kohort.storage.topic import Topic
from tests.support.broker import Broker

HERE = "http://localhost"


@pytest.fixture
def broker() -> Broker:
    broker = Broker(nodes=3, offsets_topic_num_partitions=3)
    broker.cluster.offsets_topic.create(0)
    assert isinstance(broker.cluster.topics.create("orders", 2), Topic)
    return broker


@pytest.fixture
async def control(broker: Broker) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(make_app(broker.server), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
        yield client


async def test_nodes_are_listed(control: httpx.AsyncClient) -> None:
    assert (await control.get("/nodes")).json()[1] == {
        "id": 2,
        "port": 9093,
        "running": True,
        "partitions": 2,
        "groups": 0,
    }


async def test_node_is_stopped(control: httpx.AsyncClient, broker: Broker) -> None:
    ada = broker.client(1)
    assert (await control.post("/nodes/2/stop")).json()["running"] is False
    assert ada.closed
    assert [entry["partitions"] for entry in (await control.get("/nodes")).json()] == [1, 0, 3]
    again = await control.post("/nodes/2/stop")
    assert (again.status_code, again.json()) == (422, {"detail": "node 2 is stopped already"})


@pytest.mark.plain("it replaces a method of an object whose class may be compiled")
async def test_node_is_started(control: httpx.AsyncClient, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = await control.post("/nodes/2/start")
    assert (runs.status_code, runs.json()) == (422, {"detail": "node 2 runs already"})
    broker.server.stop_node(broker.cluster.nodes[1])

    async def taken(node: object) -> None:
        raise ListenError("its port is in use")

    monkeypatch.setattr(broker.server, "start_node", taken)
    refused = await control.post("/nodes/2/start")
    assert (refused.status_code, refused.json()) == (422, {"detail": "node 2 cannot start: its port is in use"})


async def test_leaders_are_listed(control: httpx.AsyncClient, broker: Broker) -> None:
    assert len((await control.get("/leaders")).json()) == 5
    broker.server.stop_node(broker.cluster.nodes[2])
    (first, second) = (await control.get("/leaders", params={"topic": "orders"})).json()
    assert first == {
        "topic": "orders",
        "partition": 0,
        "leader": 2,
        "leader_epoch": 0,
        "replicas": [2],
        "in_sync": [2],
    }
    assert (second["leader"], second["leader_epoch"], second["replicas"]) == (None, 1, [3])


async def test_leader_is_moved(control: httpx.AsyncClient, broker: Broker) -> None:
    moved = (await control.post("/leaders/__consumer_offsets/0", json={"node": 3})).json()
    assert (moved["leader"], moved["leader_epoch"], moved["replicas"]) == (3, 1, [3, 1, 2])
    assert 0 in broker.cluster.nodes[2].coordinator.shards


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("/leaders/nowhere/0", {"node": 1}, 404, "topic nowhere does not exist"),
        ("/leaders/orders/2", {"node": 1}, 404, "orders has no partition 2; it has 2 partitions"),
        ("/leaders/orders/0", {"node": 7}, 404, "unknown node 7; the nodes are 1, 2, 3"),
        ("/leaders/orders/0", {}, 422, "node: Field required"),
        ("/leaders/orders/first", {"node": 1}, 422, "partition: Input should be a valid integer"),
        ("/nodes/7/stop", None, 404, "unknown node 7; the nodes are 1, 2, 3"),
        ("/nodes/7/start", None, 404, "unknown node 7; the nodes are 1, 2, 3"),
    ],
)
async def test_refusals_are_sentences(
    control: httpx.AsyncClient, path: str, body: object, status: int, detail: str
) -> None:
    answer = await control.post(path, json=body)
    assert answer.status_code == status
    assert answer.json()["detail"].startswith(detail)


async def test_our_own_mistakes_are_no_refusals(
    control: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, lines: StringIO
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(nodes_routes, "_state", fails)
    answer = await control.get("/nodes")
    assert (answer.status_code, answer.json()["detail"]) == (500, "internal error; see kohort's log")
    assert "control: GET /nodes failed" in lines.getvalue()


async def test_requests_require_token(broker: Broker, lines: StringIO) -> None:
    transport = httpx.ASGITransport(make_app(broker.server, "s3cret"))
    async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
        for shown in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "s3cret"}):
            assert (await client.post("/nodes/1/stop", headers=shown)).status_code == 401
        assert (await client.get("/nodes", headers={"Authorization": "Bearer s3cret"})).status_code == 200
    assert "s3cret" not in lines.getvalue()
    assert broker.cluster.nodes[0].running


async def test_openapi_document_lists_every_path(control: httpx.AsyncClient) -> None:
    paths = (await control.get("/openapi.json")).json()["paths"]
    subjects = {
        "nodes", "leaders", "clock", "faults", "appends", "gates", "groups", "violations", "events", "metrics",
        "overview", "reset", "topics", "acls", "share-groups", "streams-groups",
    }  # fmt: skip
    assert {path.split("/")[1] for path in paths} == subjects


async def test_metrics_are_read(control: httpx.AsyncClient) -> None:
    answer = await control.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert 'kafka_coordinator_group_num_partitions{node="3",state="active"} 1.0\n' in answer.text
    assert (await control.get("/metrics")).text == answer.text
