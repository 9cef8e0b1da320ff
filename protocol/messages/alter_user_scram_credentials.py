"""AlterUserScramCredentials (key 51): sets and deletes SCRAM credentials of users."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class ScramCredentialDeletion:
    name: str
    mechanism: int


@shape
class ScramCredentialUpsertion:
    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


@shape
class AlterUserScramCredentialsRequest:
    deletions: tuple[ScramCredentialDeletion, ...]
    upsertions: tuple[ScramCredentialUpsertion, ...]


@shape
class AlteredUser:
    user: str
    error_code: ErrorCode
    error_message: str | None = None


@shape
class AlterUserScramCredentialsResponse:
    throttle_time_ms: int = 0
    results: tuple[AlteredUser, ...]


MESSAGE = Message("alter_user_scram_credentials", AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse)
