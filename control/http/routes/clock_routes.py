"""The brokers' clock: pause it, run it, and let it jump."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.control.clock.jump import PATIENCE_S, jump
from kohort.control.clock.lab_clock import FASTEST
from kohort.control.http.body import Body
from kohort.control.http.endpoint_context import TheLaboratory
from kohort.control.http.views import view
from kohort.control.laboratory import Laboratory
from kohort.control.numbers import MAX_SECONDS, length_ms

router = APIRouter(prefix="/clock", tags=["clock"])


class ClockState(BaseModel):
    """State of the brokers' clock."""

    now_ms: int = Field(description="milliseconds since the brokers were started")
    paused: bool
    scale: float = Field(description="speed relative to the machine's clock")


class Run(Body):
    """New speed of the clock."""

    scale: float | None = Field(
        None, gt=0, le=FASTEST, description="speed relative to the machine's clock; left out: unchanged"
    )


class Jump(Body):
    """Length and options of a jump."""

    seconds: float = Field(ge=0, le=MAX_SECONDS)
    expire_live_members: bool = Field(
        False, description="also expire the sessions of live members: the connection is open and no fault silences it"
    )
    patience: float = Field(
        PATIENCE_S,
        ge=0,
        le=MAX_SECONDS,
        description="maximum real seconds of a halt, in which a group waits for a live member; 0: the jump never halts",
    )


class AfterJump(ClockState):
    """State of the brokers' clock after a jump."""

    went_on_without: list[str] = Field(description="a sentence for each member that did not respond during a halt")


@router.get("")
async def read(laboratory: TheLaboratory) -> ClockState:
    """Return the state of the clock."""
    return _state(laboratory)


@router.post("/pause")
async def pause(laboratory: TheLaboratory) -> ClockState:
    """Pause the clock: sessions do not expire and rebalances do not time out. Requests are still answered."""
    laboratory.clock.pause()
    return _state(laboratory)


@router.post("/run")
async def run(laboratory: TheLaboratory, how: Run | None = None) -> ClockState:
    """Run the clock."""
    laboratory.clock.run(how.scale if how is not None else None)
    return _state(laboratory)


@router.post("/advance")
async def advance(how: Jump, laboratory: TheLaboratory) -> AfterJump:
    """Let the clock jump. Timers that become due fire in order; the jump halts while groups wait for live members."""
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
