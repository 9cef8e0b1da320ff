"""ExpireDelegationToken (key 40): changes the expiry of a token (KIP-48)."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class ExpireDelegationTokenRequest:
    hmac: bytes
    expiry_time_period_ms: int


@shape
class ExpireDelegationTokenResponse:
    error_code: ErrorCode
    expiry_timestamp_ms: int = -1
    throttle_time_ms: int = 0


MESSAGE = Message("expire_delegation_token", ExpireDelegationTokenRequest, ExpireDelegationTokenResponse)
