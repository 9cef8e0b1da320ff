"""Reset at the end of a test that shares a broker with others."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from kohort.control import resetting
from kohort.control.http.endpoint_context import TheLaboratory

router = APIRouter(prefix="/reset", tags=["reset"])


class Left(BaseModel):
    """State that a test has left behind."""

    gates: list[str] = Field(description="gates that were still closed, with their waiting requests; they are open now")
    violations: list[str] = Field(description="safety violations since the previous reset")
    groups: list[str] = Field(description="with `data`: groups that were not deleted because they have members")


@router.post("")
async def reset(
    laboratory: TheLaboratory,
    data: Annotated[bool, Query(description="also delete all topics, and all groups without members")] = False,
) -> Left:
    """Remove all rules, open all gates, and let the clock run like the machine's. Groups, topics and time stay."""
    return Left.model_validate(vars(await resetting.reset(laboratory, data)))
