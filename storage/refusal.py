"""Why something is not done."""

from dataclasses import dataclass

from kohort.protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something is not done, for the client that asked."""

    error_code: ErrorCode
    message: str | None = None
