"""DescribeUserScramCredentials (key 50): the SCRAM mechanisms of users."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class UserName:
    name: str


@shape
class DescribeUserScramCredentialsRequest:
    users: tuple[UserName, ...] | None


@shape
class CredentialInfo:
    mechanism: int
    iterations: int


@shape
class DescribedUser:
    user: str
    error_code: ErrorCode
    error_message: str | None = None
    credential_infos: tuple[CredentialInfo, ...] = ()


@shape
class DescribeUserScramCredentialsResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    results: tuple[DescribedUser, ...] = ()


MESSAGE = Message(
    "describe_user_scram_credentials", DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse
)
