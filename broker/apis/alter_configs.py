"""AlterConfigs (key 33), versions 0 to 2.

v0 (KIP-133) and v1 alike · v2 tagged fields.

Replaces all settings of a topic or a group: settings that are not in the request return to their default. Not
supported: settings of brokers, which are fixed at start, of broker loggers and of client metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kohort.broker.apis.config_resources import Alterable, alter, alter_resource
from kohort.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.storage.refusal import Refusal


def handle(node: Node, request: AlterConfigsRequest, ticket: Ticket) -> Task[AlterConfigsResponse]:
    def alter_one(resource: AlterConfigsResource) -> Refusal | None:
        return alter_resource(node, ticket, resource, _named, validate_only=request.validate_only)

    responses = yield from alter(request.resources, alter_one, AlterConfigsResourceResponse)
    return AlterConfigsResponse(throttle_time_ms=0, responses=responses)


def _named(altered: Alterable, resource: AlterConfigsResource) -> Mapping[str, str]:
    return {config.name: config.value for config in resource.configs if config.value is not None}
