"""What has happened that must never happen."""

from __future__ import annotations

from fastapi import APIRouter

from kohort.control.endpoint_context import TheLaboratory

router = APIRouter(prefix="/violations", tags=["violations"])


@router.get("")
async def list_violations(laboratory: TheLaboratory) -> list[str]:
    """A sentence each: two owners of a partition, a commit that goes back or comes from a fenced generation."""
    return list(laboratory.safety.violations) if laboratory.safety is not None else []


@router.delete("")
async def clear(laboratory: TheLaboratory) -> list[str]:
    """Begin anew, as between two tests. Answers what there was."""
    if laboratory.safety is None:
        return []
    found, laboratory.safety.violations = laboratory.safety.violations, []
    return found
