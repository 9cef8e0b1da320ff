"""DescribeConfigs (key 32), versions 1 to 4.

v1 sources and synonyms (KIP-226) · v2 as v1 · v3 types and documentation (KIP-569) · v4 tagged fields.

Serves topics, groups, brokers, and the defaults of client metrics subscriptions, none of which can be created. Brokers
have no loggers here, so that the list of loggers is empty.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from kohort.broker.apis.broker_configs import default_of, of_all_brokers, of_broker
from kohort.broker.apis.config_resources import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    NOT_ALLOWED,
    TOPIC,
    parse_int,
)
from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.broker.settings.group_configs import GROUP_CONFIGS
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
    from kohort.broker.settings.broker_settings import Settings
    from kohort.broker.settings.group_configs import GroupConfigs
    from kohort.broker.ticket import Ticket

TYPES = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)
"""Resources that Kafka knows. Another one spoils the whole request (`ConfigHelper.handleDescribeConfigsRequest`)."""

_INVALID_REQUEST = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)

DYNAMIC_GROUP_CONFIG = 8
"""Source of a value that was set for a group; the others are in topic_defaults.py."""


def handle(node: Node, request: DescribeConfigsRequest, ticket: Ticket) -> Task[DescribeConfigsResponse]:
    """Describes the settings of topics, groups and brokers."""
    if any(resource.resource_type not in TYPES for resource in request.resources):
        return error_response(request, ErrorCode.invalid_request)
    describing = _Describing(node, request, ticket)
    results = yield from one_by_one(describing.result, request.resources)
    if node.cluster.access is not None:  # Kafka answers last what it refuses
        results = tuple(sorted(results, key=lambda result: result.error_code in _NOT_ALLOWED))
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


_NEEDED = {TOPIC: DESCRIBE_CONFIGS_TOPIC, GROUP: DESCRIBE_CONFIGS_GROUP}
_NOT_ALLOWED = [refusal.error_code for refusal in NOT_ALLOWED.values()]


class _Describing:
    """One request: resources that have the same settings share them, however often they are named."""

    def __init__(self, node: Node, request: DescribeConfigsRequest, ticket: Ticket) -> None:
        self._node, self._request, self._ticket = node, request, ticket
        self._known: dict[Hashable, tuple[DescribeConfigsResourceResult, ...]] = {}
        self._results: dict[Hashable, DescribeConfigsResult] = {}

    def result(self, resource: DescribeConfigsResource) -> DescribeConfigsResult:
        """Return the result for one resource; the same object for one that is named again."""
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
        if key not in self._known:
            self._known[key] = tuple(map(self._as_asked, configs))
        wanted = set(resource.configuration_keys or ())
        known = self._known[key]
        result.configs = tuple(config for config in known if config.name in wanted) if wanted else known
        return result

    def _as_asked(self, config: DescribeConfigsResourceResult) -> DescribeConfigsResourceResult:
        if not self._request.include_synonyms:
            config.synonyms = ()
        if not self._request.include_documentation:
            config.documentation = None
        return config


def _same_for(node: Node, resource: DescribeConfigsResource) -> Hashable:
    """What a resource shares with all that have the same settings: `1` and `01` name one broker, for example."""
    kind, name = resource.resource_type, resource.resource_name
    if kind == BROKER:
        return kind, bool(name)
    if kind in (BROKER_LOGGER, CLIENT_METRICS):
        return kind
    return kind, name if kind == TOPIC else frozenset(node.cluster.group_configs.of(name).items())


def _not_allowed(node: Node, resource: DescribeConfigsResource, ticket: Ticket) -> Refusal | None:
    """Topics and groups have rights of their own; everything else belongs to the cluster."""
    kind, access = resource.resource_type, node.cluster.access
    if access is None:
        return None
    name = resource.resource_name if kind in _NEEDED else CLUSTER_NAME
    allowed = access.allows(ticket, _NEEDED.get(kind, DESCRIBE_CONFIGS_CLUSTER), name)
    return None if allowed else NOT_ALLOWED.get(kind, NOT_ALLOWED[BROKER])


def _configs(
    node: Node, resource: DescribeConfigsResource, dialled: str
) -> Iterable[DescribeConfigsResourceResult] | Refusal:
    """`dialled`: the host by which the client has reached the node."""
    name = resource.resource_name
    if resource.resource_type == TOPIC:
        problem = name_refusal(name)
        if problem is not None:
            return Refusal(ErrorCode.invalid_topic_exception, problem)
        topic = node.cluster.topics.by_name(name)
        return Refusal(ErrorCode.unknown_topic_or_partition, "") if topic is None else _of_topic(node, topic)
    if resource.resource_type == BROKER:
        if not name:
            return of_all_brokers(node.cluster.settings)
        return _refusal_of_broker_id(node, name, "{} or empty string,") or of_broker(node, dialled)
    if resource.resource_type == BROKER_LOGGER:
        if not name:
            return Refusal(ErrorCode.invalid_request, "Broker id must not be empty")
        return _refusal_of_broker_id(node, name, "{}") or ()
    if resource.resource_type == GROUP:
        if not name:
            return Refusal(ErrorCode.invalid_request, "Group name must not be empty")
        return _of_group(node.cluster.group_configs, name)
    assert resource.resource_type == CLIENT_METRICS, "`handle` rejects other types"
    if not name:
        return Refusal(ErrorCode.invalid_request, "Client metrics subscription name must not be empty")
    return _of_client_metrics()


def _refusal_of_broker_id(node: Node, name: str, expected: str) -> Refusal | None:
    """Return an error unless `name` is the id of this node; `expected` has a place for that id."""
    number = parse_int(name)
    if number is None:
        return Refusal(ErrorCode.invalid_request, f"Broker id must be an integer, but it is: {name}")
    if number != node.id:
        message = f"Unexpected broker id, expected {expected.format(node.id)} but received {name}"
        return Refusal(ErrorCode.invalid_request, message)
    return None


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
    """Where the value comes from and what it would be otherwise, the one that counts first."""
    if name in topic.configs:
        yield DescribeConfigsSynonym(name=name, value=topic.configs[name], source=DYNAMIC_TOPIC_CONFIG)
    if name == SET_FOR_ALL_BROKERS:
        value = node.cluster.topics.defaults[name]
        yield DescribeConfigsSynonym(name=name, value=value, source=DYNAMIC_DEFAULT_BROKER_CONFIG)
    found = tuple(_of_the_broker(node.cluster.settings, name))
    if found and found[0].name == TOPIC_CONFIGS[name].synonym:
        yield from found


def _of_the_broker(settings: Settings, name: str) -> Iterable[DescribeConfigsSynonym]:
    """The broker's settings that a topic's setting has its value from, those given at start before defaults.

    None of them is told if the finest has no value, as hours in the place of milliseconds. Source: Kafka's
    `ConfigHelper.configSynonyms`; heard from 4.3.0.
    """
    synonyms = synonyms_of(name)
    for each in synonyms:
        if each in settings.given:
            yield DescribeConfigsSynonym(name=each, value=settings.given[each], source=STATIC_BROKER_CONFIG)
    for each in synonyms:
        default = default_of(each)
        if default is not None:
            yield DescribeConfigsSynonym(name=each, value=default, source=DEFAULT_CONFIG)


def _of_group(group_configs: GroupConfigs, group_id: str) -> Iterable[DescribeConfigsResourceResult]:
    own = group_configs.of(group_id)
    for name, config in sorted(GROUP_CONFIGS.items()):
        synonym = config.synonym or name
        synonyms = [DescribeConfigsSynonym(name=synonym, value=config.default_text, source=DEFAULT_CONFIG)]
        if synonym in group_configs.given:
            value = group_configs.given[synonym]
            synonyms.insert(0, DescribeConfigsSynonym(name=synonym, value=value, source=STATIC_BROKER_CONFIG))
        if name in own:
            synonyms.insert(0, DescribeConfigsSynonym(name=name, value=own[name], source=DYNAMIC_GROUP_CONFIG))
        yield DescribeConfigsResourceResult(
            name=name,
            value=synonyms[0].value,
            read_only=False,
            config_source=synonyms[0].source if synonyms else DEFAULT_CONFIG,
            is_sensitive=False,
            synonyms=tuple(synonyms),
            config_type=config.kind,
            documentation=config.documentation,
        )


_CLIENT_METRICS = (
    ("interval.ms", "300000", INT, "Metrics push interval in milliseconds"),
    ("match", "", LIST, "Client match criteria"),
    ("metrics", "", LIST, "Telemetry metric name prefix list"),
)
"""What Kafka tells of any subscription of clients' metrics (KIP-714) that nobody has made: here there are no others."""


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
    """What a request hears that failed: every resource as it was named."""
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
