"""AlterConfigs (key 33): replaces all settings of a resource."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class AlterableConfig:
    name: str
    value: str | None


@shape
class AlterConfigsResource:
    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...]


@shape
class AlterConfigsRequest:
    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool


@shape
class AlterConfigsResourceResponse:
    error_code: ErrorCode
    error_message: str | None
    resource_type: int
    resource_name: str


@shape
class AlterConfigsResponse:
    throttle_time_ms: int = 0
    responses: tuple[AlterConfigsResourceResponse, ...]


MESSAGE = Message("alter_configs", AlterConfigsRequest, AlterConfigsResponse)
