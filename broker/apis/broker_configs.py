"""Settings of a broker for DescribeConfigs. All are read-only, because none can change while the broker runs."""

from __future__ import annotations

from itertools import chain, dropwhile
from typing import TYPE_CHECKING, Any

from kohort.base.address import show_address
from kohort.broker.settings.broker_settings import SETTINGS
from kohort.broker.settings.kafkas_defaults import CLASS, described
from kohort.broker.settings.topic_defaults import (
    DEFAULT_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    SET_FOR_ALL_BROKERS,
    STATIC_BROKER_CONFIG,
    units_of,
)
from kohort.protocol.messages.describe_configs import DescribeConfigsResourceResult, DescribeConfigsSynonym
from kohort.storage.config_types import LIST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kohort.broker.cluster.node import Node
    from kohort.broker.settings.broker_settings import Settings
    from kohort.broker.settings.setting import Setting

_INTERNAL = {
    "group.consumer.regex.refresh.interval.ms",
    "group.share.initialize.retry.interval.ms",
    "share.coordinator.cold.partition.snapshot.interval.ms",
}  # settings that Kafka does not describe (`GroupCoordinatorConfig`, `defineInternal`)

_OF_THE_NODE = {"listeners", "advertised.listeners", "node.id"}  # kohort's settings that differ between nodes

# texts whose default is empty in Kafka, not null
EMPTY_BY_DEFAULT = {"authorizer.class.name", "group.streams.rack.aware.assignment.tags"}
# Settings of Kafka's authorizer, which brokers don't know: returned without their value, and only if set.
OF_THE_AUTHORIZER = {"super.users", "allow.everyone.if.no.acl.found"}
LISTS_AS_TEXT = {
    "advertised.listeners",
    "group.streams.rack.aware.assignment.tags",
    "listeners",
    "sasl.enabled.mechanisms",
}  # lists in Kafka, texts in kohort
CLASSES_AS_TEXT = {"group.streams.topology.description.plugin.class"}  # classes in Kafka, texts in kohort
UNKNOWN = 0  # as a type
WITHOUT_EFFECT = "Accepted, but has no effect in kohort."
AS_IT_IS = "The value of this node."


def of_broker(node: Node, dialled: str) -> Iterable[DescribeConfigsResourceResult]:
    """Yield every setting that Kafka describes. Those without effect have the configured value or Kafka's default.

    Args:
        dialled: Host by which the client has reached the node.
    """
    settings = node.cluster.settings
    for config in chain(_ours(settings), _without_effect(node, dialled)):
        units = units_of(config.name)
        if len(units) > 1:
            config.synonyms = tuple(broker_synonyms(settings, config.name, units))
        yield config


def _ours(settings: Settings) -> Iterable[DescribeConfigsResourceResult]:
    for name, setting in sorted(SETTINGS.items()):
        if name in _INTERNAL or name in _OF_THE_NODE or not setting.exists_in(settings.kohort_as_kafka):
            continue
        value = _described(name, setting, getattr(settings, name.replace(".", "_")))
        default = default_of(name)
        synonyms = []
        if value != default:
            synonyms.append(DescribeConfigsSynonym(name=name, value=value, source=STATIC_BROKER_CONFIG))
        if default is not None:
            synonyms.append(DescribeConfigsSynonym(name=name, value=default, source=DEFAULT_CONFIG))
        if name == SET_FOR_ALL_BROKERS:
            synonyms.insert(0, DescribeConfigsSynonym(name=name, value=value, source=DYNAMIC_DEFAULT_BROKER_CONFIG))
        if name in OF_THE_AUTHORIZER:
            if value != default:
                yield _of_authorizer(name)
            continue
        yield DescribeConfigsResourceResult(
            name=name,
            value=value,
            read_only=True,
            config_source=synonyms[0].source if synonyms else DEFAULT_CONFIG,
            is_sensitive=False,
            synonyms=tuple(synonyms),
            config_type=_type_of(name, setting),
            documentation=setting.documentation,
        )


def _type_of(name: str, setting: Setting[Any]) -> int:
    if name in CLASSES_AS_TEXT:
        return CLASS
    return LIST if name in LISTS_AS_TEXT else setting.kind


def _of_authorizer(name: str) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=name,
        value=None,
        read_only=True,
        config_source=STATIC_BROKER_CONFIG,
        is_sensitive=True,
        synonyms=(DescribeConfigsSynonym(name=name, value=None, source=STATIC_BROKER_CONFIG),),
        config_type=UNKNOWN,
        documentation=None,
    )


def broker_synonyms(settings: Settings, name: str, synonyms: Iterable[str]) -> Iterable[DescribeConfigsSynonym]:
    """Return the values of broker settings that mean the same as `name`: configured values, then defaults.

    Return none if `name` has no value, as with hours instead of milliseconds. Source: Kafka's
    `ConfigHelper.configSynonyms`; observed on 4.3.0 and 4.4.0.
    """
    values = [(other, settings.explicit.get(other), STATIC_BROKER_CONFIG) for other in synonyms]
    values += [(other, default_of(other), DEFAULT_CONFIG) for other in synonyms]
    with_value = [
        DescribeConfigsSynonym(name=other, value=value, source=source)
        for other, value, source in values
        if value is not None
    ]
    return dropwhile(lambda synonym: synonym.name != name, with_value)


def of_all_brokers(settings: Settings) -> Iterable[DescribeConfigsResourceResult]:
    """Yield the settings that apply to all brokers as dynamic defaults."""
    for config in _ours(settings):
        if config.config_source == DYNAMIC_DEFAULT_BROKER_CONFIG:
            config.synonyms = config.synonyms[:1]
            yield config


def default_of(name: str) -> str | None:
    """Return the default of a broker's setting as Kafka describes it.

    Raises:
        KeyError: The setting is unknown.
    """
    setting = SETTINGS.get(name)
    return described()[name].default if setting is None else _described(name, setting, setting.default)


def _described(name: str, setting: Setting[Any], value: object) -> str | None:
    """Return a value as Kafka describes it: null if it is empty, except for lists and EMPTY_BY_DEFAULT."""
    text = setting.show(value)
    return text if text or setting.kind == LIST or name in EMPTY_BY_DEFAULT else None


def _without_effect(node: Node, dialled: str) -> Iterable[DescribeConfigsResourceResult]:
    """Yield settings without effect, and the node's own as if they were in its server.properties."""
    settings, own = node.cluster.settings, _of_node(node, dialled)
    configured, release = settings.explicit, settings.kohort_as_kafka
    names = {
        name: (setting.kind, setting.default, setting.is_sensitive) for name, setting in described(release).items()
    }
    for name in _OF_THE_NODE:
        names[name] = _type_of(name, SETTINGS[name]), None, False
    for name, (kind, default, is_sensitive) in sorted(names.items()):
        value = own.get(name, configured.get(name))
        synonyms = []
        if value is not None:
            synonyms.append((value, STATIC_BROKER_CONFIG))
        if default is not None:
            synonyms.append((default, DEFAULT_CONFIG))
        text, source = synonyms[0] if synonyms else (None, DEFAULT_CONFIG)
        yield DescribeConfigsResourceResult(
            name=name,
            value=None if is_sensitive else text,
            read_only=True,
            config_source=source,
            is_sensitive=is_sensitive,
            synonyms=tuple(
                DescribeConfigsSynonym(name=name, value=None if is_sensitive else setting, source=origin)
                for setting, origin in synonyms
            ),
            config_type=kind,
            documentation=AS_IT_IS if name in own else WITHOUT_EFFECT,
        )


def _of_node(node: Node, dialled: str) -> dict[str, str]:
    ports = node.ports or {"PLAINTEXT": node.port}
    configs = {
        "broker.id": str(node.id),
        "node.id": str(node.id),
        "process.roles": "broker,controller",
        "listeners": ",".join(f"{name}://{show_address(dialled, port)}" for name, port in ports.items()),
        "advertised.listeners": ",".join(f"{name}://{show_address(*node.address(dialled, name))}" for name in ports),
    }
    if len(node.cluster.nodes) == 1:
        configs |= {name: text for name, text in node.cluster.settings.explicit.items() if name in _OF_THE_NODE}
    if node.cluster.directory is not None:
        configs["log.dirs"] = str(node.cluster.directory.path.resolve())
    return configs
