"""CreateAcls (key 30): ACLs to create, and a result for each, in the same order."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class AclCreation:
    resource_type: int
    resource_name: str
    resource_pattern_type: int = 3
    principal: str
    host: str
    operation: int
    permission_type: int


@shape
class CreateAclsRequest:
    creations: tuple[AclCreation, ...]


@shape
class AclCreationResult:
    error_code: ErrorCode
    error_message: str | None


@shape
class CreateAclsResponse:
    throttle_time_ms: int = 0
    results: tuple[AclCreationResult, ...]


MESSAGE = Message("create_acls", CreateAclsRequest, CreateAclsResponse)
