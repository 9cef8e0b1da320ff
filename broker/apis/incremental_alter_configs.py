"""IncrementalAlterConfigs (key 44), versions 0 and 1.

v0 (KIP-339) · v1 tagged fields.

Left out: settings of brokers, which are fixed at start; of broker loggers and client metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kohort.broker.apis.config_resources import Alterable, AlterableBroker, alter
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kohort.storage.config_types import split_list
from kohort.storage.refusal import Refusal

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.slices import Slices
    from kohort.broker.ticket import Ticket

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
"""What may be done to a setting."""

_NAMES = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


def handle(
    node: Node, request: IncrementalAlterConfigsRequest, ticket: Ticket
) -> Slices[IncrementalAlterConfigsResponse]:
    """Changes single settings of topics and groups; of each all or none."""
    responses = yield from alter(
        node, request.resources, _changed, AlterConfigsResourceResponse, validate_only=request.validate_only
    )
    return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=responses)


def _changed(altered: Alterable, resource: AlterConfigsResource) -> Mapping[str, str] | Refusal:
    """What is set now, with the request's changes."""
    configs = dict(altered.configs)
    for change in resource.configs:
        refusal = _change(configs, altered, change)
        if refusal is not None:
            return refusal
    return configs


def _change(configs: dict[str, str], altered: Alterable, change: AlterableConfig) -> Refusal | None:
    """Applies one change to `configs`. Source: Kafka's `ConfigurationControlManager`."""
    name, operation = change.name, change.config_operation
    if operation == DELETE:
        configs.pop(name, None)
        return None
    if operation not in (SET, *_NAMES):
        if isinstance(altered, AlterableBroker):
            return Refusal(ErrorCode.invalid_request, f"Unknown operations type {operation}")
        # Kafka fails over it, and says no more than this.
        return Refusal(ErrorCode.unknown_server_error)
    assert change.value is not None, "nulls have been refused"
    if operation == SET:
        configs[name] = change.value
        return None
    value = altered.list_setting(name)
    if value is None:
        return Refusal(
            ErrorCode.invalid_config, f"Can't {_NAMES[operation]} to key {name} because its type is not LIST."
        )
    words = split_list(value)
    named = [word.strip() for word in change.value.split(",")]
    if operation == APPEND:
        words += [word for number, word in enumerate(named) if word not in words and word not in named[:number]]
    else:
        words = [word for word in words if word not in named]
    configs[name] = ",".join(words)
    return None
