"""IncrementalAlterConfigs (key 44): changes single settings of a resource (KIP-339)."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class AlterableConfig:
    name: str
    config_operation: int
    value: str | None


@shape
class AlterConfigsResource:
    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...]


@shape
class IncrementalAlterConfigsRequest:
    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool


@shape
class AlterConfigsResourceResponse:
    error_code: ErrorCode
    error_message: str | None
    resource_type: int
    resource_name: str


@shape
class IncrementalAlterConfigsResponse:
    throttle_time_ms: int = 0
    responses: tuple[AlterConfigsResourceResponse, ...]


MESSAGE = Message("incremental_alter_configs", IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse)
