"""API versions of an older Kafka release in front of an external cluster: the versions that both support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kohort.control.faults.actions import OldApiVersions
from kohort.protocol.errors import ErrorCode
from kohort.protocol.features import features_of
from kohort.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kohort.protocol.releases import apis_of
from kohort.protocol.shape import changed
from kohort.proxy.heard import Heard


@dataclass(frozen=True)
class OldVersionsThere(OldApiVersions):
    """Action that answers ApiVersions as an older release, limited to versions that the cluster supports."""

    def offered(self, version: int, response: Any) -> Any:
        """Return the response; it leaves out APIs whose old versions the cluster has dropped."""
        served = response.read if isinstance(response, Heard) else None
        if served is None or served.error_code != ErrorCode.none:
            return response
        api_keys = tuple(_common(served.api_keys, self.release))
        highest = {name: feature.highest for name, feature in features_of(self.release).items()}
        if not highest:
            return ApiVersionsResponse(error_code=ErrorCode.none, api_keys=api_keys)
        return changed(
            ApiVersionsResponse,
            served,
            api_keys=api_keys,
            supported_features=tuple(
                changed(SupportedFeatureKey, feature, max_version=min(feature.max_version, highest[feature.name]))
                for feature in served.supported_features
                if feature.name in highest
            ),
            finalized_features=tuple(
                changed(
                    FinalizedFeatureKey,
                    feature,
                    max_version_level=min(feature.max_version_level, highest[feature.name]),
                )
                for feature in served.finalized_features
                if feature.name in highest
            ),
        )


def _common(served: tuple[ApiVersion, ...], release: str) -> list[ApiVersion]:
    old = {api.key: api for api in apis_of(release)}
    both = [
        ApiVersion(
            api_key=offer.api_key,
            min_version=max(offer.min_version, old[offer.api_key].min_version),
            max_version=min(offer.max_version, old[offer.api_key].max_version),
        )
        for offer in served
        if offer.api_key in old
    ]
    return [offer for offer in both if offer.min_version <= offer.max_version]
