"""The settings a topic may have: names, types, defaults and limits of Kafka 4.3, and its words for a bad value.

Values stay text, as clients send and read them; `LogConfig` is what a log needs of them, parsed.
Source: what Kafka 4.3.0 answers to CreateTopics, DescribeConfigs and IncrementalAlterConfigs.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kohort.storage.config_types import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIST,
    LONG,
    LONG_MAX,
    STRING,
    Check,
    Config,
    bad_value,
    boolean,
    list_of,
    number,
    one_of,
    split_list,
)

_THROTTLED = re.compile(r"\*|\d+:\d+(\s*,\s*\d+:\d+)*")


def _throttled_replicas(name: str, value: str) -> str | None:
    if not value.strip() or _THROTTLED.fullmatch(value.strip()):
        return None
    return bad_value(
        name,
        "[" + ", ".join(split_list(value)) + "]",
        f"{name} must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
    )


def _never_true(problem: str) -> Check:
    def check(name: str, value: str) -> str | None:
        return boolean(name, value) or (problem if value.strip().lower() == "true" else None)

    return check


_NO_TIERS = (
    "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
)
_NOT_USED = "Kept, and without effect here."

TOPIC_CONFIGS: dict[str, Config] = {
    config.name: config
    for config in (
        Config(
            "cleanup.policy",
            LIST,
            "delete",
            "log.cleanup.policy",
            "What happens to old records: `delete` drops them by retention, `compact` keeps the last one of each key.",
            list_of("compact", "delete"),
        ),
        Config("compression.gzip.level", INT, "-1", "compression.gzip.level", _NOT_USED, number(INT, 1, 9, also=-1)),
        Config("compression.lz4.level", INT, "9", "compression.lz4.level", _NOT_USED, number(INT, 1, 17)),
        Config(
            "compression.type",
            STRING,
            "producer",
            "compression.type",
            "How batches are stored. Here always as the producer sent them.",
            one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        ),
        Config("compression.zstd.level", INT, "3", "compression.zstd.level", _NOT_USED, number(INT, -131072, 22)),
        Config(
            "delete.retention.ms",
            LONG,
            "86400000",
            "log.cleaner.delete.retention.ms",
            "How long a compacted topic keeps a tombstone.",
            number(LONG, 0),
        ),
        Config("file.delete.delay.ms", LONG, "60000", "log.segment.delete.delay.ms", _NOT_USED, number(LONG, 0)),
        Config("flush.messages", LONG, str(LONG_MAX), "log.flush.interval.messages", _NOT_USED, number(LONG, 1)),
        Config("flush.ms", LONG, str(LONG_MAX), None, _NOT_USED, number(LONG, 0)),
        Config("follower.replication.throttled.replicas", LIST, "", None, _NOT_USED, _throttled_replicas),
        Config("index.interval.bytes", INT, "4096", "log.index.interval.bytes", _NOT_USED, number(INT, 0)),
        Config("leader.replication.throttled.replicas", LIST, "", None, _NOT_USED, _throttled_replicas),
        Config("local.retention.bytes", LONG, "-2", "log.local.retention.bytes", _NOT_USED, number(LONG, -2)),
        Config("local.retention.ms", LONG, "-2", "log.local.retention.ms", _NOT_USED, number(LONG, -2)),
        Config(
            "max.compaction.lag.ms",
            LONG,
            str(LONG_MAX),
            "log.cleaner.max.compaction.lag.ms",
            "How long a record of a compacted topic may stay uncompacted once its segment is closed.",
            number(LONG, 1),
        ),
        Config(
            "max.message.bytes",
            INT,
            "1048588",
            "message.max.bytes",
            "The largest record batch, as it is sent.",
            number(INT, 0),
        ),
        Config(
            "message.timestamp.after.max.ms",
            LONG,
            "3600000",
            "log.message.timestamp.after.max.ms",
            "How far ahead of the broker's clock a record's time may be.",
            number(LONG, 0),
        ),
        Config(
            "message.timestamp.before.max.ms",
            LONG,
            str(LONG_MAX),
            "log.message.timestamp.before.max.ms",
            "How far behind the broker's clock a record's time may be.",
            number(LONG, 0),
        ),
        Config(
            "message.timestamp.type",
            STRING,
            "CreateTime",
            "log.message.timestamp.type",
            "Whose time a record carries: the producer's, or the broker's when it was appended.",
            one_of("CreateTime", "LogAppendTime"),
        ),
        Config(
            "min.cleanable.dirty.ratio",
            DOUBLE,
            "0.5",
            "log.cleaner.min.cleanable.ratio",
            "The share of a compacted log that must be uncompacted before it is compacted again.",
            number(DOUBLE, 0, 1),
        ),
        Config(
            "min.compaction.lag.ms",
            LONG,
            "0",
            "log.cleaner.min.compaction.lag.ms",
            "How long a record of a compacted topic stays as it is.",
            number(LONG, 0),
        ),
        Config(
            "min.insync.replicas",
            INT,
            "1",
            "min.insync.replicas",
            "How many of a partition's nodes must run for a producer that wants all of them to have a record.",
            number(INT, 1),
        ),
        Config("preallocate", BOOLEAN, "false", "log.preallocate", _NOT_USED, boolean),
        Config("remote.log.copy.disable", BOOLEAN, "false", None, _NOT_USED, boolean),
        Config("remote.log.delete.on.disable", BOOLEAN, "false", None, _NOT_USED, boolean),
        Config("remote.storage.enable", BOOLEAN, "false", None, _NOT_USED, _never_true(_NO_TIERS)),
        Config(
            "retention.bytes",
            LONG,
            "-1",
            "log.retention.bytes",
            "How many bytes of a partition are kept, in whole segments; -1: all.",
            number(LONG, -LONG_MAX - 1),
        ),
        Config(
            "retention.ms",
            LONG,
            "604800000",
            "log.retention.ms",
            "How long records are kept, in whole segments; -1: for ever.",
            number(LONG, -1),
        ),
        Config(
            "segment.bytes",
            INT,
            "1073741824",
            "log.segment.bytes",
            "The size at which a new segment begins; in memory one begins much earlier.",
            number(INT, 1 << 20),
        ),
        Config("segment.index.bytes", INT, "10485760", "log.index.size.max.bytes", _NOT_USED, number(INT, 4)),
        Config("segment.jitter.ms", LONG, "0", "log.roll.jitter.ms", _NOT_USED, number(LONG, 0)),
        Config(
            "segment.ms", LONG, "604800000", "log.roll.ms", "The age at which a new segment begins.", number(LONG, 1)
        ),
        Config(
            "unclean.leader.election.enable",
            BOOLEAN,
            "false",
            "unclean.leader.election.enable",
            _NOT_USED,
            boolean,
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
