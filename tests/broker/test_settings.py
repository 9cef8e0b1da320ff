"""What can be set, what counts, and what is refused how."""

from pathlib import Path

import pytest

from kohort.broker.settings.broker_settings import PROFILES, SETTINGS, SettingError, Settings
from kohort.broker.settings.group_configs import GroupConfigs
from kohort.broker.settings.topic_defaults import topic_defaults
from kohort.broker.settings.unsupported import FOREIGN
from kohort.cli.serving import read_assignments, read_file, read_settings
from kohort.client.settings_file import read_settings_file
from kohort.coordinator.consumer.consumer_config import ConsumerConfig


def test_faithful_is_kafka() -> None:
    settings = Settings(nodes=3)
    assert settings.group_initial_rebalance_delay_ms == 3_000
    assert settings.group_min_session_timeout_ms == 6_000
    assert settings.offsets_topic_replication_factor == 3
    assert settings.auto_create_topics_enable is True
    assert settings.log_cleanup_policy == ("delete",)
    assert topic_defaults(settings)["retention.ms"] == str(7 * 24 * 3_600_000)


def test_test_profile_has_short_delays() -> None:
    settings = Settings(profile="test")
    assert settings.group_initial_rebalance_delay_ms == 50
    assert settings.group_min_session_timeout_ms == 10
    assert settings.kohort_offsets_topic_at_start is True
    assert GroupConfigs(settings.changed).of_types["consumer"]("g") == ConsumerConfig(45_000, 100, 0)


def test_consumer_groups_use_broker_settings() -> None:
    given = {"group.consumer.session.timeout.ms": "50000", "group.consumer.assignment.interval.ms": "7"}
    assert GroupConfigs(Settings(given).changed).of_types["consumer"]("g") == ConsumerConfig(50_000, 5_000, 7)
    assert Settings(given).ignored == []


def test_explicit_setting_overrides_profile() -> None:
    assert Settings({"group.min.session.timeout.ms": "100"}, "test").group_min_session_timeout_ms == 100


def test_single_node_needs_one_replica() -> None:
    assert Settings(nodes=1).offsets_topic_replication_factor == 1
    assert Settings(nodes=5).offsets_topic_replication_factor == 3
    assert Settings({"offsets.topic.replication.factor": "3"}, nodes=1).offsets_topic_replication_factor == 3


def test_kafkas_other_settings_are_accepted() -> None:
    settings = Settings({"log.dirs": "/var/lib/kafka", "listener.name.internal.ssl.keystore.location": "x"})
    assert settings.ignored == ["log.dirs", "listener.name.internal.ssl.keystore.location"]


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("group.max.sise", "5", "did you mean group.max.size, a whole number from 1 to 2147483647?"),
        ("brokr.id", "x", "did you mean broker.id?"),
        ("quite.another.thing", "5", "unknown setting quite.another.thing"),
        ("group.max.size", "0", "group.max.size=0 is not allowed: it must be a whole number from 1 to 2147483647"),
        ("group.max.size", "many", "it must be a whole number from 1"),
        ("group.max.size", "1_000", "it must be a whole number from 1"),
        ("group.max.size", "2147483648", "it must be a whole number from 1"),
        ("auto.create.topics.enable", "yes", "it must be true or false; the default is true"),
        ("log.message.timestamp.type", "Now", "it must be one of CreateTime, LogAppendTime"),
        ("log.cleanup.policy", "delete,forget", "it must be a list of delete, compact"),
    ],
)
def test_typo_suggests_setting(name: str, value: str, sentence: str) -> None:
    with pytest.raises(SettingError) as refusal:
        Settings({name: value})
    assert sentence in str(refusal.value)


def test_finer_units_count_more() -> None:
    assert topic_defaults(Settings({"log.retention.minutes": "5"}))["retention.ms"] == "300000"
    assert topic_defaults(Settings({"log.retention.minutes": "5", "log.retention.ms": "7"}))["retention.ms"] == "7"


def test_no_name_is_said_twice() -> None:
    assert not FOREIGN & SETTINGS.keys()
    for changes in PROFILES.values():
        assert changes.keys() <= SETTINGS.keys()


def test_every_setting_is_documented() -> None:
    for setting, value in Settings():
        assert setting.documentation
        if value not in (None, ""):
            assert setting.read(setting.show(value)) == value


def test_command_line_overrides_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("config") / "server.properties"
    file.write_text("# ours\ngroup.max.size=5\nnum.partitions = 4\n")
    given, from_file, _ = read_settings(str(file), ("group.max.size=6", "group.max.size = 7"))
    assert (given, from_file) == ({"group.max.size": "7", "num.partitions": "4"}, {"num.partitions"})


@pytest.mark.parametrize("assignment", ["group.max.size", "=5", ""])
def test_malformed_assignment(assignment: str) -> None:
    with pytest.raises(SettingError, match="expected --set NAME=VALUE"):
        read_assignments((assignment,))


def test_missing_file_message() -> None:
    with pytest.raises(SettingError, match="/nowhere/at/all can't be read: No such file"):
        read_file("/nowhere/at/all")


def test_file_is_read_like_java(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "# a comment\r\n! another\n\n  a=1\nb : 2\nc 3\nd=x\\\n    y\ne=tab\\tand\\\\backslash\n"
        "f\\ g=\\u00e9\\ud83d\\ude00\nempty=\nalone\n"
        "\fh=form feeds are blanks\ni\fj\nk=one\u0085line\nl=one\u2028line\na=4",
        encoding="utf-8",
        newline="",
    )
    assert read_settings_file(file) == {
        "a": "4",
        "b": "2",
        "c": "3",
        "d": "xy",
        "e": "tab\tand\\backslash",
        "f g": "é😀",
        "empty": "",
        "alone": "",
        "h": "form feeds are blanks",
        "i": "j",
        "k": "one\u0085line",
        "l": "one\u2028line",
    }


def test_invalid_escape_message(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("a=\\u12x\n")
    with pytest.raises(SettingError, match=r"\\u12x is not a character"):
        read_file(str(file))
