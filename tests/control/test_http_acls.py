"""ACLs over HTTP: a test in any language gives rights and takes them away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from kohort.control.http.app import make_app
from kohort.testing import Cluster
from tests.control.talking import Lab

ALICE_READS = {
    "permission": "allow",
    "principal": "User:alice",
    "operation": "READ",
    "resource_type": "topic",
    "resource_name": "orders",
    "prefixed": False,
    "host": "*",
    "text": "User:alice from *: ALLOW READ on TOPIC:LITERAL:orders",
}
BOB_NOTHING = "User:bob from ::1: DENY ALL on GROUP:PREFIXED:bill"


@pytest.fixture
async def kafka() -> AsyncIterator[Cluster]:
    async with Cluster(settings={"authorizer.class.name": STANDARD_AUTHORIZER}) as cluster:
        yield cluster


@pytest.fixture
async def http(kafka: Cluster) -> AsyncIterator[httpx.AsyncClient]:
    app = make_app(kafka.laboratory.server, laboratory=kafka.laboratory)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        yield client


async def add(http: httpx.AsyncClient) -> None:
    made = await http.post("/acls", json={"principal": "User:alice", "operation": "Read", "topic": "orders"})
    assert (made.status_code, made.json()) == (201, ALICE_READS)
    denied = {"permission": "deny", "principal": "User:bob", "group": "bill", "prefixed": True, "host": "::1"}
    assert (await http.post("/acls", json=denied)).json()["text"] == BOB_NOTHING


async def texts(http: httpx.AsyncClient) -> set[str]:
    return {entry["text"] for entry in (await http.get("/acls")).json()}


async def test_acls_last_until_reset(http: httpx.AsyncClient, kafka: Cluster) -> None:
    assert await texts(http) == set()
    await add(http)
    assert await texts(http) == {ALICE_READS["text"], BOB_NOTHING} == {str(acl) for acl in kafka.acls}
    assert (await http.post("/reset")).status_code == 200
    assert await texts(http) == set()


@pytest.mark.parametrize(
    "wanted",
    [
        {"principal": "User:bob"},
        {"permission": "deny"},
        {"operation": "All"},
        {"group": "bill"},
        {"group": "bill", "prefixed": True},
        {"prefixed": True},
        {"host": "::1"},
    ],
)
async def test_named_acls_are_removed(http: httpx.AsyncClient, wanted: dict[str, Any]) -> None:
    await add(http)
    gone = await http.delete("/acls", params=wanted)
    assert [entry["text"] for entry in gone.json()] == [BOB_NOTHING]
    assert await texts(http) == {ALICE_READS["text"]}
    assert (await http.delete("/acls", params=wanted)).json() == []


async def test_name_is_taken_literally(http: httpx.AsyncClient) -> None:
    await add(http)
    for wanted in ("group=billing", "group=bill&prefixed=false", "topic=bill", "cluster=true"):
        assert (await http.delete(f"/acls?{wanted}")).json() == []
    assert len((await http.delete("/acls")).json()) == 2
    assert await texts(http) == set()


async def test_invalid_acl_is_explained(http: httpx.AsyncClient) -> None:
    await add(http)
    for wanted, sentence in (
        ({"permission": "alow"}, "unknown permission 'alow'; did you mean allow?"),
        ({"operation": "Raed"}, "unknown operation 'Raed'; did you mean Read?"),
        ({"topic": "a", "group": "b"}, "name one resource: a topic, a group, a transactional id or the cluster"),
        ({"topics": "a"}, "unknown query parameter 'topics'; did you mean topic?"),
    ):
        refused = await http.delete("/acls", params=wanted)
        assert (refused.status_code, refused.json()["detail"]) == (422, sentence)
    refused = await http.post("/acls", json={"principal": "User:alice"})
    assert (refused.status_code, refused.json()["detail"]) == (
        422,
        "name a resource: a topic, a group, a transactional id or the cluster",
    )
    refused = await http.post("/acls", json={"principal": "User:alice", "topic": "a", "permission": "denny"})
    assert refused.json()["detail"] == "unknown permission 'denny'; did you mean deny?"
    assert len(await texts(http)) == 2


async def test_cluster_without_authorizer_has_none(lab: Lab) -> None:
    transport = httpx.ASGITransport(make_app(lab.stage.server, laboratory=lab.laboratory), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        for method in ("GET", "DELETE"):
            refused = await http.request(method, "/acls")
            assert refused.status_code == 422
            assert refused.json()["detail"].startswith("the cluster has no authorizer; start it with the setting ")
