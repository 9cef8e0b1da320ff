"""RenewDelegationToken (key 39): extends the validity of a token (KIP-48)."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class RenewDelegationTokenRequest:
    hmac: bytes
    renew_period_ms: int


@shape
class RenewDelegationTokenResponse:
    error_code: ErrorCode
    expiry_timestamp_ms: int = -1
    throttle_time_ms: int = 0


MESSAGE = Message("renew_delegation_token", RenewDelegationTokenRequest, RenewDelegationTokenResponse)
