"""Gates: points at which requests wait until somebody lets them through."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.control.body import Body
from kohort.control.documenting import NOT_THERE, one_of, refusals
from kohort.control.endpoint_context import TheLaboratory
from kohort.control.gate_points import GATE_POINTS
from kohort.control.gates import Gate
from kohort.control.views import view

router = APIRouter(prefix="/gates", tags=["gates"])


class StopState(BaseModel):
    """Where one may hold requests."""

    name: str = Field(json_schema_extra=one_of(GATE_POINTS))
    about: str


class Waiting(BaseModel):
    """A request that waits, or (at `offsets-loaded`) a load."""

    text: str = Field(description="what it is, in words")
    client_id: str
    member: str
    instance: str
    group: str


class GateState(BaseModel):
    """A gate that holds."""

    name: str = Field(json_schema_extra=one_of(GATE_POINTS))
    group: str | None = Field(description="null: every group's requests")
    held: list[Waiting]


class Hold(Body):
    """What to hold."""

    name: str = Field(examples=["join-complete"], json_schema_extra=one_of(GATE_POINTS))
    group: str | None = None


class Release(Body):
    """Whom to let through."""

    who: str | None = Field(
        None, description="a member id, instance id or client id, or a load's partition; null: everybody"
    )


@router.get("/points")
async def list_stops(laboratory: TheLaboratory) -> list[StopState]:
    """Where one may hold requests."""
    return [StopState(name=name, about=point.about) for name, point in laboratory.gates.points.items()]


@router.get("")
async def list_gates(laboratory: TheLaboratory) -> list[GateState]:
    """The gates that hold, and who waits at them."""
    return [_state(gate) for gate in laboratory.gates]


@router.post("", status_code=201)
async def hold(what: Hold, laboratory: TheLaboratory) -> GateState:
    """Close a gate."""
    return _state(laboratory.gates.hold(what.name, what.group))


@router.post("/{name}/release", responses=refusals(NOT_THERE))
async def release(name: str, whom: Release, laboratory: TheLaboratory, group: str | None = None) -> GateState:
    """Let one through, or everybody who waits; the gate goes on holding. `group`: where several have that name."""
    gate = laboratory.gates.find(name, group)
    if whom.who is None:
        gate.release_all()
    else:
        gate.release(whom.who)
    return _state(gate)


@router.delete("/{name}", responses=refusals(NOT_THERE))
async def open_gate(name: str, laboratory: TheLaboratory, group: str | None = None) -> None:
    """Open a gate: everybody who waits goes through, and nobody is held any more. `group`: as above."""
    laboratory.gates.find(name, group).open()


def _state(gate: Gate) -> GateState:
    return view(GateState, gate, held=[view(Waiting, each, text=str(each)) for each in gate.held])
