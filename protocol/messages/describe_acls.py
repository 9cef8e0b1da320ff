"""DescribeAcls (key 29): the ACLs that match a filter.

Codes are plain integers: a filter may have an unknown one.
"""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class DescribeAclsRequest:
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int = 3
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


@shape
class AclDescription:
    principal: str
    host: str
    operation: int
    permission_type: int


@shape
class DescribeAclsResource:
    resource_type: int
    resource_name: str
    pattern_type: int = 3
    acls: tuple[AclDescription, ...]


@shape
class DescribeAclsResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    resources: tuple[DescribeAclsResource, ...]


MESSAGE = Message("describe_acls", DescribeAclsRequest, DescribeAclsResponse)
