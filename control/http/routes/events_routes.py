"""Live group events as server-sent events, whose data are the rows of the event log."""

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
from kohort.control.http.documenting import one_of
from kohort.control.http.endpoint_context import TheLaboratory
from kohort.coordinator.events.group_event import KINDS, GroupEvent

router = APIRouter(prefix="/events", tags=["events"])

WAITING_EVENTS = 10_000  # limit of unsent events, beyond which a reader is disconnected
EVENTS_AT_ONCE = 100  # events that are written in one slice: a millisecond
SIGN_OF_LIFE_S = 15.0


_HINTS = get_type_hints(GroupEvent)
_WORDS = {"kind": one_of(KINDS), "cause": one_of(CAUSES)}
_NAMED_BY_THE_LOG: dict[str, Any] = {"v": int, "event_id": str, "seq": int, "boot_id": str, "node_id": int}
_COLUMNS: dict[str, Any] = {
    column.name: (
        _HINTS[column.name],
        Field(... if column.default is MISSING else None, json_schema_extra=_WORDS.get(column.name)),
    )
    for column in fields(GroupEvent)
}
EventRow: Any = create_model(
    "EventRow", __doc__="A row of the event log; fields without a value are left out.", **_NAMED_BY_THE_LOG, **_COLUMNS
)  # Derived from the columns of the event log, so that both are equal.

STREAM = {
    "type": "string",
    "description": "server-sent events; the data of an event is one row",
    "contentMediaType": "application/json",
    "contentSchema": {"$ref": "#/components/schemas/EventRow"},
}


@router.get("/past", response_model=list[EventRow])
async def past_events(
    laboratory: TheLaboratory,
    group: str | None = None,
    kind: Annotated[str | None, Query(json_schema_extra=one_of(KINDS))] = None,
    last: Annotated[int | None, Query(ge=1, description="maximum number, the newest events; left out: all")] = None,
) -> StreamingResponse:
    """Return the recorded events of one group or of all groups, of one kind or of all kinds."""
    if kind not in KINDS | {None}:
        raise unknown("event kind", kind, KINDS)
    events = [
        recorded
        for recorded in laboratory.recorder
        if group in (None, recorded.event.group_id) and kind in (None, recorded.event.kind)
    ]
    return StreamingResponse(_as_array(events[-last:] if last else events), media_type="application/json")


async def _as_array(events: list[Recorded]) -> AsyncIterator[bytes]:
    """Write in slices: a hundred thousand events need their memory once, and other requests are served in between."""
    yield b"["
    for start in range(0, len(events), EVENTS_AT_ONCE):
        lines = [line_of(event).rstrip(b"\n") for event in events[start : start + EVENTS_AT_ONCE]]
        yield (b"," if start else b"") + b",".join(lines)
        await asyncio.sleep(0)
    yield b"]"


@router.get(
    "", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {"schema": STREAM}}}}
)
async def stream(laboratory: TheLaboratory, group: str | None = None, past: bool = False) -> StreamingResponse:
    """Return all events from now on, of one group or of all groups; with `past` the recorded events come first."""
    queue: asyncio.Queue[Recorded] = asyncio.Queue(WAITING_EVENTS)
    full = asyncio.Event()

    def on_event(recorded: Recorded) -> None:
        if group is None or recorded.event.group_id == group:
            try:
                queue.put_nowait(recorded)
            except asyncio.QueueFull:
                full.set()

    recorder = laboratory.recorder
    recorded_before = [entry for entry in recorder if past and (group is None or entry.event.group_id == group)]
    leave = recorder.listen(on_event)

    async def stream() -> AsyncIterator[bytes]:
        try:
            for recorded in recorded_before:
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
