"""SaslHandshake (key 17): selects the SASL mechanism."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class SaslHandshakeRequest:
    mechanism: str


@shape
class SaslHandshakeResponse:
    error_code: ErrorCode
    mechanisms: tuple[str, ...] = ()


MESSAGE = Message("sasl_handshake", SaslHandshakeRequest, SaslHandshakeResponse)
