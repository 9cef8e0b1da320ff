"""What AlterConfigs and IncrementalAlterConfigs have in common: which resources there are, and how each is altered.

Topics and groups can be. Settings of the broker are fixed at start, and hear what Kafka says of such.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from kohort.protocol.errors import ErrorCode
from kohort.storage.refusal import Refusal
from kohort.storage.topic_configs import TOPIC_CONFIGS
from kohort.storage.topics import name_refusal

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.settings.group_configs import GroupConfigs
    from kohort.storage.topics import Topic, Topics

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
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


ResourceT = TypeVar("ResourceT", bound=Resource)
ResponseT = TypeVar("ResponseT")


class Alterable(Protocol):
    """Something whose settings can be altered."""

    @property
    def configs(self) -> Mapping[str, str]:
        """What was set for it."""
        ...

    def list_setting(self, name: str) -> str | None:
        """The value of a setting that is a list; None: it is none."""
        ...

    def configure(self, configs: Mapping[str, str], *, validate_only: bool) -> Refusal | None:
        """Replaces what was set for it."""
        ...


class AlterableTopic:
    """A topic whose settings are to be altered."""

    def __init__(self, topics: Topics, topic: Topic) -> None:
        self._topics = topics
        self._topic = topic
        self.configs: Mapping[str, str] = topic.configs

    def list_setting(self, name: str) -> str | None:
        """What was set, or the default."""
        if name not in TOPIC_CONFIGS or not TOPIC_CONFIGS[name].is_list:
            return None
        return self.configs.get(name, self._topics.defaults[name])

    def configure(self, configs: Mapping[str, str], *, validate_only: bool) -> Refusal | None:
        """All settings or none."""
        return self._topics.configure(self._topic, configs, validate_only=validate_only)


class AlterableGroup:
    """A group whose settings are to be altered, whether or not it exists."""

    def __init__(self, group_configs: GroupConfigs, group_id: str) -> None:
        self._group_configs = group_configs
        self._group_id = group_id
        self.configs: Mapping[str, str] = group_configs.of(group_id)

    def list_setting(self, name: str) -> str | None:
        """No setting of a group is a list."""
        return None

    def configure(self, configs: Mapping[str, str], *, validate_only: bool) -> Refusal | None:
        """All settings or none."""
        return self._group_configs.configure(self._group_id, configs, validate_only=validate_only)


def alter(
    node: Node,
    resources: Iterable[ResourceT],
    new_configs: Callable[[Alterable, ResourceT], Mapping[str, str] | Refusal],
    response: Callable[..., ResponseT],
    *,
    validate_only: bool,
) -> tuple[ResponseT, ...]:
    """Gives resources other settings, each for itself, of each all or none.

    `new_configs`: everything that is to be set for a resource from now on, as the request has it, or why not.
    `response`: the class of an answer for one resource.
    """
    asked = list(resources)
    count = Counter((each.resource_type, each.resource_name) for each in asked)
    responses = []
    for resource in asked:
        kind, name = resource.resource_type, resource.resource_name
        refusal: Refusal | None
        if count[kind, name] > 1:
            refusal = Refusal(ErrorCode.invalid_request, "Each resource must appear at most once.")
        else:
            refusal = _alter(node, resource, new_configs, validate_only)
        responses.append(
            response(
                error_code=ErrorCode.none if refusal is None else refusal.error_code,
                error_message=None if refusal is None else refusal.message,
                resource_type=kind,
                resource_name=name,
            )
        )
    return tuple(responses)


def _alter(
    node: Node,
    resource: ResourceT,
    new_configs: Callable[[Alterable, ResourceT], Mapping[str, str] | Refusal],
    validate_only: bool,
) -> Refusal | None:
    altered = _resource_to_alter(node, resource)
    if isinstance(altered, Refusal):
        return altered
    configs = new_configs(altered, resource)
    return configs if isinstance(configs, Refusal) else altered.configure(configs, validate_only=validate_only)


def _resource_to_alter(node: Node, resource: Resource) -> Alterable | Refusal:
    name = resource.resource_name
    settings = [config.name for config in resource.configs]
    if len(set(settings)) < len(settings):
        return Refusal(ErrorCode.invalid_request, "Error due to duplicate config keys")
    if resource.resource_type == BROKER:
        return Refusal(ErrorCode.invalid_request, f"Cannot update these configs dynamically: [{', '.join(settings)}]")
    if resource.resource_type == GROUP:
        if not name:
            return Refusal(ErrorCode.invalid_request, "Default group resources are not allowed.")
        return AlterableGroup(node.cluster.group_configs, name)
    if resource.resource_type != TOPIC:
        return Refusal(ErrorCode.invalid_request, f"Unknown resource type {resource.resource_type}")
    return _topic_to_alter(node.cluster.topics, name)


def _topic_to_alter(topics: Topics, name: str) -> AlterableTopic | Refusal:
    if not name:
        return Refusal(ErrorCode.invalid_request, "Default topic resources are not allowed.")
    problem = name_refusal(name)
    if problem is not None:
        return Refusal(ErrorCode.invalid_topic_exception, problem)
    topic = topics.by_name(name)
    if topic is None:
        return Refusal(ErrorCode.unknown_topic_or_partition, f"The topic '{name}' does not exist.")
    return AlterableTopic(topics, topic)
