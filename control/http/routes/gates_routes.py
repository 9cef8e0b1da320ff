"""Gates: points at which requests wait until they are released."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.control.gates.gate_points import GATE_POINTS
from kohort.control.gates.gates import Gate
from kohort.control.http.body import Body
from kohort.control.http.documenting import NOT_THERE, one_of, refusals
from kohort.control.http.endpoint_context import TheLaboratory
from kohort.control.http.views import view

router = APIRouter(prefix="/gates", tags=["gates"])


class StopState(BaseModel):
    """A point at which requests can be held."""

    name: str = Field(json_schema_extra=one_of(GATE_POINTS))
    about: str


class Waiting(BaseModel):
    """A request that waits, or (at `offsets-loaded`) a load."""

    text: str = Field(description="the request in words")
    client_id: str
    member: str
    instance: str
    group: str


class GateState(BaseModel):
    """A closed gate."""

    name: str = Field(json_schema_extra=one_of(GATE_POINTS))
    group: str | None = Field(description="null: requests of all groups")
    held: list[Waiting]


class Hold(Body):
    """Where to hold requests, and of which group."""

    name: str = Field(examples=["join-complete"], json_schema_extra=one_of(GATE_POINTS))
    group: str | None = None


class Release(Body):
    """Which requests to release."""

    who: str | None = Field(
        None, description="a member id, instance id or client id, or a load's partition; null: all requests"
    )


@router.get("/points")
async def list_stops(laboratory: TheLaboratory) -> list[StopState]:
    """List the points at which requests can be held."""
    return [StopState(name=name, about=point.about) for name, point in laboratory.gates.points.items()]


@router.get("")
async def list_gates(laboratory: TheLaboratory) -> list[GateState]:
    """List the closed gates with their waiting requests."""
    return [_state(gate) for gate in laboratory.gates]


@router.post("", status_code=201)
async def hold(point: Hold, laboratory: TheLaboratory) -> GateState:
    """Close a gate."""
    return _state(laboratory.gates.hold(point.name, point.group))


@router.post("/{name}/release", responses=refusals(NOT_THERE))
async def release(name: str, released: Release, laboratory: TheLaboratory, group: str | None = None) -> GateState:
    """Release one waiting request or every one; the gate stays closed.

    `group` selects one of several gates of that name.
    """
    gate = laboratory.gates.find(name, group)
    if released.who is None:
        gate.release_all()
    else:
        gate.release(released.who)
    return _state(gate)


@router.delete("/{name}", responses=refusals(NOT_THERE))
async def open_gate(name: str, laboratory: TheLaboratory, group: str | None = None) -> None:
    """Open a gate: release all waiting requests and hold no more.

    `group` selects one of several gates with that name.
    """
    laboratory.gates.find(name, group).open()


def _state(gate: Gate) -> GateState:
    return view(GateState, gate, held=[view(Waiting, request, text=str(request)) for request in gate.held])
