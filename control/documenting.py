"""What `/openapi.json` says beyond the endpoints themselves: names that clients can be generated with, and refusals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, Field


def one_of(words: Iterable[str]) -> dict[str, Any]:
    """For the document: a text is one of these. What is given is judged elsewhere, which names the nearest."""
    return {"enum": sorted(words)}


class Problem(BaseModel):
    """Why not."""

    detail: str = Field(description="one sentence that says what to do")


NOT_ADMITTED = 401
A_STRANGER = 403
NOT_THERE = 404
IN_VAIN = 408
CANNOT_BE = 422


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What an endpoint answers instead of what it is asked for."""
    return {status: {"model": Problem, "description": DESCRIPTIONS[status]} for status in statuses}


DESCRIPTIONS = {
    NOT_ADMITTED: "the token is missing or wrong",
    A_STRANGER: "a page of another site asks, or the Host is no name of this address",
    NOT_THERE: "what is asked for is not there",
    IN_VAIN: "what was waited for did not come",
    CANNOT_BE: "what is asked for cannot be",
}

BEARER = HTTPBearer(auto_error=False, description="the broker's control token")
"""Only documents; the middleware of `app.py` decides."""


def operation_id(route: APIRoute) -> str:
    """`groups_wait`: what generated clients call it. Subject and function, so that it stays when a path changes."""
    subject = route.tags[0]
    return f"{subject}_{route.name.removesuffix(f'_{subject}')}"
