"""Group events as they happen, as server-sent events; their data are the lines of the event log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import MISSING, fields
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import Field, create_model

from kohort.broker.cluster.effect_execution import CAUSES
from kohort.broker.cluster.event_log import line_of
from kohort.broker.cluster.group_events import Recorded
from kohort.control.control_errors import unknown
from kohort.control.documenting import one_of
from kohort.control.endpoint_context import TheLaboratory
from kohort.coordinator.events.group_event import KINDS, GroupEvent

router = APIRouter(prefix="/events", tags=["events"])

WAITING_EVENTS = 10_000
"""A reader that is so far behind is hung up on."""
EVENTS_AT_ONCE = 100
"""At most this many are written before others are served: a millisecond."""
SIGN_OF_LIFE_S = 15.0


_HINTS = get_type_hints(GroupEvent)
_WORDS = {"kind": one_of(KINDS), "cause": one_of(CAUSES)}
_NAMED_BY_THE_LOG: dict[str, Any] = {"v": int, "event_id": str, "seq": int, "boot_id": str, "node_id": int}
_COLUMNS: dict[str, Any] = {
    each.name: (
        _HINTS[each.name],
        Field(... if each.default is MISSING else None, json_schema_extra=_WORDS.get(each.name)),
    )
    for each in fields(GroupEvent)
}
EventRow: Any = create_model(
    "EventRow", __doc__="A row of the event log; what does not apply is left out.", **_NAMED_BY_THE_LOG, **_COLUMNS
)
"""Made of the columns of the event log, so that both say the same."""

STREAM = {
    "type": "string",
    "description": "server-sent events; the data of each is one row",
    "contentMediaType": "application/json",
    "contentSchema": {"$ref": "#/components/schemas/EventRow"},
}


@router.get("/past", response_model=list[EventRow])
async def past_events(
    laboratory: TheLaboratory,
    group: str | None = None,
    kind: Annotated[str | None, Query(json_schema_extra=one_of(KINDS))] = None,
    last: Annotated[int | None, Query(ge=1, description="at most this many of them, the newest; left out: all")] = None,
) -> StreamingResponse:
    """Every event that was recorded so far, of one group or of all, of one kind or of all."""
    if kind not in KINDS | {None}:
        raise unknown("kind of group event", kind, KINDS)
    found = [
        each for each in laboratory.recorder if group in (None, each.event.group_id) and kind in (None, each.event.kind)
    ]
    return StreamingResponse(_as_array(found[-last:] if last else found), media_type="application/json")


async def _as_array(events: list[Recorded]) -> AsyncIterator[bytes]:
    """A hundred thousand events take their room once: a few are written, and others are served, before the next."""
    yield b"["
    for start in range(0, len(events), EVENTS_AT_ONCE):
        lines = [line_of(each).rstrip(b"\n") for each in events[start : start + EVENTS_AT_ONCE]]
        yield (b"," if start else b"") + b",".join(lines)
        await asyncio.sleep(0)
    yield b"]"


@router.get(
    "", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {"schema": STREAM}}}}
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
