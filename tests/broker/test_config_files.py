"""`serve --config` takes the files that people have: what Kafka 4.3 does not know is passed over with a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from kohort.broker.settings import unsupported
from kohort.broker.settings.broker_settings import SETTINGS, SettingError, Settings
from kohort.broker.settings.listeners import read_listeners
from kohort.cli.serving import read_file, read_settings

FILES = Path(__file__).parent / "server_properties"

PASSED_OVER = {
    "bitnami": ["max.partition.fetch.bytes", "max.request.size"],
    "company": ["kafka.logs.dir", "my.company.audit.topic", "my.company.owner", "log.retention.hour"],
    "confluent": [
        "confluent.support.metrics.enable",
        "confluent.balancer.enable",
        "confluent.license.topic.replication.factor",
        "confluent.telemetry.enabled",
    ],
    "older": [
        "port",
        "host.name",
        "advertised.host.name",
        "advertised.port",
        "log.message.timestamp.difference.max.ms",
    ],
    "strimzi": ["prometheus.metrics.reporter.listener.enable"],
    "zookeeper-2.8": [
        "inter.broker.protocol.version",
        "log.message.format.version",
        "zookeeper.connect",
        "zookeeper.connection.timeout.ms",
    ],
}


def settings_of(name: str) -> Settings:
    contents, _ = read_file(str(FILES / f"{name}.properties"))
    return Settings(contents, from_file=contents)


@pytest.mark.parametrize("name", sorted(path.stem for path in FILES.iterdir()))
def test_ignored_settings_are_reported_once(name: str) -> None:
    settings = settings_of(name)
    assert [each.sentence.split(" is ignored: ")[0] for each in settings.passed_over] == PASSED_OVER[name]
    if settings.listeners:
        assert read_listeners(settings)


def test_kafka_settings_are_never_called_removed() -> None:
    assert not {name for name in unsupported._REMOVED if name in SETTINGS or name in unsupported.FOREIGN}


def test_typo_reports_suggestion() -> None:
    (slip,) = (name for name in settings_of("company").passed_over if name.is_slip)
    assert slip.sentence.endswith("unknown setting; did you mean log.retention.hours?")


def test_removed_name_reports_replacement() -> None:
    told = [name.sentence for name in settings_of("older").passed_over]
    assert told[0] == "port is ignored: removed in Kafka 4; use listeners"
    assert "use log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms" in told[-1]
    assert settings_of("zookeeper-2.8").passed_over[-1].sentence.endswith("removed in Kafka 4")


def test_unknown_option_is_rejected() -> None:
    given, from_file, _ = read_settings(str(FILES / "company.properties"), ("log.retention.hour=1",))
    with pytest.raises(SettingError, match=r"did you mean log\.retention\.hours"):
        Settings(given, from_file=from_file)


def test_invalid_value_in_file_is_rejected() -> None:
    with pytest.raises(SettingError, match=r"num\.partitions=many is not allowed"):
        Settings({"num.partitions": "many"}, from_file=["num.partitions"])
