"""`kohort watch` at a control address."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from kohort.cli.watch.client import BrokerError
from kohort.cli.watch.controlled import Controlled, _snapshot
from kohort.cli.watch.snapshot import SeenShare, Snapshot
from kohort.control.http.app import make_app
from kohort.groups.explanation import Wait
from kohort.groups.group_members import by_topic
from tests.clients.serving import serving
from tests.control.sharing_lab import SharingLab
from tests.control.talking import Lab

WATCH = [str(Path(sys.executable).parent / "kohort"), "watch"]


@pytest.fixture
def lab() -> Iterator[Lab]:
    """One broker."""
    made = Lab()
    made.laboratory.record()
    yield made
    made.stage.close()


async def seen(lab: Lab, groups: str = "*") -> Snapshot:
    """What a look shows, but for the socket."""
    app = make_app(lab.stage.server, laboratory=lab.laboratory)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        return _snapshot((await client.get("/overview", params={"groups": groups})).json(), 7.0)


async def test_timers_causes_lags_and_owners(lab: Lab) -> None:
    lab.talk("""
        given topic $topic with 1 partitions
        given ada, bob share a stable group {session_timeout_ms: 10000, rebalance_timeout_ms: 60000}
        ada OffsetCommit v9 {generation_id: 2, offsets: {$topic: {0: 0}}}
          <- {topics: [...]}
        wait 3000 ms
        bob Heartbeat v4 {generation_id: 2}
          <- NONE
        eve joins
          <- nothing for 500 ms
        """)
    (group,) = (await seen(lab)).groups
    assert (group.group_id, group.state, group.coordinator) == (lab.name("group"), "PreparingRebalance", 1)
    assert group.lags == {(lab.name("topic"), 0): 0}
    (wait,) = group.waits
    assert wait == Wait(
        ("ada", "bob"), "to join (JoinGroup)", 59_500, "members that have not joined by then are removed"
    )
    assert group.is_complete
    assert [(str(each), each.session_ends_in_ms, each.waits_for) for each in group.members] == [
        ("ada", 6_500, ""),
        ("bob", 9_500, ""),
        ("eve", 299_500, "join"),
    ]
    last = group.rebalances[-1]
    assert (last.cause, last.actor, last.is_over, last.began_s_ago) == ("join new", "eve", False, 0.5)
    assert (await seen(lab, "other*")).groups == ()


async def test_active_faults_are_at_top(lab: Lab) -> None:
    lab.talk("given ada shares a stable group")
    lab.clock.pause()
    lab.faults.on("Heartbeat").drop()
    lab.gates.hold("sync-response")
    told = (await seen(lab)).laboratory
    assert told == ("clock 0.0 s, paused", "rule 1: Heartbeat: drop it", "gate sync-response: none")


@pytest.fixture
def web_server() -> Iterator[str]:
    """One that is not kohort's."""

    class Refusing(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_another_web_server_is_recognised(web_server: str) -> None:
    with pytest.raises(BrokerError, match=f"{web_server} is not a control address of kohort"):
        await Controlled(f"http://{web_server}").look(0)


async def test_nobody_there_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(BrokerError, match=f"{address} does not respond"):
        await Controlled(address).look(0)


@pytest.mark.clients
@pytest.mark.timeout(180)
def test_control_address_is_recognized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOHORT_CONTROL_TOKEN", "s3cret")
    with serving(options=("--control", ":0")) as ready:
        control = ready.partition(" control=")[2]
        for address in (control, f"http://{control}"):
            told = subprocess.run([*WATCH, address, "--once"], capture_output=True, text=True, check=False)
            assert (told.returncode, told.stderr) == (0, "")
            assert f"kohort watch {address}  1 broker, 0 groups" in told.stdout
            assert "\nclock " in told.stdout
        monkeypatch.delenv("KOHORT_CONTROL_TOKEN")
        told = subprocess.run([*WATCH, control, "--once"], capture_output=True, text=True, check=False)
        assert told.returncode == 1
        assert told.stderr.endswith("set it with --token or KOHORT_CONTROL_TOKEN\n")


def overview(**other: Any) -> dict[str, Any]:
    """What a control address tells of a group, but for what a test changes."""
    member = {
        "member_id": "a-1", "client_id": "a", "client_host": "h", "instance_id": None, "partitions": {"orders": [0]},
        "session_ends_in_ms": 1, "is_alive": True, "waits_for": "", "speaks": "classic", "epoch": 1,
        "target": {"orders": [0]}, "revoking": {},
    }  # fmt: skip
    rebalance = {
        "number": 1, "generation": 1, "cause": "join_new", "actor": "", "outcome": "completed", "prepare_ms": 1.5,
        "laggard": "", "began_ms_ago": 1,
    }  # fmt: skip
    group = {
        "id": "g", "type": "classic", "state": "Stable", "generation": 1, "assignment_epoch": 1, "coordinator": 1,
        "protocol": "range", "members": [member],
        "lags": {"orders": {"0": 1}}, "waits": [], "rebalances": [rebalance],
    }  # fmt: skip
    for each in (member, rebalance, group):
        each.update({name: value for name, value in other.items() if name in each})
    whole = {"now_ms": 1, "paused": False, "scale": 1, "brokers": 1, "groups": [group], "rules": [], "gates": []}
    return whole | {name: value for name, value in other.items() if name in whole}


async def test_share_group_shows_locks_and_expiry() -> None:
    lab = SharingLab()
    lab.produce("a b c")
    lab.talk("""
        ada ShareFetch v2 {epoch: 0, max_records: 2, share_acquire_mode: 1, from: {$topic: [0]}}
          <- NONE
        """)
    (group,) = (await seen(lab)).groups
    assert (group.type, group.epoch, group.lags) == ("share", 3, {(lab.topic, 0): 3})
    assert group.shares == (SeenShare((lab.topic, 0), 0, 3, 2),)
    assert group.is_complete
    assert [(str(each), each.owned, each.target) for each in group.members] == [
        ("ada", ((lab.topic, 0),), {lab.topic: (0,)})
    ]
    assert [(wait.for_whom, wait.ends_in_ms) for wait in group.waits] == [(("ada",), 2_000)]
    lab.stage.close()


async def test_consumer_group_shows_epochs_and_revocations(lab: Lab) -> None:
    lab.talk("""
        given topic $topic with 2 partitions
        given ada shares a consumer group {topics: [$topic]}
        wait 1000 ms
        bob beats {topics: [$topic]}
          <- NONE {member_epoch: 3}
        ada beats
          <- NONE
        """)
    (group,) = (await seen(lab)).groups
    assert (group.type, group.state, group.epoch, group.target_epoch) == ("consumer", "Reconciling", 3, 3)
    assert group.is_complete
    ada, bob = group.members
    assert (ada.epoch, bob.epoch, ada.speaks, bob.waits_for) == (2, 3, "consumer", "partitions")
    assert str(group.rebalances[-1]).startswith("epoch 3: join new (bob)")
    assert ada.revoking == by_topic(bob.missing)
    assert [wait.for_whom for wait in group.waits] == [("ada",)]
    assert (group.rebalances[-1].cause, group.rebalances[-1].laggard) == ("join new", "ada")


async def test_overview_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Controlled, "_ask", lambda self, path: overview())
    assert (await Controlled("127.0.0.1:1").look(0)).groups[0].lags == {("orders", 0): 1}


@pytest.mark.parametrize(
    "other",
    [
        {"groups": 5},
        {"groups": [[]]},
        {"now_ms": 10**400},
        {"brokers": "one"},
        {"members": None},
        {"members": ["a"]},
        {"session_ends_in_ms": "soon"},
        {"partitions": {"orders": ["0"]}},
        {"lags": {"orders": {"0": None}}},
        {"prepare_ms": "long"},
        {"began_ms_ago": [1]},
        {"id": {"a": 1}},
        {"type": "consumer", "assignment_epoch": "1"},
        {"type": "consumer", "target": {"orders": ["0"]}},
        {"rules": [5]},
    ],
    ids=str,
)
async def test_unknown_overview_shape_is_reported(other: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Controlled, "_ask", lambda self, path: overview(**other))
    with pytest.raises(BrokerError, match="is not a control address of kohort"):
        await Controlled("127.0.0.1:1").look(0)
