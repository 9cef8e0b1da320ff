"""Why something is not done."""

from typing import NamedTuple

from kohort.protocol.errors import ErrorCode


class Refusal(NamedTuple):
    """Why something is not done, for the client that asked."""

    error_code: ErrorCode
    message: str | None = None
