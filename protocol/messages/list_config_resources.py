"""ListConfigResources (key 74): the names of resources for which something is set."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class ListConfigResourcesRequest:
    resource_types: tuple[int, ...] = ()  # from v1 on
    """None: all. Before v1 it was client metrics only."""


@dataclass(slots=True, kw_only=True)
class ConfigResource:
    resource_name: str
    resource_type: int = 16  # from v1 on


@dataclass(slots=True, kw_only=True)
class ListConfigResourcesResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    config_resources: tuple[ConfigResource, ...]


MESSAGE = Message("list_config_resources", ListConfigResourcesRequest, ListConfigResourcesResponse)
