"""Parts of `/openapi.json` that are not endpoints: operation ids for generated clients, and error responses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, Field


def one_of(words: Iterable[str]) -> dict[str, Any]:
    """Return a schema that lists the valid values of a text, for the document only. The endpoint itself checks them."""
    return {"enum": sorted(words)}


class Problem(BaseModel):
    """Error response."""

    detail: str = Field(description="one sentence: what is wrong and what to do")


NOT_ADMITTED = 401
A_STRANGER = 403
NOT_THERE = 404
IN_VAIN = 408
CANNOT_BE = 422


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": Problem, "description": DESCRIPTIONS[status]} for status in statuses}


DESCRIPTIONS = {
    NOT_ADMITTED: "the token is missing or wrong",
    A_STRANGER: "the request comes from a page of another site, or the Host header has an unknown name",
    NOT_THERE: "the requested object does not exist",
    IN_VAIN: "the condition did not hold within the timeout",
    CANNOT_BE: "the request is invalid or cannot be fulfilled",
}

# documents the token only; the middleware in `app.py` checks it
BEARER = HTTPBearer(auto_error=False, description="the broker's control token")


def operation_id(route: APIRoute) -> str:
    """Return the operation id, such as `groups_wait`. It consists of subject and function, so a path may change."""
    subject = route.tags[0]
    return f"{subject}_{route.name.removesuffix(f'_{subject}')}"
