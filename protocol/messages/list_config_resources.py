"""ListConfigResources (key 74): the names of resources with configurations."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class ListConfigResourcesRequest:
    # None: all types; before v1 client metrics only
    resource_types: tuple[int, ...] = ()  # from v1 on


@shape
class ConfigResource:
    resource_name: str
    resource_type: int = 16  # from v1 on


@shape
class ListConfigResourcesResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    config_resources: tuple[ConfigResource, ...]


MESSAGE = Message("list_config_resources", ListConfigResourcesRequest, ListConfigResourcesResponse)
