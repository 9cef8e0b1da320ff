"""AlterConfigs (key 33), versions 0 to 2.

v0 (KIP-133) and v1 alike · v2 tagged fields.

Replaces all settings of a topic or a group: what is not named goes back to its default. Left out: settings of brokers,
which are fixed at start; of broker loggers and client metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.config_resources import named_twice, resource_to_alter
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from kohort.storage.refusal import Refusal

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: AlterConfigsRequest, ticket: Ticket) -> AlterConfigsResponse:
    """Gives topics and groups other settings, each for itself."""
    twice = named_twice(request.resources)
    responses = []
    for resource in request.resources:
        refusal = _alter(node, resource, twice, request.validate_only)
        responses.append(
            AlterConfigsResourceResponse(
                error_code=ErrorCode.none if refusal is None else refusal.error_code,
                error_message=None if refusal is None else refusal.message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
        )
    return AlterConfigsResponse(throttle_time_ms=0, responses=tuple(responses))


def _alter(
    node: Node, resource: AlterConfigsResource, twice: set[tuple[int, str]], validate_only: bool
) -> Refusal | None:
    altered = resource_to_alter(node, resource, twice)
    if isinstance(altered, Refusal):
        return altered
    configs = {}
    for config in resource.configs:
        if config.value is None:
            return Refusal(ErrorCode.invalid_request, f"Null value not supported for : {config.name}")
        configs[config.name] = config.value
    return altered.configure(configs, validate_only=validate_only)
