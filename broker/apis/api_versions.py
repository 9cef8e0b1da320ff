"""ApiVersions (key 18): the supported APIs and versions, from the registry's table.

v0
v1  throttle time
v2
v3  KIP-511: name and version of the client's software; KIP-584: features; flexible, except for the response header
v4  the minimum version of a feature may be 0 (KIP-1022)
v5  the cluster and the node that the client expects (KIP-1242)

The response for an unsupported version has version 0, UNSUPPORTED_VERSION and the range of this API only, so that the
client can retry. The features in the response are in protocol/features.py. `kohort.as.kafka` makes the response that of
an older release.
"""

import re
from functools import lru_cache

from kohort.broker.cluster.node import Node
from kohort.broker.ticket import Ticket
from kohort.protocol.errors import ErrorCode
from kohort.protocol.features import Levels, features_of, levels_of
from kohort.protocol.messages.api_versions import (
    MESSAGE,
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kohort.protocol.releases import api_versions_of, apis_of

# first version in which the minimum of a feature may be 0 (KIP-1022); before it, Kafka leaves such features out
FEATURES_FROM_0 = 4
EXPECTATIONS_FROM = 5

# format of the name and version of a client's software, from KIP-511
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def handle(node: Node, request: ApiVersionsRequest, ticket: Ticket) -> ApiVersionsResponse | bytes:
    """Return the table, or INVALID_REQUEST for a malformed name or version of the client's software."""
    if ticket.version >= 3 and not (
        _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.invalid_request, api_keys=())
    if ticket.version >= 3:
        ticket.requester.client_software = f"{request.client_software_name}/{request.client_software_version}"
    if ticket.version >= EXPECTATIONS_FROM:
        error = _check_expectations(node, request)
        if error is not ErrorCode.none:
            return ApiVersionsResponse(error_code=error, api_keys=())
    login = ticket.requester.login
    if login is not None:
        login.versions_asked()
    features = node.cluster.features
    return table(ticket.version, node.cluster.settings.kohort_as_kafka, features.levels, features.epoch)


def _check_expectations(node: Node, request: ApiVersionsRequest) -> ErrorCode:
    """Return REBOOTSTRAP_REQUIRED if the client expects another cluster or node (newer-release §2 rule 1).

    A client that names only one of them receives INVALID_REQUEST.
    """
    if (request.cluster_id is None) is not (request.node_id == -1):
        return ErrorCode.invalid_request
    if request.cluster_id is None or (request.cluster_id, request.node_id) == (node.cluster.cluster_id, node.id):
        return ErrorCode.none
    return ErrorCode.rebootstrap_required


def unsupported_version(release: str) -> ApiVersionsResponse:
    """Return the response for an unsupported version, to be encoded in version 0.

    Up to 2.3 it has no range (KIP-511).
    """
    api = api_versions_of(release)
    if api.max_version < 3:
        return ApiVersionsResponse(error_code=ErrorCode.unsupported_version, api_keys=())
    only = ApiVersion(api_key=api.key, min_version=api.min_version, max_version=api.max_version)
    return ApiVersionsResponse(error_code=ErrorCode.unsupported_version, api_keys=(only,))


@lru_cache
def table(version: int, release: str, levels: Levels | None = None, epoch: int = 0) -> bytes:
    """Return the whole response of a release as a frame.

    Args:
        levels: Finalized levels of features by name, after `epoch` changes; None means those of a new cluster.
    """
    api_keys = tuple(
        ApiVersion(api_key=api.key, min_version=api.min_version, max_version=api.max_version)
        for api in apis_of(release)
    )
    features = features_of(release)
    supported = tuple(
        SupportedFeatureKey(name=feature.name, min_version=feature.lowest, max_version=feature.highest)
        for feature in features.values()
        if version >= FEATURES_FROM_0 or (version >= 3 and feature.lowest > 0)
    )
    finalized = tuple(
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in (levels or levels_of(release) if features else ())
        if version >= 3 and level > 0
    )
    response = ApiVersionsResponse(
        error_code=ErrorCode.none,
        api_keys=api_keys,
        supported_features=supported,
        finalized_features=finalized,
        finalized_features_epoch=epoch if version >= 3 else -1,
    )
    frame = MESSAGE.write(version, 0, response)
    assert isinstance(frame, bytes)
    return frame
