"""Violations of safety guarantees."""

from __future__ import annotations

from fastapi import APIRouter

from kohort.control.http.endpoint_context import TheLaboratory

router = APIRouter(prefix="/violations", tags=["violations"])


@router.get("")
async def list_violations(laboratory: TheLaboratory) -> list[str]:
    """List the violations as sentences: two owners of a partition, a commit that goes backwards, and others."""
    return list(laboratory.safety.violations) if laboratory.safety is not None else []


@router.delete("")
async def clear(laboratory: TheLaboratory) -> list[str]:
    """Clear the violations, as between two tests, and return them."""
    if laboratory.safety is None:
        return []
    violations, laboratory.safety.violations = laboratory.safety.violations, []
    return violations
