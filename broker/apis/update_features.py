"""UpdateFeatures (key 57), versions 0 to 2.

v0 (KIP-584) · v1 types of downgrades, dry runs (KIP-778) · v2 one error for all (KIP-1022).

`share.version` and `streams.version` can be switched off and on. Other features keep their level, because kohort does
not implement older ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.base.logs import log
from kohort.broker.apis.acl_requests import needs_permission
from kohort.protocol.errors import ErrorCode
from kohort.protocol.features import implemented_features_of
from kohort.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kohort.security.rights import ALTER_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

UPGRADE = 1
ONE_ERROR_FROM = 2


def handle(node: Node, request: UpdateFeaturesRequest, ticket: Ticket) -> UpdateFeaturesResponse:
    """Update all features or none. The current level is accepted. Source: Kafka's `FeatureControlManager`."""
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, ALTER_CLUSTER):
        message = needs_permission(ticket, ALTER_CLUSTER)
        return UpdateFeaturesResponse(error_code=ErrorCode.cluster_authorization_failed, error_message=message)
    for update in request.feature_updates:
        reason = _rejection_reason(node, update)
        if reason is not None:
            log.warning(f"rejected level {update.max_version_level} of feature {update.feature}: {reason}")
            return UpdateFeaturesResponse(
                error_code=ErrorCode.invalid_update_version,
                error_message="The update failed for all features since the following feature had an error: "
                f"Invalid update version {update.max_version_level} for feature {update.feature}. {reason}",
            )
    if not request.validate_only:
        for update in request.feature_updates:
            if update.max_version_level != node.cluster.features.level(update.feature):
                node.cluster.features.move(update.feature, update.max_version_level)
    results = () if ticket.version >= ONE_ERROR_FROM else request.feature_updates
    return UpdateFeaturesResponse(
        error_code=ErrorCode.none,
        results=tuple(
            # The message of Kafka's `Errors.NONE` is its name.
            UpdatableFeatureResult(feature=result.feature, error_code=ErrorCode.none, error_message="NONE")
            for result in results
        ),
    )


def _rejection_reason(node: Node, update: FeatureUpdateKey) -> str | None:
    features = implemented_features_of(node.cluster.settings.kohort_as_kafka)
    feature, requested_level = features.get(update.feature), update.max_version_level
    if requested_level < 0:
        return "A feature version cannot be less than 0."
    if feature is None:
        return f"Local controller {node.cluster.controller_id} does not support this feature."
    if not feature.lowest <= requested_level <= feature.highest:
        levels = f"{feature.lowest}-{feature.highest}"
        return f"Local controller {node.cluster.controller_id} only supports versions {levels}"
    level = node.cluster.features.level(update.feature)
    if requested_level == level:
        return None
    if requested_level < level and update.upgrade_type == UPGRADE and not update.allow_downgrade:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    return None if feature.may_move else f"kohort serves this feature at level {level} only."
