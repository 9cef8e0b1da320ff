"""The page's files, and the endpoints that only the page uses."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from kohort.control.http.app import make_app
from tests.control.talking import Lab

NAMES = re.compile(r"""(?:from '\./|(?:src|href)="page/)([a-z]+\.[a-z]+)['"]""")


@pytest.fixture
async def http(lab: Lab) -> AsyncIterator[httpx.AsyncClient]:
    lab.laboratory.record()
    app = make_app(lab.stage.server, "s3cret", laboratory=lab.laboratory)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:9099") as client:
        yield client


async def test_page_files_are_complete(http: httpx.AsyncClient) -> None:
    page = await http.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    found: set[str] = set(NAMES.findall(page.text))
    looked_at: set[str] = set()
    while found - looked_at:
        name = min(found - looked_at)
        looked_at.add(name)
        part = await http.get(f"/page/{name}")
        assert part.status_code == 200, name
        assert part.headers["content-type"].startswith(
            {"css": "text/css", "js": "text/javascript"}[name[-3:].strip(".")]
        )
        found |= set(NAMES.findall(part.text))
    assert {"page.css", "main.js", "model.js"} <= looked_at


async def test_it_takes_nothing_from_elsewhere(http: httpx.AsyncClient) -> None:
    page = await http.get("/")
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
    assert page.headers["x-frame-options"] == "DENY"
    assert "http:" not in page.text
    assert "https:" not in page.text


async def test_page_needs_no_token(http: httpx.AsyncClient) -> None:
    assert (await http.get("/")).status_code == 200
    assert (await http.get("/page/main.js")).status_code == 200
    for path in ("/overview/groups", "/overview", "/events", "/gates", "/faults", "/page/../overview"):
        assert (await http.get(path)).status_code == 401, path
    admitted = await http.get("/overview/groups", headers={"Authorization": "Bearer s3cret"})
    assert (admitted.status_code, admitted.json()) == (200, [])


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}], ids=["rebound name", "other page"]
)
async def test_rejected_client_gets_no_page(http: httpx.AsyncClient, headers: dict[str, str]) -> None:
    assert (await http.get("/", headers=headers)).status_code == 403


@pytest.mark.parametrize("name", ["nope.js", "__init__.py", "..%2Fapp.py", "%2Fetc%2Fpasswd", "main.js%00"])
async def test_other_files_are_not_served(http: httpx.AsyncClient, name: str) -> None:
    assert (await http.get(f"/page/{name}", headers={"Authorization": "Bearer s3cret"})).status_code == 404


async def test_document_covers_only_endpoints(http: httpx.AsyncClient) -> None:
    document = await http.get("/openapi.json", headers={"Authorization": "Bearer s3cret"})
    assert "/overview/groups" in document.json()["paths"]
    assert not [path for path in document.json()["paths"] if path == "/" or path.startswith("/page")]


async def test_groups_are_listed_with_summary(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("""
        given ada, bob share a stable group
        ada LeaveGroup v3 {}
          <- NONE {}
        """)
    listed = await http.get("/overview/groups", headers={"Authorization": "Bearer s3cret"})
    name = lab.name("group")
    assert listed.json() == [
        {"id": name, "type": "classic", "state": "PreparingRebalance", "generation": 2, "members": 1}
    ]


async def test_recent_rebalances_can_be_requested(http: httpx.AsyncClient, lab: Lab) -> None:
    lab.talk("""
        given ada, bob share a stable group
        ada LeaveGroup v3 {}
          <- NONE {}
        """)
    path, headers = f"/groups/{lab.name('group')}/history", {"Authorization": "Bearer s3cret"}
    everything = (await http.get(path, headers=headers)).json()
    assert len(everything) > 1
    assert (await http.get(path, headers=headers, params={"last": 1})).json() == everything[-1:]
    assert (await http.get(path, headers=headers, params={"last": 0})).status_code == 422


async def test_page_names_served_paths(http: httpx.AsyncClient) -> None:
    offers = (await http.get("/page/offers.js")).text
    assert {"/clock/advance", "/clock/pause", "/leaders/{topic}/{partition}"} <= set(re.findall('"([^"]+)"', offers))
