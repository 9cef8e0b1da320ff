"""The page in a real browser, with a real broker and a real consumer."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from confluent_kafka import ShareConsumer

from tests.clients.polling import polling
from tests.clients.serving import serving
from tests.support.chromium_tab import Tab, tab

pytestmark = [
    pytest.mark.clients,  # slow, like all that is spoken with over sockets
    pytest.mark.needs("chromium"),
    pytest.mark.timeout(180),
]
PHONE, SCREEN = 390, 1400
HOSTILE = "<img src=x onerror=alert(1)>\u202egroup\x1b[2J"


@pytest.fixture(scope="module")
def browser() -> Iterator[Tab]:
    with tab() as found:
        yield found


@contextmanager
def broker(*options: str, control: str = ":0") -> Iterator[tuple[str, str]]:
    """Yield a bootstrap address and a control address."""
    with serving(options=("--control", control, *options)) as ready:
        bootstrap, _, address = ready.partition(" control=")
        yield bootstrap, f"http://{address.split()[0]}"


def shows(words: str, part: str = "body") -> str:
    return f"document.querySelector({json.dumps(part)})?.innerText.includes({json.dumps(words)})"


def click(words: str) -> str:
    """Return a script that clicks the first button with this text."""
    return (
        f"[...document.querySelectorAll('button')].find(each => each.innerText.includes({json.dumps(words)})).click()"
    )


def test_group_from_first_join_to_gate(browser: Tab) -> None:
    with broker() as (bootstrap, control), httpx.Client(base_url=control) as http:
        http.post("/topics", json={"name": "orders", "partitions": 4}).raise_for_status()
        browser.open(control, SCREEN)
        browser.until(shows("0 groups", "#count"))
        with polling(bootstrap, "billing", "ada"):
            browser.until(shows("billing", "#groups"))
            browser.ask("document.querySelector('#groups button').focus()")
            browser.press("Enter")
            browser.until(shows("orders 0-3", "#group"))
            browser.until(shows("Stable", "#group"))
            assert browser.ask("document.title") == "billing - kohort"
            browser.until("document.querySelectorAll('#owners rect.c0').length == 4")
            # ada cannot join again, and the page shows the member that the group waits for.
            http.post("/faults", json={"match": {"api": "JoinGroup", "client_id": "ada"}, "do": "hold"})
            with polling(bootstrap, "billing", "bob"):
                browser.until(shows("1 of 2 members have joined", "#group"))
                browser.until(shows("Waits for ada to join (JoinGroup)", "#group"))
                browser.until(shows("join new (open)", "#rebalances"))
                browser.until(shows("member added bob (join new)", "#events"))
                browser.until(shows("JoinGroup with client_id ada: hold it", "#faults"))
                browser.ask(click("Remove all rules"))
                browser.until(shows("No active rules", "#faults"))
                browser.until("document.querySelectorAll('#owners rect.c1').length == 2")
        assert browser.problems == []


def test_share_group_shows_locks_and_lag(browser: Tab) -> None:
    with broker() as (bootstrap, control), httpx.Client(base_url=control) as http:
        http.post("/topics", json={"name": "orders", "partitions": 1}).raise_for_status()
        http.post("/topics/orders/records", json={"values": ["a", "b"]}).raise_for_status()
        earliest = {"configs": {"share.auto.offset.reset": "earliest"}}
        http.put("/share-groups/queue/configs", json=earliest).raise_for_status()
        ada = ShareConsumer({"bootstrap.servers": bootstrap, "group.id": "queue", "client.id": "ada"})
        ada.subscribe(["orders"])
        while not ada.poll(timeout=0.1):
            pass
        browser.open(f"{control}/#group=queue", SCREEN)
        browser.until(shows("share group, epoch", "#group"))
        browser.until(shows("Waits for ada to acknowledge orders-0 0-1", "#group"))
        browser.until(shows("state of the share partitions", "#group"))
        found = browser.ask("[...document.querySelectorAll('#group tbody:last-of-type tr')].at(-1).innerText")
        assert found.split("\t") == ["orders 0", "0", "2", "0", "2", "node 1", "ada"]
        browser.until(shows("records acquired ada orders-0 0-1", "#events"))
        ada.close()
        assert browser.problems == []


def test_page_opens_with_past_events(browser: Tab) -> None:
    with broker() as (bootstrap, control), httpx.Client(base_url=control) as http:
        http.post("/topics", json={"name": "orders", "partitions": 4}).raise_for_status()
        with polling(bootstrap, "calm", "eve"), polling(bootstrap, "billing", "ada"):
            for group in ("calm", "billing"):
                http.get(f"/groups/{group}/wait", params={"members": 1, "timeout": 60}).raise_for_status()
            http.post("/faults", json={"match": {"api": "JoinGroup", "client_id": "ada"}, "do": "hold"})
            with polling(bootstrap, "billing", "bob"):
                http.get("/groups/billing/wait", params={"state": "PreparingRebalance"}).raise_for_status()
                browser.open(control, SCREEN)
                browser.until(shows("Waits for ada to join (JoinGroup)", "#group"))  # the page opens it by itself
                browser.until(shows("member added ada", "#events"))
                rows = "[...document.querySelectorAll('#glance tbody tr')].map(each => each.innerText.split(/\\s+/)[0])"
                browser.until(f"{rows}.join() === 'billing,calm'")
                assert browser.ask(shows("ada", "#glance"))
                assert browser.ask("document.querySelectorAll('#glance rect.moving').length") == 1
                browser.ask("[...document.querySelectorAll('#glance button')].at(-1).click()")
                browser.until("document.title === 'calm - kohort'")
                browser.until(shows("eve", "#group"))
                http.post("/reset").raise_for_status()
        assert browser.problems == []


def test_clock_and_gate_buttons(browser: Tab) -> None:
    with broker() as (bootstrap, control), httpx.Client(base_url=control) as http:
        http.post("/topics", json={"name": "orders", "partitions": 1}).raise_for_status()
        browser.open(control, SCREEN)
        browser.until(shows("No gate is closed", "#gates"))
        browser.ask(click("Pause"))
        browser.until(shows("Paused", "#clock"))
        assert http.get("/clock").json()["paused"] is True
        before_ms = http.get("/clock").json()["now_ms"]
        browser.ask(click("Advance by"))
        browser.until(shows("Paused", "#clock"))
        browser.until(f"fetch('clock').then(it => it.json()).then(it => it.now_ms === {before_ms + 10_000})")
        browser.ask(click("Resume"))
        browser.until(shows("Running", "#clock"))
        browser.ask("document.querySelector('#gates select').value = 'sync-received'")
        browser.ask(click("Hold"))
        with polling(bootstrap, "billing", "ada"):
            browser.until(shows("Release", "#gates"))
            browser.ask(click("Release"))
            browser.until(shows("no waiting requests", "#gates"))
            assert browser.ask("document.activeElement.tagName") in ("BODY", "BUTTON")
            browser.ask(click("Open"))
            browser.until(shows("No gate is closed", "#gates"))
        assert browser.problems == []


def test_errors_are_shown(browser: Tab) -> None:
    with broker() as (_, control):
        browser.open(control, SCREEN)
        browser.until(shows("No active rules", "#faults"))
        browser.ask("document.querySelector('#faults [name=api]').value = 'Hartbeat'")
        browser.ask(click("Add rule"))
        browser.until(shows("did you mean Heartbeat?", "#refused"))
    assert browser.problems == []


def test_names_of_others_are_text(browser: Tab) -> None:
    with broker() as (bootstrap, control), httpx.Client(base_url=control) as http:
        http.post("/topics", json={"name": "orders", "partitions": 1}).raise_for_status()
        browser.open(control, SCREEN)
        with polling(bootstrap, HOSTILE, HOSTILE):
            browser.until(shows("<img src=x onerror=alert(1)>\\u202egroup\\u001b[2J", "#groups"))
            browser.ask("document.querySelector('#groups button').click()")
            browser.until(shows("orders 0", "#group"))
            assert browser.ask("document.querySelectorAll('img').length") == 0
        assert browser.problems == []


def test_token_from_prompt_or_address(browser: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOHORT_CONTROL_TOKEN", "s3cret")
    with broker() as (_, control):
        browser.open(control, SCREEN)
        browser.until("!document.getElementById('login').hidden")
        assert browser.ask("document.getElementById('cluster-view').hidden") is True
        browser.ask("document.querySelector('#login input').value = 'wrong'")
        browser.ask(click("Show the cluster"))
        browser.until(shows("missing or wrong control token", "#refused"))
        browser.ask("document.querySelector('#login input').value = 's3cret'")
        browser.ask(click("Show the cluster"))
        browser.until(shows("0 groups", "#count"))
        browser.ask("sessionStorage.clear()")
        browser.open("about:blank")
        browser.open(f"{control}/#token=s3cret", SCREEN)
        browser.until(shows("0 groups", "#count"))
        assert "s3cret" not in browser.ask("location.href")
    assert browser.problems == []


@contextmanager
def kept_port() -> Iterator[int]:
    """Return a port that no other process receives while its broker is stopped, not even as a client port."""
    with socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind(("127.0.0.1", 0))
        yield keeper.getsockname()[1]


def test_it_stays_open_over_a_restart(browser: Tab) -> None:
    with kept_port() as port:
        address = f"127.0.0.1:{port}"
        with broker(control=address) as (bootstrap, control), httpx.Client(base_url=control) as http:
            http.post("/topics", json={"name": "orders", "partitions": 1}).raise_for_status()
            browser.open(control, SCREEN)
            with polling(bootstrap, "billing", "ada"):
                browser.until(shows("billing", "#groups"))
        browser.until(shows("No response since", "#connection"))
        assert browser.ask(shows("billing", "#groups"))
        with broker(control=address):
            browser.until(shows("0 groups", "#count"))
            assert browser.ask("document.getElementById('connection').innerText") == ""
        assert browser.problems == []


@pytest.mark.parametrize("width", [PHONE, SCREEN])
def test_nothing_sticks_out(browser: Tab, width: int) -> None:
    with broker() as (_, control):
        browser.open(control, width)
        browser.until(shows("No active rules", "#faults"))
        assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
        names = browser.ask(
            "[...document.querySelectorAll('button, input:not([type=hidden]), select')]"
            ".filter(each => each.offsetParent).map(each => each.innerText || each.labels?.[0]?.innerText || '')"
        )
        assert len(names) > 10
        assert all(names), "each control has a name"
        assert browser.problems == []


def test_model_calculations(browser: Tab) -> None:
    with broker() as (_, control):
        browser.open(control, SCREEN)
        browser.until(shows("No active rules", "#faults"))

        def model(expression: str) -> Any:
            return browser.ask(f"import('/page/model.js').then(m => {expression})")

        assert model("m.ranges([3, 0, 1, 2, 7])") == "0-3, 7"
        assert model("m.exactly('a*b?c[d]')") == "a[*]b[?]c[[]d]"
        assert model("[0, 999, 1000, 59_999, 61_000, 3_700_000].map(m.duration)") == [
            "0 ms", "999 ms", "1.0 s", "60.0 s", "1 min 1 s", "1 h 1 min",
        ]  # fmt: skip
        assert model("m.remaining(10_000, {paused: false, scale: 2}, 1_000)") == 8_000
        assert model("m.remaining(10_000, {paused: true, scale: 2}, 1_000)") == 10_000
        groups = "[{id: 'b', state: 'Stable'}, {id: 'a', state: 'Empty'}, {id: 'z', state: 'Reconciling'}]"
        assert model(f"m.listed({groups}).map(each => each.id)") == ["z", "a", "b"]
        spans = model(
            """{
            const has = (...owned) => ({state: 'Stable', members: owned.map(([client_id, numbers]) =>
                ({client_id, partitions: {t: numbers}, revoking: {}}))})
            const seen = new m.Ownership(1_000)
            seen.note(0, has(['ada', [0, 1]]))
            seen.note(100, has(['ada', [0]], ['bob', [1]]))
            seen.note(200, has(['ada', [0]]))
            return seen.rows().map(([key, spans]) => [key, ...spans.map(each => each.owner)])
        }""".replace("{\n", "(() => {\n", 1)
            + ")()"
        )
        assert spans == [["t-0", "ada"], ["t-1", "ada", "bob"]]
        begun = model("""{
            const seen = new m.Ownership(1_000)
            for (const [now, state] of [[0, 'Stable'], [5_000, 'Empty'], [10, 'Stable']])
                seen.note(now, {state, members: []})
            return [seen.beganMs, seen.states.length]
        }""")
        assert begun == [10, 1], "a clock that goes back is another broker's"


def test_topics_records_and_offsets(browser: Tab) -> None:
    options = ("--topic", "orders:6", "--topic", "audit:1:cleanup.policy=compact")
    with broker(*options) as (_, control), httpx.Client(base_url=control) as http:
        http.put("/groups/reports/offsets", json={"offsets": {"orders-0": 0}}).raise_for_status()
        browser.open(f"{control}/#group=reports", PHONE)
        browser.until(shows("audit", "#topics"))
        assert browser.ask("document.documentElement.scrollWidth") == PHONE
        browser.ask(click("audit"))
        browser.until(shows("cleanup.policy=compact", "#topic"))
        browser.ask(click("orders"))
        browser.until(shows("Topic orders", "#topic"))
        fill = "document.querySelector('#topic-forms [name={}]').value = {}"
        browser.ask(fill.format("value", json.dumps('{"id": [1, 2]}')))
        browser.ask(fill.format("headers", json.dumps('{"trace": "7"}')))
        browser.ask(click("Append record"))
        browser.until("document.querySelector('#topics').innerText.match(/6\\s+1\\s/)")
        browser.ask(click("Show records"))
        browser.until(shows('"id": [\n    1,', "#records"))
        assert browser.ask(shows("trace: 7", "#records"))
        http.post("/topics/orders/records", json={"values": ["late"], "key": "k", "timestamp_ms": 4_000_000_000_000})
        browser.ask(fill.format("since", json.dumps("2090-01-01T00:00")))
        browser.ask(click("Show records"))
        browser.until(shows("late", "#records"))
        assert not browser.ask(shows('"id"', "#records"))
        browser.ask(fill.format("key", json.dumps("z")))
        browser.ask(click("Show records"))
        browser.until(shows("0 records", "#records"))
        assert browser.ask("document.documentElement.scrollWidth") == PHONE
        browser.until(shows("Reset offsets", "#offsets"))
        browser.until("document.querySelector('#offsets').innerText.match(/2 records to read, the oldest from .* ago/)")
        browser.ask("document.querySelector('#offsets [name=where]').value = 'latest'")
        browser.ask(click("Reset offsets"))
        browser.until("document.querySelector('#offsets').innerText.match(/2\\s+0\\s/)")
        assert http.get("/groups/reports").json()["offsets"]["orders-0"] == 2


def test_bad_headers_are_explained(browser: Tab) -> None:
    with broker("--topic", "orders:1") as (_, control):
        browser.open(control, SCREEN)
        browser.until(shows("orders", "#topics"))
        browser.ask(click("orders"))
        browser.until(shows("Topic orders", "#topic"))
        browser.ask("document.querySelector('#topic-forms [name=headers]').value = 'trace=7'")
        browser.ask(click("Append record"))
        browser.until(shows("headers must be a JSON object", "#refused"))
