"""Error code and message of a rejected operation."""

from typing import NamedTuple

from kohort.protocol.errors import ErrorCode


class Refusal(NamedTuple):
    """Error code and message of a rejected operation, for the client."""

    error_code: ErrorCode
    message: str | None = None
