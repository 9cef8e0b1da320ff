"""The body of an HTTP response from an untrusted control address."""

from __future__ import annotations

import json
from typing import IO, Any

LARGEST_ANSWER = 64 << 20  # bytes; thousands of groups with their members need a tenth of it


def read_json(answer: IO[bytes]) -> Any:
    """Return the decoded body.

    Raises:
        ValueError: If it is not JSON, or too large to be a response of kohort.
    """
    body = answer.read(LARGEST_ANSWER + 1)
    if len(body) > LARGEST_ANSWER:
        raise ValueError(f"the answer has more than {LARGEST_ANSWER} bytes")
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("the answer is nested too deeply") from None
