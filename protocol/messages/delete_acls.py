"""DeleteAcls (key 31): filters, and the ACLs that each of them has deleted, in the same order."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class DeleteAclsFilter:
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int = 3
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


@shape
class DeleteAclsRequest:
    filters: tuple[DeleteAclsFilter, ...]


@shape
class DeleteAclsMatchingAcl:
    error_code: ErrorCode
    error_message: str | None = None
    resource_type: int
    resource_name: str
    pattern_type: int = 3
    principal: str
    host: str
    operation: int
    permission_type: int


@shape
class DeleteAclsFilterResult:
    error_code: ErrorCode
    error_message: str | None = None
    matching_acls: tuple[DeleteAclsMatchingAcl, ...]


@shape
class DeleteAclsResponse:
    throttle_time_ms: int = 0
    filter_results: tuple[DeleteAclsFilterResult, ...]


MESSAGE = Message("delete_acls", DeleteAclsRequest, DeleteAclsResponse)
