"""AlterUserScramCredentials (key 51): passwords of users who log in by SCRAM."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class ScramCredentialDeletion:
    name: str
    mechanism: int


@dataclass(slots=True, kw_only=True)
class ScramCredentialUpsertion:
    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


@dataclass(slots=True, kw_only=True)
class AlterUserScramCredentialsRequest:
    deletions: tuple[ScramCredentialDeletion, ...]
    upsertions: tuple[ScramCredentialUpsertion, ...]


@dataclass(slots=True, kw_only=True)
class AlteredUser:
    user: str
    error_code: ErrorCode
    error_message: str | None = None


@dataclass(slots=True, kw_only=True)
class AlterUserScramCredentialsResponse:
    throttle_time_ms: int = 0
    results: tuple[AlteredUser, ...]


MESSAGE = Message("alter_user_scram_credentials", AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse)
