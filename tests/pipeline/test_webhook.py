"""Alerts reach an address once, together, and in spite of an address that fails for a while."""

from __future__ import annotations

import json
import threading
import urllib.error
from email.message import Message as Headers
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from kohort.pipeline.live import webhook
from kohort.pipeline.live.webhook import MOST_WAITING, SAME_S, TRIES, Message, Webhook, checked_address


class World:
    """An address that fails a set number of times, and a clock."""

    def __init__(self, *failures: OSError) -> None:
        self.failures, self.now = list(failures), 0.0
        self.bodies: list[dict[str, object]] = []
        self.said: list[str] = []
        self.slept: list[float] = []
        self.hook = Webhook("http://h/", self.said.append, self.post, self.slept.append, lambda: self.now)

    def post(self, _: str, body: bytes) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.bodies.append(json.loads(body))

    def alert(self, text: str = "no commits for 31 s", group: str = "orders") -> None:
        self.hook.add(Message(group, 1, "silent", "warning", text))


def refused(code: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("http://h/", code, "no", Headers(), None)


def test_simultaneous_alerts_are_sent_together() -> None:
    world = World()
    world.alert()
    world.alert(group="payments")
    world.hook.send_waiting()
    (body,) = world.bodies
    assert body["text"] == "[warning] orders: no commits for 31 s\n[warning] payments: no commits for 31 s"
    assert isinstance(body["alerts"], list)
    assert [alert["group"] for alert in body["alerts"]] == ["orders", "payments"]


def test_failing_address_is_retried_with_backoff() -> None:
    world = World(ConnectionRefusedError("refused"), refused(503), refused(429))
    world.alert()
    world.hook.send_waiting()
    assert len(world.bodies) == 1
    assert world.slept == [1, 2, 4]
    assert world.said == []


def test_retries_end_with_warning() -> None:
    world = World(*[ConnectionRefusedError("refused")] * TRIES)
    world.alert()
    world.hook.send_waiting()
    assert world.said == ["--webhook http://h/: 1 alerts were not sent: refused"]
    world.alert("again")
    world.hook.send_waiting()
    assert len(world.bodies) == 1


def test_rejection_is_not_retried() -> None:
    world = World(refused(404))
    world.alert()
    world.hook.send_waiting()
    assert (world.bodies, world.slept) == ([], [])
    assert "404" in world.said[0]


def test_repeated_alert_is_not_sent() -> None:
    world = World()
    for _ in range(9):
        world.alert()
    world.now = SAME_S + 1
    world.alert()
    world.hook.send_waiting()
    assert [len(body["alerts"]) for body in world.bodies if isinstance(body["alerts"], list)] == [2]


def test_alert_storm_is_cut() -> None:
    world = World()
    for number in range(MOST_WAITING + 7):
        world.alert(str(number))
    world.hook.send_waiting()
    assert world.said == ["--webhook http://h/: 7 alerts were not sent: too many were waiting"]


def test_over_a_real_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "GATHER_S", 0.01)
    got: list[bytes] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        said: list[str] = []
        with Webhook(f"http://127.0.0.1:{server.server_port}/x", said.append) as hook:
            hook.add(Message("заказы", 1, "silent", "warning", "nothing"))
        server.shutdown()
        thread.join()
    assert said == []
    assert json.loads(got[0])["alerts"][0]["group"] == "заказы"


@pytest.mark.parametrize("url", ["", "host/path", "ftp://host/", "http://"])
def test_invalid_address(url: str) -> None:
    with pytest.raises(ValueError, match="not a webhook address"):
        checked_address(url)
