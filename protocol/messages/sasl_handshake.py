"""SaslHandshake (key 17): chooses how to log in."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class SaslHandshakeRequest:
    mechanism: str


@dataclass(slots=True, kw_only=True)
class SaslHandshakeResponse:
    error_code: ErrorCode
    mechanisms: tuple[str, ...] = ()


MESSAGE = Message("sasl_handshake", SaslHandshakeRequest, SaslHandshakeResponse)
