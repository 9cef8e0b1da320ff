"""SaslAuthenticate (key 36): one message of a login."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class SaslAuthenticateRequest:
    auth_bytes: bytes


@shape
class SaslAuthenticateResponse:
    error_code: ErrorCode
    error_message: str | None = None
    auth_bytes: bytes = b""
    session_lifetime_ms: int = 0  # from v1 on


MESSAGE = Message("sasl_authenticate", SaslAuthenticateRequest, SaslAuthenticateResponse)
