"""What AlterConfigs and IncrementalAlterConfigs have in common: which resources there are, and who may be altered.

Only topics can be. Settings of the broker are fixed at start, and hear what Kafka says of such.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from kohort.protocol.errors import ErrorCode
from kohort.storage.topics import Refusal, Topic, name_refusal

if TYPE_CHECKING:
    from kohort.broker.node import Node

TOPIC, BROKER = 2, 4
"""Types of resources as the protocol numbers them."""


class Named(Protocol):
    """Something that has a name: a setting in a request."""

    @property
    def name(self) -> str: ...


class Resource(Protocol):
    """A resource in a request."""

    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def configs(self) -> Iterable[Named]: ...


def named_twice(resources: Iterable[Resource]) -> set[tuple[int, str]]:
    """The resources that a request names more than once."""
    count = Counter((each.resource_type, each.resource_name) for each in resources)
    return {resource for resource, times in count.items() if times > 1}


def topic_to_alter(node: Node, resource: Resource, twice: set[tuple[int, str]]) -> Topic | Refusal:
    """The topic whose settings are to be altered, or why there is none."""
    name = resource.resource_name
    if (resource.resource_type, name) in twice:
        return Refusal(ErrorCode.invalid_request, "Each resource must appear at most once.")
    settings = [config.name for config in resource.configs]
    if len(set(settings)) < len(settings):
        return Refusal(ErrorCode.invalid_request, "Error due to duplicate config keys")
    if resource.resource_type == BROKER:
        return Refusal(ErrorCode.invalid_request, f"Cannot update these configs dynamically: [{', '.join(settings)}]")
    if resource.resource_type != TOPIC:
        return Refusal(ErrorCode.invalid_request, f"Unknown resource type {resource.resource_type}")
    if not name:
        return Refusal(ErrorCode.invalid_request, "Default topic resources are not allowed.")
    problem = name_refusal(name)
    if problem is not None:
        return Refusal(ErrorCode.invalid_topic_exception, problem)
    topic = node.cluster.topics.by_name(name)
    if topic is None:
        return Refusal(ErrorCode.unknown_topic_or_partition, f"The topic '{name}' does not exist.")
    return topic
