"""DescribeConfigs (key 32): settings of topics and brokers."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class DescribeConfigsResource:
    resource_type: int
    resource_name: str
    configuration_keys: tuple[str, ...] | None = ()


@shape
class DescribeConfigsRequest:
    resources: tuple[DescribeConfigsResource, ...]
    include_synonyms: bool = False
    include_documentation: bool = False  # from v3 on


@shape
class DescribeConfigsSynonym:
    name: str
    value: str | None
    source: int


@shape
class DescribeConfigsResourceResult:
    name: str
    value: str | None
    read_only: bool
    config_source: int = -1
    is_sensitive: bool
    synonyms: tuple[DescribeConfigsSynonym, ...]
    config_type: int = 0  # from v3 on
    documentation: str | None = None  # from v3 on


@shape
class DescribeConfigsResult:
    error_code: ErrorCode
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: tuple[DescribeConfigsResourceResult, ...]


@shape
class DescribeConfigsResponse:
    throttle_time_ms: int = 0
    results: tuple[DescribeConfigsResult, ...]


MESSAGE = Message("describe_configs", DescribeConfigsRequest, DescribeConfigsResponse)
