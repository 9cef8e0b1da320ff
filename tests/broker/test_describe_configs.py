"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: settings are described and changed."""

from pathlib import Path
from typing import Any

import pytest

from kohort.broker.settings.kafkas_defaults import described
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages import alter_configs, incremental_alter_configs
from kohort.protocol.messages.describe_client_quotas import ComponentData
from kohort.protocol.messages.describe_configs import DescribeConfigsResource
from kohort.protocol.releases import CURRENT
from kohort.storage.disk.directory import DataDirectory
from tests.support.batches import batch
from tests.support.broker import Broker, Client
from tests.support.data_requests import given_topic, produce

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)


def describes(client: Client, name: str = "topic", kind: int = TOPIC, version: int = 4, **more: Any) -> Any:
    keys = more.pop("keys", None)
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    (result,) = client.asks("describe_configs", version, resources=(resource,), **more).results
    return result


def given(client: Client, name: str = "topic") -> dict[str, str]:
    return {config.name: config.value for config in describes(client, name).configs if config.config_source == 1}


def test_broker_lists_all_kafka_settings(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"num_io_threads": 4, "ssl_key_password": "secret"}
    directory = DataDirectory(tmp_path)
    ada = Broker(nodes=2, directory=directory, **settings).client(node=1)
    told = {config.name: config for config in describes(ada, "2", BROKER, include_synonyms=True).configs}
    assert set(told) >= described(CURRENT).keys()
    assert len([name for name in told if not name.startswith("kohort.")]) == 350
    assert all(each.read_only for each in told.values())
    values = {name: each.value for name, each in told.items()}
    assert values["num.io.threads"] == "4"
    assert [(synonym.value, synonym.source) for synonym in told["num.io.threads"].synonyms] == [("4", 4), ("8", 5)]
    assert values["num.network.threads"] == "3"
    assert (told["ssl.key.password"].is_sensitive, values["ssl.key.password"]) == (True, None)
    assert (values["broker.id"], values["node.id"], values["process.roles"]) == ("2", "2", "broker,controller")
    assert values["log.dirs"] == str(tmp_path.resolve())
    assert values["listeners"] == values["advertised.listeners"] == "PLAINTEXT://10.0.0.1:9093"
    directory.close()


@pytest.mark.parametrize("version", range(1, 5))
def test_topic_configs_in_every_version(version: int) -> None:
    ada = Broker(log_retention_bytes=10_000).client()
    given_topic(ada, retention_ms="5")
    result = describes(ada, version=version, include_synonyms=True)
    assert (result.error_code, result.error_message) == (ErrorCode.none, "")
    told = {config.name: config for config in result.configs}
    assert len(told) == 37
    own, ours, kafkas = told["retention.ms"], told["retention.bytes"], told["flush.ms"]
    assert (own.value, own.config_source, own.read_only, own.is_sensitive) == ("5", 1, False, False)
    assert [(synonym.name, synonym.value, synonym.source) for synonym in own.synonyms] == [
        ("retention.ms", "5", 1),
    ]
    assert (ours.value, ours.config_source) == ("10000", 4)
    assert [(synonym.name, synonym.value, synonym.source) for synonym in ours.synonyms] == [
        ("log.retention.bytes", "10000", 4),
        ("log.retention.bytes", "-1", 5),
    ]
    assert (kafkas.config_source, kafkas.synonyms) == (5, ())
    assert own.config_type == (5 if version >= 3 else 0)


def test_coarse_settings_as_synonyms() -> None:
    # observed on Apache Kafka 4.3.0, except the jitter's value, which has no effect here
    ada = Broker(log_retention_ms=-1, log_retention_minutes=77, log_roll_hours=100, log_roll_jitter_ms=5).client()
    given_topic(ada)
    configs = describes(ada, keys=("retention.ms", "segment.ms", "segment.jitter.ms"), include_synonyms=True).configs
    assert {each.name: (each.value, each.config_source) for each in configs} == {
        "retention.ms": ("-1", 4),
        "segment.ms": ("360000000", 5),
        "segment.jitter.ms": ("0", 4),
    }
    assert {each.name: [(syn.name, syn.value, syn.source) for syn in each.synonyms] for each in configs} == {
        "retention.ms": [
            ("log.retention.ms", "-1", 4),
            ("log.retention.minutes", "77", 4),
            ("log.retention.hours", "168", 5),
        ],
        "segment.ms": [],
        "segment.jitter.ms": [("log.roll.jitter.ms", "5", 4), ("log.roll.jitter.hours", "0", 5)],
    }


def test_broker_settings_in_other_units() -> None:
    # observed on Apache Kafka 4.4.0
    ada = Broker(log_retention_ms=-1, log_roll_hours=100).client()
    keys = ("log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.roll.ms", "log.roll.hours")
    configs = describes(ada, "1", BROKER, keys=keys, include_synonyms=True).configs
    synonyms_by_name = {
        config.name: [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms]
        for config in configs
    }
    assert synonyms_by_name == {
        "log.retention.ms": [("log.retention.ms", "-1", 4), ("log.retention.hours", "168", 5)],
        "log.retention.minutes": [],
        "log.retention.hours": [("log.retention.hours", "168", 5)],
        "log.roll.ms": [],
        "log.roll.hours": [("log.roll.hours", "100", 4), ("log.roll.hours", "168", 5)],
    }


def test_documentation_and_synonyms_on_request() -> None:
    ada = Broker().client()
    given_topic(ada)
    (config,) = describes(ada, keys=("cleanup.policy", "no.such"), include_documentation=True).configs
    assert (config.config_type, config.synonyms) == (7, ())
    assert config.documentation
    (config,) = describes(ada, keys=("cleanup.policy",)).configs
    assert config.documentation is None
    assert len(describes(ada, keys=()).configs) == 37


def test_broker_settings() -> None:
    ada = Broker(num_partitions=3).client()
    configs = {each.name: each for each in describes(ada, "1", BROKER, include_synonyms=True).configs}
    config = configs["num.partitions"]
    assert (config.value, config.config_source, config.read_only, config.config_type) == ("3", 4, True, 3)
    assert [(synonym.value, synonym.source) for synonym in config.synonyms] == [("3", 4), ("1", 5)]
    assert configs["auto.create.topics.enable"].value == "true"
    assert configs["group.streams.topology.description.plugin.class"].config_type == 8
    assert [each.name for each in describes(ada, "", BROKER).configs] == ["min.insync.replicas"]


@pytest.mark.parametrize(
    ("kind", "name", "error_code", "message"),
    [
        (TOPIC, "nowhere", ErrorCode.unknown_topic_or_partition, ""),
        (TOPIC, "", ErrorCode.invalid_topic_exception, "Topic name is invalid: the empty string is not allowed"),
        (
            BROKER,
            "99",
            ErrorCode.invalid_request,
            "Unexpected broker id, expected 1 or empty string, but received 99",
        ),
        (BROKER, "x", ErrorCode.invalid_request, "Broker id must be an integer, but it is: x"),
        (8, "x", ErrorCode.invalid_request, "Broker id must be an integer, but it is: x"),
    ],
)
def test_rejects_undescribable_resources(kind: int, name: str, error_code: ErrorCode, message: str) -> None:
    result = describes(Broker().client(), name, kind)
    assert (result.error_code, result.error_message, result.configs) == (error_code, message, ())


# AlterConfigs


def alters(client: Client, configs: dict[str, str | None], name: str = "topic", version: int = 2, **more: Any) -> Any:
    resource = alter_configs.AlterConfigsResource(
        resource_type=more.pop("kind", TOPIC),
        resource_name=name,
        configs=tuple(alter_configs.AlterableConfig(name=key, value=value) for key, value in configs.items()),
    )
    more = {"validate_only": False, **more}
    (answer,) = client.asks("alter_configs", version, resources=(resource,), **more).responses
    return answer.error_code, answer.error_message


@pytest.mark.parametrize("version", range(3))
def test_altering_replaces_all_settings(version: int) -> None:
    ada = Broker().client()
    given_topic(ada, segment_ms="7")
    assert alters(ada, {"retention.ms": "5"}, version=version) == (ErrorCode.none, None)
    assert given(ada) == {"retention.ms": "5"}
    assert alters(ada, {"retention.ms": "6"}, validate_only=True) == (ErrorCode.none, None)
    assert alters(ada, {"retention.ms": "x"})[0] == ErrorCode.invalid_config
    assert alters(ada, {"retention.ms": None}) == (
        ErrorCode.invalid_request,
        "Null value not supported for : retention.ms",
    )
    assert given(ada) == {"retention.ms": "5"}
    assert alters(ada, {}) == (ErrorCode.none, None)
    assert given(ada) == {}


@pytest.mark.parametrize(
    ("kind", "name", "error_code", "message"),
    [
        (TOPIC, "nowhere", ErrorCode.unknown_topic_or_partition, "The topic 'nowhere' does not exist."),
        (TOPIC, "", ErrorCode.invalid_request, "Default topic resources are not allowed."),
        (TOPIC, "..", ErrorCode.invalid_topic_exception, "Topic name is invalid: '..' is not allowed"),
        (BROKER, "1", ErrorCode.invalid_request, "Cannot update these configs dynamically: [retention.ms]"),
        (3, "x", ErrorCode.invalid_request, "Unknown resource type 3"),
    ],
)
def test_rejects_unalterable_resources(kind: int, name: str, error_code: ErrorCode, message: str) -> None:
    ada = Broker().client()
    assert alters(ada, {"retention.ms": "5"}, name, kind=kind) == (error_code, message)
    assert changes(ada, ("retention.ms", SET, "5"), name=name, kind=kind) == (error_code, message)


# IncrementalAlterConfigs


def changes(client: Client, *steps: tuple[str, int, str | None], name: str = "topic", **more: Any) -> Any:
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=more.pop("kind", TOPIC),
        resource_name=name,
        configs=tuple(
            incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in steps
        ),
    )
    version = more.pop("version", 1)
    more = {"validate_only": False, **more}
    (answer,) = client.asks("incremental_alter_configs", version, resources=(resource,), **more).responses
    return answer.error_code, answer.error_message


def test_internal_segment_bytes_is_described() -> None:
    # observed on Apache Kafka 4.3.0: `internal.segment.bytes` has no default
    broker = Broker()
    ada = broker.client()
    given_topic(ada, "usual")
    given_topic(ada, "topic", internal_segment_bytes="100")
    assert "internal.segment.bytes" not in {config.name for config in describes(ada, "usual").configs}
    assert given(ada) == {"internal.segment.bytes": "100"}
    topic = broker.cluster.topics.by_name("topic")
    assert topic is not None
    for _ in range(3):
        produce(ada, batch(b"x" * 60))
    assert [segment.base_offset for segment in topic.partitions[0].log._segments] == [0, 1, 2]
    assert changes(ada, ("internal.segment.bytes", SET, "x")) == (
        ErrorCode.invalid_config,
        "Invalid value x for configuration internal.segment.bytes: Not a number of type INT",
    )
    assert changes(ada, ("internal.segment.bytes", DELETE, None)) == (ErrorCode.none, None)
    produce(ada, batch(b"x"))
    produce(ada, batch(b"x"))
    assert [segment.base_offset for segment in topic.partitions[0].log._segments] == [0, 1, 2]


@pytest.mark.parametrize("version", range(2))
def test_single_settings_are_set_and_deleted(version: int) -> None:
    ada = Broker().client()
    given_topic(ada, segment_ms="7")
    assert changes(ada, ("retention.ms", SET, "5"), version=version) == (ErrorCode.none, None)
    assert given(ada) == {"retention.ms": "5", "segment.ms": "7"}
    assert changes(ada, ("retention.ms", SET, "9"), validate_only=True) == (ErrorCode.none, None)
    assert changes(ada, ("segment.ms", DELETE, None), ("no.such", DELETE, None)) == (ErrorCode.none, None)
    assert given(ada) == {"retention.ms": "5"}


def test_append_and_subtract_lists() -> None:
    ada = Broker().client()
    given_topic(ada)
    for operation, value, result in (
        (APPEND, "compact", "delete,compact"),
        (APPEND, "compact", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
        (SUBTRACT, "nothing", "compact"),
        (APPEND, "delete,delete", "compact,delete"),
        (SUBTRACT, "compact,delete", ""),
    ):
        assert changes(ada, ("cleanup.policy", operation, value)) == (ErrorCode.none, None)
        assert given(ada) == {"cleanup.policy": result}


@pytest.mark.parametrize(
    ("steps", "error_code", "message"),
    [
        ([("retention.ms", SET, None)], ErrorCode.invalid_request, "Null value not supported for : retention.ms"),
        ([("no.such", SET, "5")], ErrorCode.invalid_config, "Unknown topic config name: no.such"),
        (
            [("retention.ms", APPEND, "5")],
            ErrorCode.invalid_config,
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        ([("retention.ms", 9, "5")], ErrorCode.unknown_server_error, None),
        (
            [("retention.ms", SET, "6"), ("retention.ms", SET, "7")],
            ErrorCode.invalid_request,
            "Error due to duplicate config keys",
        ),
        (
            [("retention.ms", SET, "7"), ("segment.ms", SET, "0")],
            ErrorCode.invalid_config,
            "Invalid value 0 for configuration segment.ms: Value must be at least 1",
        ),
    ],
)
def test_bad_changes_change_nothing(
    steps: list[tuple[str, int, str | None]], error_code: ErrorCode, message: str | None
) -> None:
    ada = Broker().client()
    given_topic(ada)
    assert changes(ada, *steps) == (error_code, message)
    assert given(ada) == {}


def test_duplicate_topic_is_not_altered() -> None:
    ada = Broker().client()
    given_topic(ada)
    resource = incremental_alter_configs.AlterConfigsResource(resource_type=TOPIC, resource_name="topic", configs=())
    answers = ada.asks("incremental_alter_configs", 1, resources=(resource, resource), validate_only=False).responses
    assert {(answer.error_code, answer.error_message) for answer in answers} == {
        (ErrorCode.invalid_request, "Each resource must appear at most once.")
    }


@pytest.mark.parametrize(
    ("components", "error", "words"),
    [
        ([], ErrorCode.none, None),
        ([("user", 0, "alice"), ("client-id", 2, None)], ErrorCode.none, None),
        ([("", 0, "x")], ErrorCode.invalid_request, "Invalid empty entity type."),
        ([("user", 1, None)] * 2, ErrorCode.invalid_request, "Entity type user cannot appear more than once"),
        ([("user", 0, None)], ErrorCode.invalid_request, "but set match string to null"),
        ([("user", 7, None)], ErrorCode.invalid_request, "Unknown match type 7"),
        ([("user", 1, None), ("ip", 1, None)], ErrorCode.invalid_request, "Invalid entity filter component"),
        ([("team", 1, None)], ErrorCode.unsupported_version, "Custom entity type 'team' not supported"),
    ],
)
def test_quota_filters_are_validated(
    components: list[tuple[str, int, str | None]], error: ErrorCode, words: str | None
) -> None:
    asked = tuple(ComponentData(entity_type=kind, match_type=how, match=what) for kind, how, what in components)
    answer = Broker().client().asks("describe_client_quotas", 1, components=asked, strict=False)
    assert answer.error_code is error
    assert answer.entries == (() if error is ErrorCode.none else None)
    assert (words or "") in (answer.error_message or "")


def test_authorizer_settings_are_sensitive() -> None:
    ada = Broker(super_users="User:admin").client()
    told = {each.name: each for each in describes(ada, "1", BROKER, include_synonyms=True).configs}
    config = told["super.users"]
    assert (config.value, config.is_sensitive, config.config_type, config.config_source) == (None, True, 0, 4)
    assert [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms] == [("super.users", None, 4)]
    assert "allow.everyone.if.no.acl.found" not in told
