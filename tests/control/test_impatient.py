"""A client of the control address that begins a request has to finish it."""

from __future__ import annotations

import asyncio

import pytest
from fastapi import FastAPI, Request

from kohort.control.http import impatient
from kohort.control.http.listening import serve

HEAD = b"POST /echo HTTP/1.1\r\nHost: localhost\r\n"
WHOLE = HEAD + b"Content-Length: 2\r\n\r\nab"


def application() -> FastAPI:
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request) -> str:
        await request.body()
        return "heard"

    return app


@pytest.mark.parametrize(
    "half", [b"", b"POST /ec", HEAD, HEAD + b"Content-Length: 2\r\n\r\na", WHOLE + b"GET /"],
    ids=["nothing", "a line", "headers", "a body", "the second request"],
)  # fmt: skip
async def test_incomplete_request_is_disconnected(half: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(impatient, "REQUEST_S", 0.01)
    async with serve(application(), "127.0.0.1", 0) as where:
        reader, writer = await asyncio.open_connection(*where.split(":"))
        writer.write(half)
        heard = await reader.read(-1)
        writer.close()
    assert heard.count(b"heard") == half.count(WHOLE)


async def test_slow_complete_requests_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(impatient, "REQUEST_S", 30.0)
    started: list[object] = []
    hurry = impatient.ImpatientProtocol._start_timer

    def noted(self: impatient.ImpatientProtocol) -> None:
        started.append(self)
        hurry(self)

    monkeypatch.setattr(impatient.ImpatientProtocol, "_start_timer", noted)
    async with serve(application(), "127.0.0.1", 0) as where:
        reader, writer = await asyncio.open_connection(*where.split(":"))
        for _ in range(3):
            writer.write(WHOLE)
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"200 OK" in head
            assert await reader.readexactly(7) == b'"heard"'
            assert started[0]._timer is None  # type: ignore[attr-defined]
        writer.close()
    assert len(started) == 1, "a complete request has no time limit"
