"""Access to the control address: host names, origins of pages, and tokens."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from fastapi import Request

from kohort.base.control_token import TokenError, checked, headers, is_shown
from kohort.broker.runtime.server import ListenError
from kohort.control.http.admission import Admission
from kohort.control.http.app import make_app
from kohort.control.http.listening import Control
from tests.support.broker import Broker

ROOT = Path(__file__).parent.parent.parent
HERE = "http://127.0.0.1:9099"


def client_of(
    broker: Broker, token: str = "", host: str = "127.0.0.1", names: tuple[str, ...] = ()
) -> httpx.AsyncClient:
    app = make_app(broker.server, token, host=host, names=names)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HERE)


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:9099",
        "127.0.0.1",
        "127.1.2.3:80",
        "localhost",
        "LocalHost.:9099",
        "[::1]:9099",
        "kohort:9099",
        "10.0.0.7:1",
    ],
)
async def test_its_own_names(broker: Broker, host: str) -> None:
    async with client_of(broker, host="10.0.0.7", names=("Kohort",)) as client:
        assert (await client.get("/nodes", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:9099",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.8",
        "",
        "[",
        "::",
        "[::2]:9099",
        "localhost:9/page/?",
        "127.0.0.1/page/?",
        "[::1]/page/?",
        "localhost:9099 ",
    ],
)
async def test_rebound_dns_name_is_rejected(broker: Broker, host: str) -> None:
    shown = {"Host": host, "Origin": f"http://{host}"}
    async with client_of(broker) as client:
        made = await client.post("/topics", json={"name": "theirs"}, headers=shown)
        stopped = await client.post("/nodes/1/stop", headers=shown)
        read = await client.get("/openapi.json", headers={"Host": host})
    assert [made.status_code, stopped.status_code, read.status_code] == [403, 403, 403]
    assert made.json()["detail"].endswith(
        "not a name of this control address; add a name with kohort serve --control-host NAME"
    )
    assert not list(broker.cluster.topics)
    assert broker.cluster.nodes[0].running


def asked(path: str, host: str) -> Request:
    """Return a request as the server passes it on, whatever the framework does with its Host."""
    headers = [(b"host", host.encode())]
    return Request(
        {"type": "http", "method": "POST", "scheme": "http", "path": path, "query_string": b"", "headers": headers}
    )


@pytest.mark.parametrize("host", ["localhost:9/page/?", "[::1]/page/?", "localhost/page/", "localhost"])
def test_host_header_cannot_skip_token(host: str) -> None:
    refusal = Admission("secret").refusal(asked("/nodes/2/stop", host))
    assert refusal is not None
    assert refusal.status_code in (401, 403)
    page = Admission("secret").refusal(asked("/page/app.js", "localhost"))
    assert page is None


def test_host_header_does_not_admit() -> None:
    for file in (ROOT / "control").rglob("*.py"):
        assert not re.search(r"request\.(url|base_url)\b(?!`)", file.read_text()), file


async def test_listening_everywhere_allows_addresses_only(broker: Broker) -> None:
    async with client_of(broker, host="0.0.0.0") as client:
        assert (await client.get("/nodes", headers={"Host": "192.168.7.9:9099"})).status_code == 200
        assert (await client.get("/nodes", headers={"Host": "evil.example"})).status_code == 403


@pytest.mark.parametrize(
    "shown",
    [
        {"Origin": "https://elsewhere"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://127.0.0.1:9098"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    ],
)
async def test_pages_of_other_sites_are_refused(broker: Broker, shown: dict[str, str]) -> None:
    async with client_of(broker) as client:
        refused = await client.get("/nodes", headers=shown)
        assert (refused.status_code, refused.json()["detail"]) == (
            403,
            "requests from pages of other sites are not allowed",
        )


async def test_own_page_and_followed_link(broker: Broker) -> None:
    async with client_of(broker) as client:
        for shown in ({"Origin": HERE}, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}):
            answered = await client.get("/nodes", headers=shown)
            assert (answered.status_code, answered.headers["X-Frame-Options"]) == (200, "DENY")


@pytest.mark.parametrize("token", ["s3cret", "schlüssel", "ключ", "a b", "?"])
def test_token_accepts_every_header_encoding(token: str) -> None:
    assert is_shown(token, headers(token)["Authorization"])
    assert is_shown(token, f"bearer  {token.encode().decode('latin-1')}")
    assert not is_shown(token, f"Bearer {token.encode().decode('latin-1')}x")
    assert not is_shown(token, f"Basic {token.encode().decode('latin-1')}")
    assert not is_shown(token, "Bearer ?") or token == "?"
    assert not is_shown(token, "Bearer")
    assert not is_shown(token, "")


async def test_umlaut_token_over_http(broker: Broker) -> None:
    async with client_of(broker, "schlüssel") as client:
        for shown in ("schlüssel".encode(), "schlüssel".encode("latin-1")):
            answered = await client.get("/nodes", headers={b"Authorization": b"Bearer " + shown})
            assert answered.status_code == 200
        assert (await client.get("/nodes", headers={b"Authorization": b"Bearer schl\xfcsse"})).status_code == 401


@pytest.mark.parametrize("token", ["s3cret\n", " s3cret", "s3\x00cret"])
def test_non_header_token_is_rejected_immediately(token: str) -> None:
    with pytest.raises(TokenError, match="an HTTP header can't carry"):
        checked(token)


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "192.0.2.1", "no.such.host.invalid"])
def test_no_token_allows_only_localhost(host: str) -> None:
    with pytest.raises(ListenError, match="could control this broker; set a token with KOHORT_CONTROL_TOKEN"):
        Control(host, 9099)
    Control(host, 9099, "s3cret")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.9.9.9"])
def test_this_machine_needs_none(host: str) -> None:
    Control(host, 9099)
