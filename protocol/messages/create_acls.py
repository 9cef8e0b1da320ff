"""CreateAcls (key 30): ACLs to be made, and what became of each, in their order."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class AclCreation:
    resource_type: int
    resource_name: str
    resource_pattern_type: int = 3
    principal: str
    host: str
    operation: int
    permission_type: int


@dataclass(slots=True, kw_only=True)
class CreateAclsRequest:
    creations: tuple[AclCreation, ...]


@dataclass(slots=True, kw_only=True)
class AclCreationResult:
    error_code: ErrorCode
    error_message: str | None


@dataclass(slots=True, kw_only=True)
class CreateAclsResponse:
    throttle_time_ms: int = 0
    results: tuple[AclCreationResult, ...]


MESSAGE = Message("create_acls", CreateAclsRequest, CreateAclsResponse)
