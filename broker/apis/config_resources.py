"""Shared parts of AlterConfigs and IncrementalAlterConfigs: types of resources, and how each is altered.

Topics and groups can be altered. Settings of brokers are fixed at start; those that Kafka can change pass a dry run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from kohort.broker.settings.dynamic import ONLY_OF_ONE_BROKER, ONLY_WITH_LISTENER, is_fixed
from kohort.broker.settings.topic_defaults import SET_FOR_ALL_BROKERS
from kohort.protocol.errors import ErrorCode
from kohort.security.acls import CLUSTER_NAME
from kohort.security.rights import ALTER_CONFIGS_CLUSTER, ALTER_CONFIGS_GROUP, ALTER_CONFIGS_TOPIC
from kohort.storage.refusal import Refusal
from kohort.storage.topic_configs import TOPIC_CONFIGS, refusal_of
from kohort.storage.topic_names import name_refusal

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.settings.group_configs import GroupConfigs
    from kohort.broker.ticket import Ticket
    from kohort.storage.topic import Topic
    from kohort.storage.topics import Topics

DELETE = 1  # the operation of IncrementalAlterConfigs that has no value

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32  # types of resources in the protocol


class Named(Protocol):
    """A setting in a request."""

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
    """A resource whose settings can be altered."""

    @property
    def configs(self) -> Mapping[str, str]:
        """The settings that are set explicitly."""
        ...

    def list_setting(self, name: str) -> str | None:
        """Return the value or default of a list setting, or None if the setting is not a list."""
        ...

    def configure(self, configs: Mapping[str, str], *, validate_only: bool) -> Refusal | None:
        """Replace the settings that are set explicitly."""
        ...


class AlterableTopic:
    """A topic whose settings are to be altered."""

    def __init__(self, topics: Topics, topic: Topic) -> None:
        self._topics = topics
        self._topic = topic
        self.configs: Mapping[str, str] = topic.configs

    def list_setting(self, name: str) -> str | None:
        if name not in TOPIC_CONFIGS or not TOPIC_CONFIGS[name].is_list:
            return None
        return self.configs.get(name, self._topics.defaults[name])

    def configure(self, configs: Mapping[str, str], *, validate_only: bool) -> Refusal | None:
        return self._topics.configure(self._topic, configs, validate_only=validate_only)


class MissingTopic:
    """A topic that does not exist. Like Kafka's controller, this is reported only if everything else is valid."""

    configs: Mapping[str, str] = {}

    def __init__(self, topics: Topics, name: str) -> None:
        self._topics = topics
        self._name = name

    def list_setting(self, name: str) -> str | None:
        config = TOPIC_CONFIGS.get(name)
        return self._topics.defaults[name] if config is not None and config.is_list else None

    def configure(self, configs: Mapping[str, str], *, validate_only: bool) -> Refusal | None:
        """Return the error: an invalid name before invalid settings, and an unknown topic last."""
        message = name_refusal(self._name)
        if not self._name:
            return Refusal(ErrorCode.invalid_request, "Default topic resources are not allowed.")
        if message is not None:
            return Refusal(ErrorCode.invalid_topic_exception, message)
        message = refusal_of(configs.items(), self._topics.defaults)
        if message is not None:
            return Refusal(ErrorCode.invalid_config, message)
        return Refusal(ErrorCode.unknown_topic_or_partition, f"The topic '{self._name}' does not exist.")


class AlterableBroker:
    """A broker or all brokers. Changes are accepted only in dry runs (validate_only).

    Source: Kafka's `DynamicBrokerConfig.validate`, which accepts unknown names.
    """

    def __init__(self, set_for_all: str | None) -> None:
        """Create the resource.

        Args:
            set_for_all: Value of SET_FOR_ALL_BROKERS if the resource is all brokers.
        """
        self.configs: Mapping[str, str] = {} if set_for_all is None else {SET_FOR_ALL_BROKERS: set_for_all}
        self._of_all = set_for_all is not None

    def list_setting(self, name: str) -> str | None:
        return list_default_of_broker(name)

    def configure(self, configs: Mapping[str, str], *, validate_only: bool) -> Refusal | None:
        """Return the error for invalid settings, and for all settings unless this is a dry run."""
        fixed = [name for name, value in configs.items() if not self._may_be(name, value, validate_only)]
        without_listener = [name for name in configs if name in ONLY_WITH_LISTENER]
        if fixed:
            return _not_to_update("Cannot update these configs dynamically", fixed)
        if without_listener:
            return _not_to_update(_WITH_LISTENER, without_listener)
        messages = (_OF_TOPICS[name].values.check(name, value) for name, value in configs.items() if name in _OF_TOPICS)
        error_message = next((message for message in messages if message is not None), None)
        if error_message is not None:
            return Refusal(ErrorCode.invalid_request, error_message)
        of_one = [name for name in configs if name in ONLY_OF_ONE_BROKER and self._of_all]
        return _not_to_update(_OF_ONE_BROKER, of_one) if of_one else None

    def _may_be(self, name: str, value: str, validate_only: bool) -> bool:
        if name == SET_FOR_ALL_BROKERS:
            return validate_only or not self.configs or value == self.configs[name]
        return validate_only and not is_fixed(name)


_WITH_LISTENER = "These security configs can be dynamically updated only per-listener using the listener prefix"
_OF_ONE_BROKER = "Cannot update these configs at default cluster level, broker id must be specified"


def _not_to_update(reason: str, names: list[str]) -> Refusal:
    return Refusal(ErrorCode.invalid_request, f"{reason}: [{', '.join(names)}]")


def list_default_of_broker(name: str) -> str | None:
    """Return the default of a broker's list setting, or None if the setting is not a list."""
    config = _OF_TOPICS.get(name)
    return config.default_text if config is not None and config.is_list else None


def _refusal_by_elr(resource: Resource, configs: Mapping[str, str]) -> Refusal | None:
    """Reject changes of a setting that Kafka's controller protects while eligible leader replicas are enabled.

    They are enabled in each new cluster. Source: KIP-966, `ConfigurationControlManager`.

    Args:
        configs: All settings of the resource after the change.
    """
    if not resource.resource_name:
        return None if SET_FOR_ALL_BROKERS in configs else NOT_TO_REMOVE
    return NOT_OF_ONE if any(config.name == SET_FOR_ALL_BROKERS for config in resource.configs) else None


NOT_OF_ONE = Refusal(
    ErrorCode.invalid_config, f"Broker-level {SET_FOR_ALL_BROKERS} cannot be altered while ELR is enabled."
)
NOT_TO_REMOVE = Refusal(
    ErrorCode.invalid_config, f"Cluster-level {SET_FOR_ALL_BROKERS} cannot be removed while ELR is enabled."
)

_OF_TOPICS = {config.synonym: config for config in TOPIC_CONFIGS.values() if config.synonym is not None}


class AlterableGroup:
    """A group whose settings are to be altered, whether or not it exists."""

    def __init__(self, group_configs: GroupConfigs, group_id: str) -> None:
        self._group_configs = group_configs
        self._group_id = group_id
        self.configs: Mapping[str, str] = group_configs.of(group_id)

    def list_setting(self, name: str) -> str | None:
        return None

    def configure(self, configs: Mapping[str, str], *, validate_only: bool) -> Refusal | None:
        if not self._group_id:
            return Refusal(ErrorCode.invalid_request, "Default group resources are not allowed.")
        return self._group_configs.configure(self._group_id, configs, validate_only=validate_only)


NOT_ALLOWED = {
    TOPIC: Refusal(ErrorCode.topic_authorization_failed, "Topic authorization failed."),
    GROUP: Refusal(ErrorCode.group_authorization_failed, "Group authorization failed."),
    BROKER: Refusal(ErrorCode.cluster_authorization_failed, "Cluster authorization failed."),
}  # errors for resources whose settings the client may not alter or describe

_NEEDED = {TOPIC: ALTER_CONFIGS_TOPIC, GROUP: ALTER_CONFIGS_GROUP, BROKER: ALTER_CONFIGS_CLUSTER}


def alter(
    resources: Sequence[ResourceT], alter_one: Callable[[ResourceT], Refusal | None], response: Callable[..., ResponseT]
) -> Task[tuple[ResponseT, ...]]:
    """Alter resources independently of each other, with other requests in between; each completely or not at all.

    Args:
        alter_one: Alters a resource that occurs once, or returns the error.
        response: Class of a result for one resource.
    """
    count = Counter((entry.resource_type, entry.resource_name) for entry in resources)
    responses = []
    for resource in resources:
        kind, name = resource.resource_type, resource.resource_name
        refusal = _NAMED_TWICE if count[kind, name] > 1 else alter_one(resource)
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


_NAMED_TWICE = Refusal(ErrorCode.invalid_request, "Each resource must appear at most once.")


def alter_resource(
    node: Node,
    ticket: Ticket,
    resource: ResourceT,
    new_configs: Callable[[Alterable, ResourceT], Mapping[str, str] | Refusal],
    *,
    validate_only: bool,
) -> Refusal | None:
    """Replace the settings of a resource.

    Args:
        new_configs: Returns all settings of the resource after the change, or the error.
    """
    altered = _named_resource(node, resource)
    if isinstance(altered, Refusal):
        return altered
    if not may_alter(node, ticket, resource):
        not_allowed = NOT_ALLOWED[resource.resource_type]
        rules = node.coordinator.settings.rules
        has_message = resource.resource_type != BROKER or not rules.omits_message_for_brokers
        return not_allowed if has_message else not_allowed._replace(message=None)
    configs = new_configs(altered, resource)
    if isinstance(configs, Refusal):
        return configs
    refusal = altered.configure(configs, validate_only=validate_only)
    return _refusal_by_elr(resource, configs) if refusal is None and resource.resource_type == BROKER else refusal


def may_alter(node: Node, ticket: Ticket, resource: Resource) -> bool:
    """Return whether the sender may alter the resource.

    Kafka's controller checks this after all checks of its broker.
    """
    kind, access = resource.resource_type, node.cluster.access
    if access is None or kind not in _NEEDED:
        return True
    return access.allows(ticket, _NEEDED[kind], CLUSTER_NAME if kind == BROKER else resource.resource_name)


def _named_resource(node: Node, resource: Resource) -> Alterable | Refusal:
    name = resource.resource_name
    refusal = refusal_by_broker(node, resource)
    if refusal is not None:
        return refusal
    if resource.resource_type == BROKER:
        return AlterableBroker(None if name else node.cluster.topics.defaults[SET_FOR_ALL_BROKERS])
    if resource.resource_type == GROUP:
        return AlterableGroup(node.cluster.group_configs, name)
    if resource.resource_type != TOPIC:
        return _unknown_type(resource)
    topics = node.cluster.topics
    topic = topics.by_name(name)
    return MissingTopic(topics, name) if topic is None else AlterableTopic(topics, topic)


def refusal_by_broker(node: Node, resource: Resource) -> Refusal | None:
    """Return the error of Kafka's broker; its controller makes all other checks.

    Source, also of the order: `ConfigAdminManager.preprocess`.
    """
    settings = [config.name for config in resource.configs]
    if len(set(settings)) < len(settings):
        return Refusal(ErrorCode.invalid_request, "Error due to duplicate config keys")
    nulls = [
        entry.name
        for entry in resource.configs
        if entry.value is None and getattr(entry, "config_operation", 0) != DELETE
    ]
    if nulls:
        return Refusal(ErrorCode.invalid_request, f"Null value not supported for : {', '.join(nulls)}")
    if resource.resource_type == BROKER:
        name = resource.resource_name
        return refusal_of_broker_id(node, name, "Node", ",") if name else None
    return None if resource.resource_type in (TOPIC, CLIENT_METRICS, GROUP) else _unknown_type(resource)


def _unknown_type(resource: Resource) -> Refusal:
    return Refusal(ErrorCode.invalid_request, f"Unknown resource type {resource.resource_type}")


def refusal_of_broker_id(node: Node, name: str, kind: str, after_id: str) -> Refusal | None:
    """Return an error unless `name` is the id of this node.

    Args:
        kind: What Kafka's message calls the id, which depends on the API.
        after_id: What follows the expected id in Kafka's message.
    """
    number = parse_int(name)
    if number is None:
        return Refusal(ErrorCode.invalid_request, f"{kind} id must be an integer, but it is: {name}")
    if number != node.id:
        message = f"Unexpected broker id, expected {node.id}{after_id} but received {name}"
        return Refusal(ErrorCode.invalid_request, message)
    return None


def parse_int(text: str) -> int | None:
    """Return the number that Java's `Integer.parseInt` reads, or None if it rejects the text."""
    digits = _INTEGER.fullmatch(text)
    if digits is None or len(digits[1]) > _MAX_DIGITS:
        return None
    number = int(text)
    return number if -(1 << 31) <= number < 1 << 31 else None


_INTEGER = re.compile(r"[+-]?0*(\d*)(?<=\d)")
_MAX_DIGITS = 10
