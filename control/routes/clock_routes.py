"""The brokers' clock: pause it, let it run, let it jump."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.control.body import Body
from kohort.control.endpoint_context import TheLaboratory
from kohort.control.jump import PATIENCE_S, jump
from kohort.control.lab_clock import FASTEST
from kohort.control.laboratory import Laboratory
from kohort.control.numbers import LONGEST_S, length_ms
from kohort.control.views import view

router = APIRouter(prefix="/clock", tags=["clock"])


class ClockState(BaseModel):
    """How the brokers' clock goes."""

    now_ms: int = Field(description="milliseconds since the brokers were started")
    paused: bool
    scale: float = Field(description="how many times as fast as the machine's it runs")


class Run(Body):
    """How it is to go on."""

    scale: float | None = Field(
        None, gt=0, le=FASTEST, description="how many times as fast as the machine's; left out: as before"
    )


class Jump(Body):
    """How far it is to jump."""

    seconds: float = Field(ge=0, le=LONGEST_S)
    expire_live_members: bool = Field(
        False, description="also let the sessions end of members whose connection is open and whom no fault silences"
    )
    patience: float = Field(
        PATIENCE_S,
        ge=0,
        le=LONGEST_S,
        description="real seconds that the jump halts at most where a group waits for a live member; 0: it never does",
    )


class AfterJump(ClockState):
    """How the brokers' clock goes after a jump."""

    went_on_without: list[str] = Field(description="a sentence for each member that the jump did not wait for longer")


@router.get("")
async def read(laboratory: TheLaboratory) -> ClockState:
    """Where it stands."""
    return _state(laboratory)


@router.post("/pause")
async def pause(laboratory: TheLaboratory) -> ClockState:
    """Let it stand still: no session ends, no rebalance times out. Requests are answered all the same."""
    laboratory.clock.pause()
    return _state(laboratory)


@router.post("/run")
async def run(laboratory: TheLaboratory, how: Run | None = None) -> ClockState:
    """Let it go on."""
    laboratory.clock.run(how.scale if how is not None else None)
    return _state(laboratory)


@router.post("/advance")
async def advance(how: Jump, laboratory: TheLaboratory) -> AfterJump:
    """Let it jump; everything that falls due on the way happens, in its order. Members that live go on living, and the
    jump halts while their group waits for them."""
    went_on_without = await jump(
        laboratory,
        length_ms(how.seconds, "a jump"),
        expire_live_members=how.expire_live_members,
        patience_s=how.patience,
    )
    clock = laboratory.clock
    return view(AfterJump, clock, now_ms=clock.now_ms(), went_on_without=went_on_without)


def _state(laboratory: Laboratory) -> ClockState:
    clock = laboratory.clock
    return view(ClockState, clock, now_ms=clock.now_ms())
