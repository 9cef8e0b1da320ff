"""CreateDelegationToken (key 38): creates a token with which a client can log in (KIP-48)."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class CreatableRenewers:
    principal_type: str
    principal_name: str


@shape
class CreateDelegationTokenRequest:
    owner_principal_type: str | None = None  # from v3 on
    owner_principal_name: str | None = None  # None or empty: the requester
    renewers: tuple[CreatableRenewers, ...]
    max_lifetime_ms: int


@shape
class CreateDelegationTokenResponse:
    error_code: ErrorCode
    principal_type: str
    principal_name: str
    token_requester_principal_type: str = ""  # from v3 on
    token_requester_principal_name: str = ""
    issue_timestamp_ms: int = -1
    expiry_timestamp_ms: int = -1
    max_timestamp_ms: int = -1
    token_id: str = ""
    hmac: bytes = b""
    throttle_time_ms: int = 0


MESSAGE = Message("create_delegation_token", CreateDelegationTokenRequest, CreateDelegationTokenResponse)
