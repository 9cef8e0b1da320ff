"""DescribeDelegationToken (key 41): the tokens of some or all owners (KIP-48)."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class DescribeDelegationTokenOwner:
    principal_type: str
    principal_name: str


@shape
class DescribeDelegationTokenRequest:
    owners: tuple[DescribeDelegationTokenOwner, ...] | None


@shape
class DescribedDelegationTokenRenewer:
    principal_type: str
    principal_name: str


@shape
class DescribedDelegationToken:
    principal_type: str
    principal_name: str
    token_requester_principal_type: str = ""  # from v3 on
    token_requester_principal_name: str = ""
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
    token_id: str
    hmac: bytes
    renewers: tuple[DescribedDelegationTokenRenewer, ...]


@shape
class DescribeDelegationTokenResponse:
    error_code: ErrorCode
    tokens: tuple[DescribedDelegationToken, ...] = ()
    throttle_time_ms: int = 0


MESSAGE = Message("describe_delegation_token", DescribeDelegationTokenRequest, DescribeDelegationTokenResponse)
