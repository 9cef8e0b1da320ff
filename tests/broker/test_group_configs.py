"""Settings of groups, compared with responses of Apache Kafka 4.3.0 to the same requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.settings.broker_settings import SettingError, Settings
from kohort.broker.settings.group_configs import GroupConfigs
from kohort.coordinator.share.share_config import ShareConfig
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages import alter_configs, incremental_alter_configs
from kohort.protocol.messages.describe_configs import DescribeConfigsResource
from kohort.storage.disk.directory import DataDirectory
from tests.support.broker import Broker, Client
from tests.support.data_requests import given_topic
from tests.support.manual_clock import ManualClock

E = ErrorCode
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)

SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def told(client: Client, *names: str, group: str = "g") -> dict[str, Any]:
    """Return a group's settings from DescribeConfigs, by name."""
    resource = DescribeConfigsResource(resource_type=GROUP, resource_name=group, configuration_keys=names or None)
    (result,) = client.asks("describe_configs", 4, resources=(resource,), include_synonyms=True).results
    assert (result.error_code, result.error_message) == (E.none, "")
    return {config.name: config for config in result.configs}


def changes(
    client: Client, configs: dict[str, str | None], group: str = "g", operation: int = SET, *, validate: bool = False
) -> tuple[ErrorCode, str | None]:
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=GROUP,
        resource_name=group,
        configs=tuple(
            incremental_alter_configs.AlterableConfig(name=name, config_operation=operation, value=value)
            for name, value in configs.items()
        ),
    )
    (result,) = client.asks("incremental_alter_configs", 1, resources=(resource,), validate_only=validate).responses
    return result.error_code, result.error_message


def replaces(client: Client, configs: dict[str, str | None], group: str = "g") -> tuple[ErrorCode, str | None]:
    resource = alter_configs.AlterConfigsResource(
        resource_type=GROUP,
        resource_name=group,
        configs=tuple(alter_configs.AlterableConfig(name=name, value=value) for name, value in configs.items()),
    )
    (result,) = client.asks("alter_configs", 2, resources=(resource,), validate_only=False).responses
    return result.error_code, result.error_message


def listed(client: Client, *types: int, version: int = 1) -> tuple[ErrorCode, list[tuple[int, str]]]:
    result = client.asks("list_config_resources", version, resource_types=types)
    return result.error_code, [
        (config_resource.resource_type, config_resource.resource_name) for config_resource in result.config_resources
    ]


def synonyms(config: Any) -> list[tuple[str, str, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms]


def test_missing_group_can_be_configured() -> None:
    ada = Broker().client()
    configs = told(ada)
    assert len(configs) == 21
    session, reset = configs[SESSION], configs["share.auto.offset.reset"]
    assert (session.value, session.config_source, session.read_only, session.config_type) == ("45000", 5, False, 3)
    assert synonyms(session) == [("group.consumer.session.timeout.ms", "45000", 5)]
    assert synonyms(reset) == [("share.auto.offset.reset", "latest", 5)]


def test_described_configs_have_synonyms() -> None:
    ada = Broker(group_consumer_session_timeout_ms=46_000).client()
    assert changes(ada, {SESSION: "50000"}) == (E.none, None)
    assert synonyms(told(ada)[SESSION]) == [
        (SESSION, "50000", 8),
        ("group.consumer.session.timeout.ms", "46000", 4),
        ("group.consumer.session.timeout.ms", "45000", 5),
    ]
    assert told(ada, group="another")[SESSION].value == "46000"
    assert changes(ada, {SESSION: "60000"}, validate=True) == (E.none, None)
    assert told(ada)[SESSION].value == "50000"
    assert changes(ada, {SESSION: None, "nope": None}, operation=DELETE) == (E.none, None)
    assert told(ada)[SESSION].config_source == 4


def test_all_configs_are_replaced() -> None:
    ada = Broker().client()
    changes(ada, {SESSION: "50000", HEARTBEAT: "15000"})
    assert replaces(ada, {SESSION: "46000"}) == (E.none, None)
    assert {name: config.value for name, config in told(ada, SESSION, HEARTBEAT).items()} == {
        SESSION: "46000",
        HEARTBEAT: "5000",
    }
    assert replaces(ada, {SESSION: None}) == (E.invalid_request, f"Null value not supported for : {SESSION}")
    assert replaces(ada, {"nope": "x"}) == (E.invalid_config, "Unknown group config name: nope")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        (SESSION, "abc", "Invalid value abc for configuration {}: Not a number of type INT"),
        (SESSION, "0", "Invalid value 0 for configuration {}: Value must be at least 1"),
        (SESSION, "1", "{} must be in the range 45000 to 60000 inclusive."),
        (SESSION, "60001", "{} must be in the range 45000 to 60000 inclusive."),
        (
            "consumer.assignment.interval.ms",
            "15001",
            "{} must be in the range 0 to 15000 inclusive.",
        ),
        ("share.delivery.count.limit", "1", "Invalid value 1 for configuration {}: Value must be at least 2"),
        ("share.delivery.count.limit", "11", "{} must be in the range 2 to 10 inclusive."),
        (
            "share.record.lock.duration.ms",
            "1000",
            "{} must be in the range 15000 to 60000 inclusive.",
        ),
        (
            "share.partition.max.record.locks",
            "4001",
            "{} must be in the range 100 to 4000 inclusive.",
        ),
        (
            "share.isolation.level",
            "x",
            "Invalid value x for configuration {}: String must be one of: read_committed, read_uncommitted",
        ),
        (
            "share.renew.acknowledge.enable",
            "maybe",
            "Invalid value maybe for configuration {}: Expected value to be either true or false",
        ),
        ("streams.num.standby.replicas", "3", "{} must be less than or equal to 2"),
        (
            "streams.initial.rebalance.delay.ms",
            "-1",
            "Invalid value -1 for configuration {}: Value must be at least 0",
        ),
    ],
)
def test_values_have_kafka_s_limits(name: str, value: str, problem: str) -> None:
    ada = Broker().client()
    assert changes(ada, {name: value}) == (E.invalid_config, problem.format(name))
    assert told(ada)[name].config_source == 5


@pytest.mark.parametrize("value", ["never", "by_duration:-PT1H", "by_duration:1h", "by_duration:PT", "EARLIEST"])
def test_share_offset_reset_values(value: str) -> None:
    ada = Broker().client()
    name = "share.auto.offset.reset"
    assert changes(ada, {name: value}) == (
        E.invalid_config,
        f"Invalid value {value} for configuration {name}: Invalid value `{value}` for configuration {name}. The value "
        "must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
    )
    assert changes(ada, {name: "by_duration:P1DT2H3.5S"}) == (E.none, None)


def test_values_are_described_normalized() -> None:
    ada = Broker().client()
    given: dict[str, str | None] = {
        "share.auto.offset.reset": " earliest ",
        "share.renew.acknowledge.enable": "FALSE",
        SESSION: " 050000",
    }
    changes(ada, given)
    assert [told(ada)[name].value for name in given] == ["earliest", "false", "50000"]


def test_broker_limits_apply() -> None:
    ada = Broker(group_consumer_min_session_timeout_ms=1_000, group_consumer_min_heartbeat_interval_ms=500).client()
    assert changes(ada, {SESSION: "1000", HEARTBEAT: "500"}) == (E.none, None)
    assert changes(ada, {HEARTBEAT: "1000"}) == (E.invalid_config, f"{SESSION} must be greater than {HEARTBEAT}")


def test_broker_limits_are_numeric() -> None:
    with pytest.raises(SettingError, match=r"group\.share\.max\.delivery\.count\.limit=many is not allowed"):
        Settings({"group.share.max.delivery.count.limit": "many"})


def test_kafkas_error_messages() -> None:
    ada = Broker().client()
    assert changes(ada, {SESSION: "50000"}, group="") == (E.invalid_request, "Default group resources are not allowed.")
    assert changes(ada, {SESSION: "50000"}, operation=APPEND) == (
        E.invalid_config,
        f"Can't APPEND to key {SESSION} because its type is not LIST.",
    )
    assert changes(ada, {"nope": "1"}, operation=SUBTRACT) == (
        E.invalid_config,
        "Can't SUBTRACT to key nope because its type is not LIST.",
    )
    resource = DescribeConfigsResource(resource_type=GROUP, resource_name="", configuration_keys=None)
    (result,) = ada.asks("describe_configs", 4, resources=(resource,)).results
    assert (result.error_code, result.error_message) == (E.invalid_request, "Group name must not be empty")


def test_configured_groups_are_listed() -> None:
    ada = Broker(nodes=2).client()
    given_topic(ada)
    changes(ada, {SESSION: "50000"}, group="b")
    changes(ada, {SESSION: "50000"}, group="gone")
    changes(ada, {SESSION: None}, group="gone", operation=DELETE)
    groups, brokers = [(GROUP, "b")], [(BROKER_LOGGER, "1"), (BROKER_LOGGER, "2"), (BROKER, "1"), (BROKER, "2")]
    assert listed(ada) == (E.none, [*groups, *brokers, (TOPIC, "topic")])
    assert listed(ada, TOPIC, GROUP, TOPIC) == (E.none, [*groups, (TOPIC, "topic")])
    assert listed(ada, CLIENT_METRICS) == (E.none, [])
    assert listed(ada, GROUP, 99) == (E.unsupported_version, [])
    assert listed(ada, version=0) == (E.none, [])


def test_group_configs_survive_restart(tmp_path: Path) -> None:
    def cluster() -> tuple[BrokerCluster, DataDirectory]:
        directory = DataDirectory(tmp_path)
        return BrokerCluster(Settings(), ManualClock(), seed=1, directory=directory), directory

    first, directory = cluster()
    first.group_configs.configure("g", {SESSION: "50000"})
    first.group_configs.configure("gone", {SESSION: "50000"})
    first.group_configs.configure("gone", {})
    directory.abandon()
    for _ in range(2):  # loaded settings are written and read again
        again, directory = cluster()
        assert {group: again.group_configs.of(group) for group in again.group_configs} == {"g": {SESSION: "50000"}}
        directory.close()


def test_effective_share_group_configs() -> None:
    configs = GroupConfigs(
        {"group.share.record.lock.duration.ms": "20000", "group.share.max.delivery.count.limit": "6"}
    )
    assert configs.share_config("g") == ShareConfig(record_lock_duration_ms=20_000)
    own = {"share.delivery.count.limit": "6", "share.auto.offset.reset": "by_duration:PT1H"}
    assert configs.configure("g", own | {"share.renew.acknowledge.enable": "false"}) is None
    assert configs.share_config("g") == ShareConfig(
        record_lock_duration_ms=20_000,
        delivery_count_limit=6,
        auto_offset_reset="by_duration:PT1H",
        renew_acknowledge_enable=False,
    )
    assert configs.share_config("other") == ShareConfig(record_lock_duration_ms=20_000)
    configs.restore({"g": {"share.delivery.count.limit": "9"}})
    assert configs.share_config("g").delivery_count_limit == 6, "the broker allows no more now"
    assert configs.configure("g", {}) is None
    assert configs.share_config("g") == ShareConfig(record_lock_duration_ms=20_000)


def test_streams_assignor_names_broker_setting() -> None:
    assignor = told(Broker().client())["streams.assignor.name"]
    assert (assignor.value, synonyms(assignor)) == ("sticky", [("group.streams.assignors", "sticky", 5)])
