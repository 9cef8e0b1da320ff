"""Request bodies and query parameters. Unknown fields are rejected, as a misspelled one would change the meaning.

A rule with `time` instead of `times` would apply forever.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, model_validator

from kohort.control.control_errors import ControlError, unknown

MAX_BODY_BYTES = 1 << 20  # bodies are kept in memory and parsed in the brokers' event loop; rules are far smaller


class Body(BaseModel):
    """Request body. Raises ControlError for unknown fields, with the nearest valid name."""

    model_config = ConfigDict(populate_by_name=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _reject_unknown_fields(cls, values: Any) -> Any:
        _check_text(values)
        words = [field.alias or name for name, field in cls.model_fields.items()]
        for name in values if isinstance(values, dict) else ():
            if name not in words:
                raise unknown("field", name, words)
        return values


def _check_text(values: Any) -> None:
    """Raise ControlError for lone surrogates: JSON can escape them, but UTF-8 can't encode them."""
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        surrogate = error.object[error.start]
        raise ControlError(f"the body contains a lone surrogate, {surrogate!r}; remove it") from None


async def reject_unknown_queries(request: Request) -> None:
    """Reject query parameters that the endpoint doesn't have. Every endpoint depends on this."""
    route = request.scope["route"]
    assert isinstance(route, APIRoute), "called as a dependency of a route"
    names = [parameter.alias for parameter in route.dependant.query_params]
    for name in request.query_params:
        if name not in names:
            raise unknown("query parameter", name, names or ["(none)"])
