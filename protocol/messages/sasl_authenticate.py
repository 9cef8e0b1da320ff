"""SaslAuthenticate (key 36): one message of a login."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class SaslAuthenticateRequest:
    auth_bytes: bytes


@dataclass(slots=True, kw_only=True)
class SaslAuthenticateResponse:
    error_code: ErrorCode
    error_message: str | None = None
    auth_bytes: bytes = b""
    session_lifetime_ms: int = 0  # from v1 on


MESSAGE = Message("sasl_authenticate", SaslAuthenticateRequest, SaslAuthenticateResponse)
