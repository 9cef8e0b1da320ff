"""IncrementalAlterConfigs (key 44), versions 0 and 1.

v0 (KIP-339) · v1 tagged fields.
Not supported: settings of brokers, which are fixed at start, of broker loggers and of client metrics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.apis.config_resources import (
    BROKER,
    NOT_OF_ONE,
    NOT_TO_REMOVE,
    TOPIC,
    Alterable,
    AlterableBroker,
    alter,
    alter_resource,
    list_default_of_broker,
    may_alter,
    refusal_by_broker,
)
from kohort.broker.settings.dynamic import is_known
from kohort.coordinator.groups.group_placement import java_hash
from kohort.coordinator.java_order import in_map_order
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
from kohort.storage.topic_configs import TOPIC_CONFIGS

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3  # operations on a setting

_OPERATIONS = {SET, DELETE, APPEND, SUBTRACT}
_NAMES = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


def handle(
    node: Node, request: IncrementalAlterConfigsRequest, ticket: Ticket
) -> Task[IncrementalAlterConfigsResponse]:
    """Alter single settings of topics and groups; of each resource all or none."""

    def alter_one(resource: AlterConfigsResource) -> Refusal | None:
        return alter_resource(node, ticket, resource, changed, validate_only=request.validate_only)

    def fail_one(resource: AlterConfigsResource) -> Refusal | None:
        return _refusal_by_broker(node, resource, alter_one) or Refusal(ErrorCode.unknown_server_error)

    orders: dict[int, Sequence[AlterableConfig]] = {}
    for resource in request.resources:
        orders[id(resource)] = yield from _in_order(resource)
        yield
    changed = partial(_changed, orders)
    fails = False
    for resource in _perhaps_fatal(request.resources):
        if _is_fatal(resource, orders[id(resource)]) and may_alter(node, ticket, resource):
            fails = _refusal_by_broker(node, resource, alter_one) is None
            if fails:
                break
        yield
    responses = yield from alter(request.resources, fail_one if fails else alter_one, AlterConfigsResourceResponse)
    return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=responses)


def _perhaps_fatal(resources: Sequence[AlterConfigsResource]) -> list[AlterConfigsResource]:
    """Return the resources that could fail the whole request in Kafka's controller."""
    if {change.config_operation for resource in resources for change in resource.configs} <= _OPERATIONS:
        return []
    count = Counter((entry.resource_type, entry.resource_name) for entry in resources)
    return [entry for entry in resources if count[entry.resource_type, entry.resource_name] == 1]


def _is_fatal(resource: AlterConfigsResource, ordered: Sequence[AlterableConfig]) -> bool:
    """Return whether Kafka's controller reaches an unknown operation."""
    for change in ordered:
        if change.config_operation not in _OPERATIONS:
            return True
        if change.config_operation in _NAMES and not _is_list(resource, change.name):
            return False
    return False


def _refusal_by_broker(
    node: Node, resource: AlterConfigsResource, alter_one: Callable[[AlterConfigsResource], Refusal | None]
) -> Refusal | None:
    """Return the error of Kafka's broker, which also alters its own settings before it calls its controller."""
    refusal = refusal_by_broker(node, resource)
    if refusal is not None or resource.resource_type != BROKER:
        return refusal
    refusal = alter_one(resource)
    return None if refusal in (NOT_OF_ONE, NOT_TO_REMOVE) else refusal


def _is_list(resource: AlterConfigsResource, name: str) -> bool:
    if resource.resource_type == BROKER:
        return list_default_of_broker(name) is not None
    return resource.resource_type == TOPIC and name in TOPIC_CONFIGS and TOPIC_CONFIGS[name].is_list


def _in_order(resource: AlterConfigsResource) -> Task[Sequence[AlterableConfig]]:
    """Sort the changes of a resource in the order of Kafka's controller, which reports the first error."""
    if len(resource.configs) < 2:
        return resource.configs
    hashes: dict[str, int] = {}
    for change in resource.configs:
        hashes[change.name] = java_hash(change.name)
        yield
    return in_map_order(resource.configs, lambda change: hashes[change.name])


def _changed(
    orders: Mapping[int, Sequence[AlterableConfig]], altered: Alterable, resource: AlterConfigsResource
) -> Mapping[str, str] | Refusal:
    """Return all settings after the request's changes, or the error."""
    configs = dict(altered.configs)
    for change in orders[id(resource)]:
        refusal = _change(configs, altered, change)
        if refusal is not None:
            return refusal
    return configs


def _change(configs: dict[str, str], altered: Alterable, change: AlterableConfig) -> Refusal | None:
    """Apply one change to `configs`. Source: Kafka's `ConfigurationControlManager`."""
    name, operation = change.name, change.config_operation
    if operation == DELETE:
        configs.pop(name, None)
        return None
    if operation not in _OPERATIONS:
        return Refusal(ErrorCode.invalid_request, f"Unknown operations type {operation}")
    assert change.value is not None, "nulls have been refused"
    if operation == SET:
        configs[name] = change.value
        return None
    value = altered.list_setting(name)
    if value is None:
        return Refusal(ErrorCode.invalid_config, _why_no_list(altered, name, _NAMES[operation]))
    words = split_list(value)
    named = [word.strip() for word in change.value.split(",")]
    if operation == APPEND:
        words += [word for number, word in enumerate(named) if word not in words and word not in named[:number]]
    else:
        words = [word for word in words if word not in named]
    configs[name] = ",".join(words)
    return None


def _why_no_list(altered: Alterable, name: str, operation: str) -> str:
    """Return Kafka's message for an operation on a setting that is not a list. Its broker has other messages."""
    if not isinstance(altered, AlterableBroker):
        return f"Can't {operation} to key {name} because its type is not LIST."
    if is_known(name):
        return f"Config value {operation.lower()} is not allowed for config key: {name}"
    return f"Unknown config name: {name}"
