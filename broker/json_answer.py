"""The body of an HTTP answer, of a control address that may be anybody."""

from __future__ import annotations

import json
from typing import IO, Any

LARGEST_ANSWER = 64 << 20
"""Bytes. Thousands of groups with their members are a tenth of it."""


def read_json(answer: IO[bytes]) -> Any:
    """What it holds. Raises ValueError for what is no JSON, or too large to be an answer of kohort's."""
    body = answer.read(LARGEST_ANSWER + 1)
    if len(body) > LARGEST_ANSWER:
        raise ValueError(f"the answer has more than {LARGEST_ANSWER} bytes")
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("the answer is nested too deeply") from None
