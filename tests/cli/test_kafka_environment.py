"""Settings in environment variables, as the images of Kafka take them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from uuid import uuid4

import pytest

from kohort.base.logs import log
from kohort.broker.cluster.initial_topics import create_topics, parse_topics
from kohort.broker.runtime.listener import PlainEntrance
from kohort.broker.settings.setting import SettingError
from kohort.cli.serve_options import read_at_a_glance
from kohort.cli.serving import broker_of, read_settings
from kohort.storage.topics import Topics


def read(**variables: str) -> dict[str, str]:
    return read_settings(None, (), variables).values


@pytest.mark.parametrize(
    ("variable", "value", "setting"),
    [
        ("KAFKA_NUM_PARTITIONS", "6", "num.partitions"),
        ("KAFKA_CFG_NUM_PARTITIONS", "6", "num.partitions"),
        ("KAFKA_AUTO_CREATE_TOPICS_ENABLE", "false", "auto.create.topics.enable"),
        ("KAFKA_CFG_AUTO_CREATE_TOPICS_ENABLE", "false", "auto.create.topics.enable"),
        ("KAFKA_LOG_DIRS", "/bitnami/kafka", "log.dirs"),
        ("KAFKA_CONTROLLER_QUORUM_VOTERS", "1@kafka:9093", "controller.quorum.voters"),
    ],
)
def test_variable_of_image_sets_setting(variable: str, value: str, setting: str) -> None:
    assert read(**{variable: value}) == {setting: value}


def test_underscores_and_hyphens_in_names() -> None:
    assert read(KAFKA_LISTENER_NAME_MY__OWN_SSL_KEYSTORE_TYPE="PEM") == {
        "listener.name.my_own.ssl.keystore.type": "PEM"
    }
    assert read(KAFKA_LISTENER_NAME_MY___OWN_SSL_KEYSTORE_TYPE="PEM") == {
        "listener.name.my-own.ssl.keystore.type": "PEM"
    }


def test_bitnami_name_takes_precedence() -> None:
    assert read(KAFKA_CFG_NUM_PARTITIONS="2", KAFKA_NUM_PARTITIONS="3") == {"num.partitions": "2"}


def test_unknown_variables_share_log_line() -> None:
    settings = read_settings(None, (), {"KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_NUM_PARTITION": "2", "HOME": "/root"})
    assert [line.sentence for line in settings.ignored] == [
        "ignored variables that are not broker settings: KAFKA_HEAP_OPTS, "
        "KAFKA_NUM_PARTITION (did you mean KAFKA_NUM_PARTITIONS?)"
    ]


def test_precedence_of_file_environment_and_option(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=1\ngroup.max.size=1\nmin.insync.replicas=1\n")
    settings = read_settings(
        str(file), ("group.max.size=3",), {"KAFKA_NUM_PARTITIONS": "2", "KAFKA_GROUP_MAX_SIZE": "2"}
    )
    assert settings.values == {"num.partitions": "2", "group.max.size": "3", "min.insync.replicas": "1"}
    assert settings.from_file == {"num.partitions", "min.insync.replicas"}


def test_config_takes_env_file(tmp_path: Path) -> None:
    file = tmp_path / "kafka.env"
    file.write_text("# compose\nKAFKA_NUM_PARTITIONS='6'\nKAFKA_LISTENERS=PLAINTEXT://:9092\nCLUSTER_ID=abc\n")
    values, unknown = read_settings(str(file), ()).values, read_settings(str(file), ()).ignored
    assert values == {"num.partitions": "6", "listeners": "PLAINTEXT://:9092"}
    assert unknown[0].sentence.endswith(": CLUSTER_ID")


def test_env_file_without_settings_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "kafka.env"
    file.write_text("KAFKA_HEAP_OPTS=-Xmx1g\n")
    with pytest.raises(SettingError, match="its names are environment variables, and none is a broker setting"):
        read_settings(str(file), ())


def test_listeners_derived_from_advertised_ones() -> None:
    advertised = "PLAINTEXT://kafka:29092,HOST://[::1]:9092"
    assert read(KAFKA_ADVERTISED_LISTENERS=advertised)["listeners"] == "PLAINTEXT://0.0.0.0:29092,HOST://0.0.0.0:9092"
    assert read(KAFKA_ADVERTISED_LISTENERS=advertised, KAFKA_LISTENERS="A://:1")["listeners"] == "A://:1"


def test_listens_on_all_addresses_like_image(monkeypatch: pytest.MonkeyPatch) -> None:
    options = read_at_a_glance([], {})
    assert options is not None
    for expected, kafka_environment in (("127.0.0.1", False), ("0.0.0.0", True)):
        _, entrances = broker_of(options._replace(kafka_environment=kafka_environment))
        assert isinstance(entrances, PlainEntrance)
        assert entrances.host == expected


APACHE = {
    "KAFKA_NODE_ID": "7",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "7@localhost:9093",
    "KAFKA_NUM_PARTITIONS": "3",
}


def test_compose_variables_start_broker_with_topics(tmp_path: Path) -> None:
    variables = APACHE | {
        "KOHORT_KAFKA_ENVIRONMENT": "true",
        "KOHORT_TOPICS": "orders:6 audit:1:cleanup.policy=compact:retention.ms=5 usual",
        "KOHORT_READY_FILE": str(tmp_path / "ready"),
    }
    command = [sys.executable, "-m", "kohort.cli", "serve", "--control", "0", "--log-format", "json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | variables
    ) as broker:
        assert broker.stdout is not None
        ready = broker.stdout.readline().decode()
        control = ready.split("control=")[1].strip()
        listing = subprocess.run(
            [sys.executable, "-m", "kohort.cli", "ctl", "--json", "topics", "list", "--control", control],
            capture_output=True,
            check=True,
        )
        broker.terminate()
        broker.communicate()
    topics = {topic["name"]: topic for topic in json.loads(listing.stdout)}
    assert {name: len(topic["partitions"]) for name, topic in topics.items()} == {"orders": 6, "audit": 1, "usual": 3}
    assert topics["audit"]["configs"] == {"cleanup.policy": "compact", "retention.ms": "5"}
    assert ":0" not in ready


def test_existing_topic_is_left_unchanged() -> None:
    topics, lines = Topics([1], uuid4), StringIO()
    log.configure(level="warning", stream=lines)
    try:
        for text in ("orders:6", "orders:3", "orders"):
            create_topics(topics, parse_topics([text]))
        log.flush()
    finally:
        log.configure()
    assert [(topic.name, len(topic.partitions)) for topic in topics] == [("orders", 6)]
    assert "topic orders exists with 6 partitions, not 3; --topic leaves" in lines.getvalue()
    assert lines.getvalue().count("\n") == 1
