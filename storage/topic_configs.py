"""The settings a topic may have: names, types, defaults and limits of Kafka 4.3, and its words for a bad value.

Values stay text, as clients send and read them; `LogConfig` is what a log needs of them, parsed.
Source: what Kafka 4.3.0 answers to CreateTopics, DescribeConfigs and IncrementalAlterConfigs.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

BOOLEAN, STRING, INT, LONG, DOUBLE, LIST = 1, 2, 3, 5, 6, 7
"""Types of a setting as DescribeConfigs numbers them (KIP-569)."""

_NUMBER_NAMES = {INT: "INT", LONG: "LONG", DOUBLE: "DOUBLE"}
_THROTTLED = re.compile(r"\*|\d+:\d+(\s*,\s*\d+:\d+)*")

Check = Callable[[str, str], str | None]
"""Takes a name and a value; answers what is wrong with it in Kafka's words, or None."""


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """One setting of a topic."""

    name: str
    kind: int
    default: str
    synonym: str | None
    """The broker setting that is the topic's default; None: there is none."""
    documentation: str
    check: Check

    @property
    def is_list(self) -> bool:
        """Whether APPEND and SUBTRACT may be used on it."""
        return self.kind == LIST


def _bad(name: str, value: object, problem: str) -> str:
    return f"Invalid value {value} for configuration {name}: {problem}"


def _number(kind: int, lowest: float, highest: float | None = None, also: int | None = None) -> Check:
    """A number between two limits; `also` is one more value that is allowed."""

    def check(name: str, value: str) -> str | None:
        number = _parse_number(kind, value)
        if number is None:
            return _bad(name, value, f"Not a number of type {_NUMBER_NAMES[kind]}")
        if also is not None:
            if number != also and not lowest <= number <= (highest or INT_MAX):
                return _bad(name, number, f"Value must be between {lowest} and {highest} or equal to {also}")
        elif number < lowest:
            return _bad(name, number, f"Value must be at least {lowest}")
        elif highest is not None and number > highest:
            return _bad(name, number, f"Value must be no more than {highest}")
        return None

    return check


def _parse_number(kind: int, value: str) -> float | None:
    try:
        if kind == DOUBLE:
            return float(value)
        number = int(value)
    except ValueError:
        return None
    most = INT_MAX if kind == INT else LONG_MAX
    return number if -most - 1 <= number <= most and "_" not in value else None


def _boolean(name: str, value: str) -> str | None:
    if value.strip().lower() in ("true", "false"):
        return None
    return _bad(name, value, "Expected value to be either true or false")


def _one_of(*words: str) -> Check:
    def check(name: str, value: str) -> str | None:
        if value.strip() in words:
            return None
        return _bad(name, value, "String must be one of: " + ", ".join(words))

    return check


def _list_of(*words: str) -> Check:
    def check(name: str, value: str) -> str | None:
        for word in split_list(value):
            if not word:
                return f"Configuration '{name}' values must not be empty."
            if word not in words:
                return _bad(name, word, "String must be one of: " + ", ".join(words))
        return None

    return check


def _throttled_replicas(name: str, value: str) -> str | None:
    if not value.strip() or _THROTTLED.fullmatch(value.strip()):
        return None
    return _bad(
        name,
        "[" + ", ".join(split_list(value)) + "]",
        f"{name} must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
    )


def _never_true(problem: str) -> Check:
    def check(name: str, value: str) -> str | None:
        return _boolean(name, value) or (problem if value.strip().lower() == "true" else None)

    return check


def split_list(value: str) -> list[str]:
    """The words of a list setting; an empty text is an empty list."""
    return [word.strip() for word in value.split(",")] if value.strip() else []


_NO_TIERS = (
    "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
)
_NOT_USED = "Kept, and without effect here."

TOPIC_CONFIGS: dict[str, TopicConfig] = {
    config.name: config
    for config in (
        TopicConfig(
            "cleanup.policy",
            LIST,
            "delete",
            "log.cleanup.policy",
            "What happens to old records: `delete` drops them by retention, `compact` keeps the last one of each key.",
            _list_of("compact", "delete"),
        ),
        TopicConfig(
            "compression.gzip.level", INT, "-1", "compression.gzip.level", _NOT_USED, _number(INT, 1, 9, also=-1)
        ),
        TopicConfig("compression.lz4.level", INT, "9", "compression.lz4.level", _NOT_USED, _number(INT, 1, 17)),
        TopicConfig(
            "compression.type",
            STRING,
            "producer",
            "compression.type",
            "How batches are stored. Here always as the producer sent them.",
            _one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        ),
        TopicConfig("compression.zstd.level", INT, "3", "compression.zstd.level", _NOT_USED, _number(INT, -131072, 22)),
        TopicConfig(
            "delete.retention.ms",
            LONG,
            "86400000",
            "log.cleaner.delete.retention.ms",
            "How long a compacted topic keeps a tombstone.",
            _number(LONG, 0),
        ),
        TopicConfig("file.delete.delay.ms", LONG, "60000", "log.segment.delete.delay.ms", _NOT_USED, _number(LONG, 0)),
        TopicConfig("flush.messages", LONG, str(LONG_MAX), "log.flush.interval.messages", _NOT_USED, _number(LONG, 1)),
        TopicConfig("flush.ms", LONG, str(LONG_MAX), None, _NOT_USED, _number(LONG, 0)),
        TopicConfig("follower.replication.throttled.replicas", LIST, "", None, _NOT_USED, _throttled_replicas),
        TopicConfig("index.interval.bytes", INT, "4096", "log.index.interval.bytes", _NOT_USED, _number(INT, 0)),
        TopicConfig("leader.replication.throttled.replicas", LIST, "", None, _NOT_USED, _throttled_replicas),
        TopicConfig("local.retention.bytes", LONG, "-2", "log.local.retention.bytes", _NOT_USED, _number(LONG, -2)),
        TopicConfig("local.retention.ms", LONG, "-2", "log.local.retention.ms", _NOT_USED, _number(LONG, -2)),
        TopicConfig(
            "max.compaction.lag.ms",
            LONG,
            str(LONG_MAX),
            "log.cleaner.max.compaction.lag.ms",
            "How long a record of a compacted topic may stay uncompacted once its segment is closed.",
            _number(LONG, 1),
        ),
        TopicConfig(
            "max.message.bytes",
            INT,
            "1048588",
            "message.max.bytes",
            "The largest record batch, as it is sent.",
            _number(INT, 0),
        ),
        TopicConfig(
            "message.timestamp.after.max.ms",
            LONG,
            "3600000",
            "log.message.timestamp.after.max.ms",
            "How far ahead of the broker's clock a record's time may be.",
            _number(LONG, 0),
        ),
        TopicConfig(
            "message.timestamp.before.max.ms",
            LONG,
            str(LONG_MAX),
            "log.message.timestamp.before.max.ms",
            "How far behind the broker's clock a record's time may be.",
            _number(LONG, 0),
        ),
        TopicConfig(
            "message.timestamp.type",
            STRING,
            "CreateTime",
            "log.message.timestamp.type",
            "Whose time a record carries: the producer's, or the broker's when it was appended.",
            _one_of("CreateTime", "LogAppendTime"),
        ),
        TopicConfig(
            "min.cleanable.dirty.ratio",
            DOUBLE,
            "0.5",
            "log.cleaner.min.cleanable.ratio",
            "The share of a compacted log that must be uncompacted before it is compacted again.",
            _number(DOUBLE, 0, 1),
        ),
        TopicConfig(
            "min.compaction.lag.ms",
            LONG,
            "0",
            "log.cleaner.min.compaction.lag.ms",
            "How long a record of a compacted topic stays as it is.",
            _number(LONG, 0),
        ),
        TopicConfig(
            "min.insync.replicas",
            INT,
            "1",
            "min.insync.replicas",
            "How many of a partition's nodes must run for a producer that wants all of them to have a record.",
            _number(INT, 1),
        ),
        TopicConfig("preallocate", BOOLEAN, "false", "log.preallocate", _NOT_USED, _boolean),
        TopicConfig("remote.log.copy.disable", BOOLEAN, "false", None, _NOT_USED, _boolean),
        TopicConfig("remote.log.delete.on.disable", BOOLEAN, "false", None, _NOT_USED, _boolean),
        TopicConfig("remote.storage.enable", BOOLEAN, "false", None, _NOT_USED, _never_true(_NO_TIERS)),
        TopicConfig(
            "retention.bytes",
            LONG,
            "-1",
            "log.retention.bytes",
            "How many bytes of a partition are kept, in whole segments; -1: all.",
            _number(LONG, -LONG_MAX - 1),
        ),
        TopicConfig(
            "retention.ms",
            LONG,
            "604800000",
            "log.retention.ms",
            "How long records are kept, in whole segments; -1: for ever.",
            _number(LONG, -1),
        ),
        TopicConfig(
            "segment.bytes",
            INT,
            "1073741824",
            "log.segment.bytes",
            "The size at which a new segment begins; in memory one begins much earlier.",
            _number(INT, 1 << 20),
        ),
        TopicConfig("segment.index.bytes", INT, "10485760", "log.index.size.max.bytes", _NOT_USED, _number(INT, 4)),
        TopicConfig("segment.jitter.ms", LONG, "0", "log.roll.jitter.ms", _NOT_USED, _number(LONG, 0)),
        TopicConfig(
            "segment.ms", LONG, "604800000", "log.roll.ms", "The age at which a new segment begins.", _number(LONG, 1)
        ),
        TopicConfig(
            "unclean.leader.election.enable",
            BOOLEAN,
            "false",
            "unclean.leader.election.enable",
            _NOT_USED,
            _boolean,
        ),
    )
}
"""Every setting of a topic, by name."""


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What a log needs of its topic's settings. Shared by all logs of the topic."""

    compact: bool = False
    delete: bool = True
    retention_ms: int = 604_800_000
    """Negative: for ever."""
    retention_bytes: int = -1
    """Negative: all."""
    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = LONG_MAX
    min_cleanable_dirty_ratio: float = 0.5
    max_message_bytes: int = 1_048_588
    log_append_time: bool = False
    timestamp_before_max_ms: int = LONG_MAX
    timestamp_after_max_ms: int = 3_600_000
    min_insync_replicas: int = 1


def log_config(values: Mapping[str, str]) -> LogConfig:
    """Parses the settings of a topic; `values` holds all of them, checked."""
    policy = split_list(values["cleanup.policy"])
    return LogConfig(
        compact="compact" in policy,
        delete="delete" in policy,
        retention_ms=int(values["retention.ms"]),
        retention_bytes=int(values["retention.bytes"]),
        segment_bytes=int(values["segment.bytes"]),
        segment_ms=int(values["segment.ms"]),
        delete_retention_ms=int(values["delete.retention.ms"]),
        min_compaction_lag_ms=int(values["min.compaction.lag.ms"]),
        max_compaction_lag_ms=int(values["max.compaction.lag.ms"]),
        min_cleanable_dirty_ratio=float(values["min.cleanable.dirty.ratio"]),
        max_message_bytes=int(values["max.message.bytes"]),
        log_append_time=values["message.timestamp.type"].strip() == "LogAppendTime",
        timestamp_before_max_ms=int(values["message.timestamp.before.max.ms"]),
        timestamp_after_max_ms=int(values["message.timestamp.after.max.ms"]),
        min_insync_replicas=int(values["min.insync.replicas"]),
    )


def refusal_of(given: Iterable[tuple[str, str]], defaults: Mapping[str, str]) -> str | None:
    """What is wrong with settings given for a topic, in Kafka's words; None: nothing.

    Unknown names come first, then bad values, then values that contradict each other, as in Kafka's `LogConfig`.
    """
    given = tuple(given)
    for name, _ in given:
        if name not in TOPIC_CONFIGS:
            return f"Unknown topic config name: {name}"
    for name, value in given:
        problem = TOPIC_CONFIGS[name].check(name, value)
        if problem is not None:
            return problem
    values = {**defaults, **dict(given)}
    least, most = int(values["min.compaction.lag.ms"]), int(values["max.compaction.lag.ms"])
    if least > most:
        return f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
    return None
