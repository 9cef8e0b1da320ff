"""UpdateFeatures (key 57): changes the finalized feature levels of the cluster (KIP-584)."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class FeatureUpdateKey:
    feature: str
    max_version_level: int
    allow_downgrade: bool = False  # v0 only
    upgrade_type: int = 1  # from v1 on


@shape
class UpdateFeaturesRequest:
    timeout_ms: int = 60000
    feature_updates: tuple[FeatureUpdateKey, ...]
    validate_only: bool = False  # from v1 on


@shape
class UpdatableFeatureResult:
    feature: str
    error_code: ErrorCode
    error_message: str | None = None


@shape
class UpdateFeaturesResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    results: tuple[UpdatableFeatureResult, ...] = ()  # up to v1


MESSAGE = Message("update_features", UpdateFeaturesRequest, UpdateFeaturesResponse)
