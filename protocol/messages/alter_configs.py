"""AlterConfigs (key 33): replaces all settings of a resource."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class AlterableConfig:
    name: str
    value: str | None


@dataclass(slots=True, kw_only=True)
class AlterConfigsResource:
    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...]


@dataclass(slots=True, kw_only=True)
class AlterConfigsRequest:
    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool


@dataclass(slots=True, kw_only=True)
class AlterConfigsResourceResponse:
    error_code: ErrorCode
    error_message: str | None
    resource_type: int
    resource_name: str


@dataclass(slots=True, kw_only=True)
class AlterConfigsResponse:
    throttle_time_ms: int = 0
    responses: tuple[AlterConfigsResourceResponse, ...]


MESSAGE = Message("alter_configs", AlterConfigsRequest, AlterConfigsResponse)
