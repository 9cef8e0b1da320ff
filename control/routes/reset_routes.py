"""The end of a test that shares a broker with others."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.control.endpoint_context import TheLaboratory

router = APIRouter(prefix="/reset", tags=["reset"])


class Left(BaseModel):
    """What a test has left behind."""

    gates: list[str] = Field(description="gates that were still held, and who waited there; they are open now")
    violations: list[str] = Field(description="what has happened since the last time that must never happen")


@router.post("")
async def reset(laboratory: TheLaboratory) -> Left:
    """End all rules, open all gates, and let the clock run like the machine's. Groups, topics and time stay."""
    gates, violations = laboratory.reset()
    return Left(gates=gates, violations=violations)
