"""The end of a test that shares a broker with others."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from kohort.control.endpoint_context import TheLaboratory
from kohort.control.groups_by_id import group_of

router = APIRouter(prefix="/reset", tags=["reset"])


class Left(BaseModel):
    """What a test has left behind."""

    gates: list[str] = Field(description="gates that were still held, and who waited there; they are open now")
    violations: list[str] = Field(description="what has happened since the last time that must never happen")
    groups: list[str] = Field(description="with `data`: groups that still have members, and so stay")


@router.post("")
async def reset(
    laboratory: TheLaboratory,
    data: Annotated[bool, Query(description="delete all topics, and all groups without members, too")] = False,
) -> Left:
    """End all rules, open all gates, and let the clock run like the machine's. Groups, topics and time stay."""
    gates, violations = laboratory.reset()
    left: list[str] = []
    if data:
        for topic in [each.name for each in laboratory.cluster.topics if not each.internal]:
            laboratory.topics.delete(topic)
        for group in [group_of(laboratory, each) for each in laboratory.group_ids()]:
            if group.members:
                left.append(group.id)
            else:
                await group.delete()
    return Left(gates=gates, violations=violations, groups=left)
