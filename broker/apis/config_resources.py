"""What AlterConfigs and IncrementalAlterConfigs have in common: which resources there are, and how each is altered.

Topics and groups can be. Settings of brokers are fixed at start; what Kafka could change then passes a dry run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from kohort.broker.settings.dynamic import is_fixed
from kohort.broker.settings.topic_defaults import SET_FOR_ALL_BROKERS
from kohort.protocol.errors import ErrorCode
from kohort.storage.refusal import Refusal
from kohort.storage.topic_configs import TOPIC_CONFIGS, refusal_of
from kohort.storage.topics import name_refusal

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.settings.group_configs import GroupConfigs
    from kohort.broker.slices import Slices
    from kohort.storage.topics import Topic, Topics

DELETE = 1
"""What may be done to a setting without a value (IncrementalAlterConfigs)."""

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
"""Types of resources as the protocol numbers them."""


class Named(Protocol):
    """Something that has a name: a setting in a request."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str | None: ...


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


class MissingTopic:
    """A topic that does not exist: that is said when everything else is right, as by Kafka's controller."""

    configs: Mapping[str, str] = {}

    def __init__(self, topics: Topics, name: str) -> None:
        self._topics = topics
        self._name = name

    def list_setting(self, name: str) -> str | None:
        """The default."""
        known = TOPIC_CONFIGS.get(name)
        return self._topics.defaults[name] if known is not None and known.is_list else None

    def configure(self, configs: Mapping[str, str], *, validate_only: bool) -> Refusal | None:
        """Always refused."""
        problem = refusal_of(configs.items(), self._topics.defaults)
        if problem is not None:
            return Refusal(ErrorCode.invalid_config, problem)
        return Refusal(ErrorCode.unknown_topic_or_partition, f"The topic '{self._name}' does not exist.")


class AlterableBroker:
    """A broker, or all of them, of which nothing can be altered but in dry runs.

    Source: Kafka's `DynamicBrokerConfig.validate`; a name that nobody knows is no mistake there.
    """

    configs: Mapping[str, str] = {}

    def list_setting(self, name: str) -> str | None:
        """The default of a topics' setting that brokers have too."""
        config = _OF_TOPICS.get(name)
        return config.default_text if config is not None and config.is_list else None

    def configure(self, configs: Mapping[str, str], *, validate_only: bool) -> Refusal | None:
        """Returns what is wrong; and that nothing can be altered, unless it is a dry run."""
        fixed = [name for name in configs if name != SET_FOR_ALL_BROKERS and (not validate_only or is_fixed(name))]
        if fixed:
            message = f"Cannot update these configs dynamically: [{', '.join(fixed)}]"
            return Refusal(ErrorCode.invalid_request, message)
        problems = (_OF_TOPICS[name].values.check(name, value) for name, value in configs.items() if name in _OF_TOPICS)
        problem = next((each for each in problems if each is not None), None)
        if problem is not None:
            return Refusal(ErrorCode.invalid_request, problem)
        return _NOT_WHILE_ELR if SET_FOR_ALL_BROKERS in configs else None


_NOT_WHILE_ELR = Refusal(
    ErrorCode.invalid_config, f"Broker-level {SET_FOR_ALL_BROKERS} cannot be altered while ELR is enabled."
)
"""What Kafka's controller says where eligible leader replicas are on, as in each new cluster (KIP-966)."""

_OF_TOPICS = {config.synonym: config for config in TOPIC_CONFIGS.values() if config.synonym is not None}


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
) -> Slices[tuple[ResponseT, ...]]:
    """Gives resources other settings, each for itself, of each all or none; others may come between two.

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
        yield
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
    """Source, also of the order: Kafka's `ConfigAdminManager.preprocess`."""
    name = resource.resource_name
    settings = [config.name for config in resource.configs]
    if len(set(settings)) < len(settings):
        return Refusal(ErrorCode.invalid_request, "Error due to duplicate config keys")
    nulls = [
        each.name for each in resource.configs if each.value is None and getattr(each, "config_operation", 0) != DELETE
    ]
    if nulls:
        return Refusal(ErrorCode.invalid_request, f"Null value not supported for : {', '.join(nulls)}")
    if resource.resource_type == BROKER:
        return _broker_to_alter(node, name)
    if resource.resource_type == GROUP:
        if not name:
            return Refusal(ErrorCode.invalid_request, "Default group resources are not allowed.")
        return AlterableGroup(node.cluster.group_configs, name)
    if resource.resource_type != TOPIC:
        return Refusal(ErrorCode.invalid_request, f"Unknown resource type {resource.resource_type}")
    return _topic_to_alter(node.cluster.topics, name)


def _broker_to_alter(node: Node, name: str) -> AlterableBroker | Refusal:
    if not name:
        return AlterableBroker()
    if not _INTEGER.fullmatch(name):
        return Refusal(ErrorCode.invalid_request, f"Node id must be an integer, but it is: {name}")
    if int(name) != node.id:
        return Refusal(ErrorCode.invalid_request, f"Unexpected broker id, expected {node.id}, but received {name}")
    return AlterableBroker()


_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")


def _topic_to_alter(topics: Topics, name: str) -> AlterableTopic | MissingTopic | Refusal:
    if not name:
        return Refusal(ErrorCode.invalid_request, "Default topic resources are not allowed.")
    problem = name_refusal(name)
    if problem is not None:
        return Refusal(ErrorCode.invalid_topic_exception, problem)
    topic = topics.by_name(name)
    if topic is None:
        return MissingTopic(topics, name)
    return AlterableTopic(topics, topic)
