"""What requests say in their bodies and queries: a word that means nothing is refused, as it would change the meaning.

A rule whose `times` was written `time` would act for ever.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, model_validator

from kohort.control.control_errors import ControlError, unknown

LARGEST_BYTES = 1 << 20
"""The largest body: it is kept in memory and read in the brokers' event loop. No sensible rule comes near."""


class Body(BaseModel):
    """What a request says. Raises ControlError, with the nearest word, for one that is none of its fields."""

    model_config = ConfigDict(populate_by_name=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _knows_every_word(cls, values: Any) -> Any:
        _check_text(values)
        words = [field.alias or name for name, field in cls.model_fields.items()]
        for name in values if isinstance(values, dict) else ():
            if name not in words:
                raise unknown("field", name, words)
        return values


def _check_text(values: Any) -> None:
    """JSON may escape half a surrogate, which no name in Kafka and no answer of ours can hold. Raises ControlError."""
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        half = problem.object[problem.start]
        raise ControlError(f"a text has half a surrogate in it, {half!r}, which is no letter") from None


async def knows_every_query(request: Request) -> None:
    """Refuses query parameters that the endpoint does not have. Every endpoint depends on it."""
    route = request.scope["route"]
    assert isinstance(route, APIRoute), "it is asked within one"
    words = [each.alias for each in route.dependant.query_params]
    for name in request.query_params:
        if name not in words:
            raise unknown("word for this query", name, words or ["(none)"])
