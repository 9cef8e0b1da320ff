"""ApiVersions (key 18): the APIs that this broker serves. The response header never has tagged fields (KIP-511)."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class ApiVersionsRequest:
    client_software_name: str = ""  # from v3 on
    client_software_version: str = ""  # from v3 on
    cluster_id: str | None = None  # from v5 on
    node_id: int = -1  # from v5 on


@shape
class ApiVersion:
    api_key: int
    min_version: int
    max_version: int


@shape
class SupportedFeatureKey:
    name: str
    min_version: int
    max_version: int


@shape
class FinalizedFeatureKey:
    name: str
    max_version_level: int
    min_version_level: int


@shape
class ApiVersionsResponse:
    error_code: ErrorCode
    api_keys: tuple[ApiVersion, ...]
    throttle_time_ms: int = 0  # from v1 on
    supported_features: tuple[SupportedFeatureKey, ...] = ()  # from v3 on
    # -1: unknown; clients of the classic protocol do not need it
    finalized_features_epoch: int = -1  # from v3 on
    finalized_features: tuple[FinalizedFeatureKey, ...] = ()  # from v3 on
    zk_migration_ready: bool = False  # from v3 on


MESSAGE = Message("api_versions", ApiVersionsRequest, ApiVersionsResponse)
