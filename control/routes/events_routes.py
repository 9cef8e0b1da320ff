"""Group events as they happen, as server-sent events; their data are the lines of the event log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from kohort.broker.cluster.event_log import line_of
from kohort.broker.cluster.group_events import Recorded
from kohort.control.endpoint_context import TheLaboratory

router = APIRouter(prefix="/events", tags=["events"])

WAITING_EVENTS = 10_000
"""A reader that is so far behind is hung up on."""
SIGN_OF_LIFE_S = 15.0


@router.get(
    "",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream(laboratory: TheLaboratory, group: str | None = None, past: bool = False) -> StreamingResponse:
    """Every event from now on, of one group or of all; with `past` what was recorded comes first."""
    queue: asyncio.Queue[Recorded] = asyncio.Queue(WAITING_EVENTS)
    full = asyncio.Event()

    def hear(recorded: Recorded) -> None:
        if group is None or recorded.event.group_id == group:
            try:
                queue.put_nowait(recorded)
            except asyncio.QueueFull:
                full.set()

    recorder = laboratory.recorder
    before = [each for each in recorder if past and (group is None or each.event.group_id == group)]
    leave = recorder.listen(hear)

    async def stream() -> AsyncIterator[bytes]:
        try:
            for recorded in before:
                yield _message(recorded)
            while not full.is_set():
                try:
                    yield _message(await asyncio.wait_for(queue.get(), SIGN_OF_LIFE_S))
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            leave()

    return StreamingResponse(stream(), media_type="text/event-stream")


def _message(recorded: Recorded) -> bytes:
    return b"event: %b\nid: %b\ndata: %b\n\n" % (
        recorded.event.kind.encode(),
        recorded.event_id.encode(),
        line_of(recorded).rstrip(b"\n"),
    )
