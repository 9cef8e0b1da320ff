"""DescribeConfigs (key 32), versions 1 to 4.

v1 sources and synonyms (KIP-226) · v2 as v1 · v3 types and documentation (KIP-569) · v4 tagged fields.
Supports topics, groups, brokers, and the defaults of client metrics subscriptions, which cannot be created. kohort's
brokers have no loggers, so that the list of loggers is empty.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from kohort.broker.apis.broker_configs import broker_synonyms, of_all_brokers, of_broker
from kohort.broker.apis.config_resources import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    NOT_ALLOWED,
    TOPIC,
    refusal_of_broker_id,
)
from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.broker.settings.topic_defaults import (
    DEFAULT_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    SET_FOR_ALL_BROKERS,
    STATIC_BROKER_CONFIG,
    synonyms_of,
)
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kohort.security.acls import CLUSTER_NAME
from kohort.security.rights import DESCRIBE_CONFIGS_CLUSTER, DESCRIBE_CONFIGS_GROUP, DESCRIBE_CONFIGS_TOPIC
from kohort.storage.config_types import INT, LIST
from kohort.storage.refusal import Refusal
from kohort.storage.topic import Topic
from kohort.storage.topic_configs import TOPIC_CONFIGS
from kohort.storage.topic_names import name_refusal

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.settings.group_configs import GroupConfigs
    from kohort.broker.ticket import Ticket

# Types of resources that Kafka knows. Any other type fails the whole request
# (`ConfigHelper.handleDescribeConfigsRequest`).
TYPES = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)

_INVALID_REQUEST = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)

DYNAMIC_GROUP_CONFIG = 8  # source of a value that was set for a group; the others are in topic_defaults.py


def handle(node: Node, request: DescribeConfigsRequest, ticket: Ticket) -> Task[DescribeConfigsResponse]:
    if any(resource.resource_type not in TYPES for resource in request.resources):
        return error_response(request, ErrorCode.invalid_request)
    describing = _Describing(node, request, ticket)
    results = yield from one_by_one(describing.result, request.resources)
    if node.cluster.access is not None:  # Kafka puts unauthorized resources last
        results = tuple(sorted(results, key=lambda result: result.error_code in _NOT_ALLOWED))
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


_NEEDED = {TOPIC: DESCRIBE_CONFIGS_TOPIC, GROUP: DESCRIBE_CONFIGS_GROUP}
_NOT_ALLOWED = [refusal.error_code for refusal in NOT_ALLOWED.values()]


class _Describing:
    """State of one request. Resources with the same settings share their descriptions."""

    def __init__(self, node: Node, request: DescribeConfigsRequest, ticket: Ticket) -> None:
        self._node, self._request, self._ticket = node, request, ticket
        self._descriptions: dict[Hashable, tuple[DescribeConfigsResourceResult, ...]] = {}
        self._results: dict[Hashable, DescribeConfigsResult] = {}

    def result(self, resource: DescribeConfigsResource) -> DescribeConfigsResult:
        """Return the result for one resource; the same object for duplicates."""
        key = resource.resource_type, resource.resource_name, resource.configuration_keys
        if key not in self._results:
            self._results[key] = self._describe(resource)
        return self._results[key]

    def _describe(self, resource: DescribeConfigsResource) -> DescribeConfigsResult:
        dialled = self._ticket.listener[0]
        configs = _not_allowed(self._node, resource, self._ticket) or _configs(self._node, resource, dialled)
        result = DescribeConfigsResult(
            error_code=ErrorCode.none,
            error_message="",
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            configs=(),
        )
        if isinstance(configs, Refusal):
            result.error_code, result.error_message = configs.error_code, configs.message
            return result
        key = _same_for(self._node, resource)
        if key not in self._descriptions:
            self._descriptions[key] = tuple(map(self._as_asked, configs))
        keys = set(resource.configuration_keys or ())
        description = self._descriptions[key]
        result.configs = tuple(config for config in description if config.name in keys) if keys else description
        return result

    def _as_asked(self, config: DescribeConfigsResourceResult) -> DescribeConfigsResourceResult:
        if not self._request.include_synonyms:
            config.synonyms = ()
        if not self._request.include_documentation:
            config.documentation = None
        return config


def _same_for(node: Node, resource: DescribeConfigsResource) -> Hashable:
    """Return a key that is equal for all resources with the same settings. For example, `1` and `01` are one broker."""
    kind, name = resource.resource_type, resource.resource_name
    if kind == BROKER:
        return kind, bool(name)
    if kind in (BROKER_LOGGER, CLIENT_METRICS):
        return kind
    return kind, name if kind == TOPIC else frozenset(node.cluster.group_configs.of(name).items())


def _not_allowed(node: Node, resource: DescribeConfigsResource, ticket: Ticket) -> Refusal | None:
    """Return the error if the client may not describe a resource.

    Other types than topics and groups need a cluster right.
    """
    kind, access = resource.resource_type, node.cluster.access
    if access is None:
        return None
    name = resource.resource_name if kind in _NEEDED else CLUSTER_NAME
    allowed = access.allows(ticket, _NEEDED.get(kind, DESCRIBE_CONFIGS_CLUSTER), name)
    return None if allowed else NOT_ALLOWED.get(kind, NOT_ALLOWED[BROKER])


def _configs(
    node: Node, resource: DescribeConfigsResource, dialled: str
) -> Iterable[DescribeConfigsResourceResult] | Refusal:
    """Return the settings of a resource, or the error.

    Args:
        dialled: Host by which the client has reached the node.
    """
    name = resource.resource_name
    if resource.resource_type == TOPIC:
        message = name_refusal(name)
        if message is not None:
            return Refusal(ErrorCode.invalid_topic_exception, message)
        topic = node.cluster.topics.by_name(name)
        return Refusal(ErrorCode.unknown_topic_or_partition, "") if topic is None else _of_topic(node, topic)
    if resource.resource_type == BROKER:
        if not name:
            return of_all_brokers(node.cluster.settings)
        return refusal_of_broker_id(node, name, "Broker", " or empty string,") or of_broker(node, dialled)
    if resource.resource_type == BROKER_LOGGER:
        if not name:
            return Refusal(ErrorCode.invalid_request, "Broker id must not be empty")
        return refusal_of_broker_id(node, name, "Broker", "") or ()
    if resource.resource_type == GROUP:
        if not name:
            return Refusal(ErrorCode.invalid_request, "Group name must not be empty")
        return _of_group(node.cluster.group_configs, name)
    assert resource.resource_type == CLIENT_METRICS, "`handle` rejects other types"
    if not name:
        return Refusal(ErrorCode.invalid_request, "Client metrics subscription name must not be empty")
    return _of_client_metrics()


def _of_topic(node: Node, topic: Topic) -> Iterable[DescribeConfigsResourceResult]:
    for name, value in node.cluster.topics.effective_configs(topic.configs).items():
        config, synonyms = TOPIC_CONFIGS[name], tuple(_topic_synonyms(node, topic, name))
        yield DescribeConfigsResourceResult(
            name=name,
            value=value,
            read_only=False,
            config_source=synonyms[0].source if synonyms else DEFAULT_CONFIG,
            is_sensitive=False,
            synonyms=synonyms,
            config_type=config.kind,
            documentation=config.documentation,
        )


def _topic_synonyms(node: Node, topic: Topic, name: str) -> Iterable[DescribeConfigsSynonym]:
    """Yield the sources of a value, highest precedence first."""
    if name in topic.configs:
        yield DescribeConfigsSynonym(name=name, value=topic.configs[name], source=DYNAMIC_TOPIC_CONFIG)
    if name == SET_FOR_ALL_BROKERS:
        value = node.cluster.topics.defaults[name]
        yield DescribeConfigsSynonym(name=name, value=value, source=DYNAMIC_DEFAULT_BROKER_CONFIG)
    if synonyms := synonyms_of(name):
        yield from broker_synonyms(node.cluster.settings, synonyms[0], synonyms)


def _of_group(group_configs: GroupConfigs, group_id: str) -> Iterable[DescribeConfigsResourceResult]:
    own = group_configs.of(group_id)
    for name, config in sorted(group_configs.available.items()):
        if not config.is_described and name not in own:
            continue
        synonym = config.synonym or name
        synonyms = [DescribeConfigsSynonym(name=synonym, value=config.default_text, source=DEFAULT_CONFIG)]
        if synonym in group_configs.explicit:
            value = group_configs.explicit[synonym]
            synonyms.insert(0, DescribeConfigsSynonym(name=synonym, value=value, source=STATIC_BROKER_CONFIG))
        if name in own:
            synonyms.insert(0, DescribeConfigsSynonym(name=name, value=own[name], source=DYNAMIC_GROUP_CONFIG))
        yield DescribeConfigsResourceResult(
            name=name,
            value=synonyms[0].value,
            read_only=False,
            config_source=synonyms[0].source,
            is_sensitive=False,
            synonyms=tuple(synonyms),
            config_type=config.kind,
            documentation=config.documentation,
        )


_CLIENT_METRICS = (
    ("interval.ms", "300000", INT, "Metrics push interval in milliseconds"),
    ("match", "", LIST, "Client match criteria"),
    ("metrics", "", LIST, "Telemetry metric name prefix list"),
)  # Kafka's description of a client metrics subscription (KIP-714) that does not exist; kohort has no others.


def _of_client_metrics() -> Iterable[DescribeConfigsResourceResult]:
    for name, value, kind, documentation in _CLIENT_METRICS:
        yield DescribeConfigsResourceResult(
            name=name,
            value=value,
            read_only=False,
            config_source=DEFAULT_CONFIG,
            is_sensitive=False,
            synonyms=(),
            config_type=kind,
            documentation=documentation,
        )


def error_response(request: DescribeConfigsRequest, error_code: ErrorCode) -> DescribeConfigsResponse:
    message = _INVALID_REQUEST if error_code is ErrorCode.invalid_request else None
    return DescribeConfigsResponse(
        throttle_time_ms=0,
        results=tuple(
            DescribeConfigsResult(
                error_code=error_code,
                error_message=message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=(),
            )
            for resource in request.resources
        ),
    )
