"""DescribeUserScramCredentials (key 50): which users can log in by SCRAM."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class UserName:
    name: str


@dataclass(slots=True, kw_only=True)
class DescribeUserScramCredentialsRequest:
    users: tuple[UserName, ...] | None


@dataclass(slots=True, kw_only=True)
class CredentialInfo:
    mechanism: int
    iterations: int


@dataclass(slots=True, kw_only=True)
class DescribedUser:
    user: str
    error_code: ErrorCode
    error_message: str | None = None
    credential_infos: tuple[CredentialInfo, ...] = ()


@dataclass(slots=True, kw_only=True)
class DescribeUserScramCredentialsResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    results: tuple[DescribedUser, ...] = ()


MESSAGE = Message(
    "describe_user_scram_credentials", DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse
)
