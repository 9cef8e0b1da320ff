"""IncrementalAlterConfigs (key 44): changes single settings of a resource (KIP-339)."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class AlterableConfig:
    name: str
    config_operation: int
    value: str | None


@dataclass(slots=True, kw_only=True)
class AlterConfigsResource:
    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...]


@dataclass(slots=True, kw_only=True)
class IncrementalAlterConfigsRequest:
    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool


@dataclass(slots=True, kw_only=True)
class AlterConfigsResourceResponse:
    error_code: ErrorCode
    error_message: str | None
    resource_type: int
    resource_name: str


@dataclass(slots=True, kw_only=True)
class IncrementalAlterConfigsResponse:
    throttle_time_ms: int = 0
    responses: tuple[AlterConfigsResourceResponse, ...]


MESSAGE = Message("incremental_alter_configs", IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse)
