"""Topic configurations: names, types, defaults, limits and error messages of Kafka 4.4.

Values stay text, as clients send and read them; `LogConfig` has the parsed values that a log needs.
Source: responses of Kafka 4.3.0 to CreateTopics, DescribeConfigs and IncrementalAlterConfigs.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kohort.protocol.releases import CURRENT
from kohort.storage.config_types import (
    BOOLEAN,
    DOUBLE,
    INT,
    INT_MAX,
    LIST,
    LONG,
    LONG_MAX,
    TRUE_OR_FALSE,
    Setting,
    Values,
    bad_value,
    list_of,
    number,
    one_of,
    split_list,
)

_THROTTLED = r"\*|\d+:\d+(\s*,\s*\d+:\d+)*"


def _throttled_replicas(name: str, value: str) -> str | None:
    if not value.strip() or re.fullmatch(_THROTTLED, value.strip()):
        return None
    return bad_value(
        name,
        "[" + ", ".join(split_list(value)) + "]",
        f"{name} must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
    )


_THROTTLED_REPLICAS = Values(LIST, _throttled_replicas, "* or a list of partition:node")


def _never_true(message: str) -> Values:
    def check(name: str, value: str) -> str | None:
        return TRUE_OR_FALSE.check(name, value) or (message if value.strip().lower() == "true" else None)

    return Values(BOOLEAN, check, "false")


_NO_TIERS = (
    "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
)
_NOT_USED = "Kept, and without effect here."

# The one configuration without a default: only topics that set it have it (Kafka: `LogConfig.segmentSize`).
INTERNAL_SEGMENT_BYTES = "internal.segment.bytes"

TOPIC_CONFIGS: dict[str, Setting[Any]] = {
    config.name: config
    for config in (
        Setting(
            "cleanup.policy",
            list_of("compact", "delete"),
            ("delete",),
            "Cleanup of old records: `delete` deletes them by retention, `compact` keeps the last record of each key.",
            "log.cleanup.policy",
        ),
        Setting("compression.gzip.level", number(INT, 1, 9, also=-1), -1, _NOT_USED, "compression.gzip.level"),
        Setting("compression.lz4.level", number(INT, 1, 17), 9, _NOT_USED, "compression.lz4.level"),
        Setting(
            "compression.type",
            one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
            "producer",
            "How batches are stored. Here always as the producer sent them.",
            "compression.type",
        ),
        Setting("compression.zstd.level", number(INT, -131072, 22), 3, _NOT_USED, "compression.zstd.level"),
        Setting(
            "delete.retention.ms",
            number(LONG, 0),
            86_400_000,
            "How long a compacted topic keeps a tombstone.",
            "log.cleaner.delete.retention.ms",
        ),
        Setting(
            "errors.deadletterqueue.group.enable",
            TRUE_OR_FALSE,
            False,
            "Whether share groups may write undeliverable records to this topic (KIP-1191).",
            since="4.4",
        ),
        Setting("file.delete.delay.ms", number(LONG, 0), 60_000, _NOT_USED, "log.segment.delete.delay.ms"),
        Setting("flush.messages", number(LONG, 1), LONG_MAX, _NOT_USED, "log.flush.interval.messages"),
        Setting("flush.ms", number(LONG, 0), LONG_MAX, _NOT_USED),
        Setting("follower.replication.throttled.replicas", _THROTTLED_REPLICAS, (), _NOT_USED),
        Setting("index.interval.bytes", number(INT, 0), 4_096, _NOT_USED, "log.index.interval.bytes"),
        Setting(
            INTERNAL_SEGMENT_BYTES,
            number(INT, -INT_MAX - 1),
            None,
            "Counts in the place of segment.bytes where it is set, and may be smaller: for tests.",
        ),
        Setting("leader.replication.throttled.replicas", _THROTTLED_REPLICAS, (), _NOT_USED),
        Setting("local.retention.bytes", number(LONG, -2), -2, _NOT_USED, "log.local.retention.bytes"),
        Setting("local.retention.ms", number(LONG, -2), -2, _NOT_USED, "log.local.retention.ms"),
        Setting(
            "max.compaction.lag.ms",
            number(LONG, 1),
            LONG_MAX,
            "How long a record of a compacted topic may stay uncompacted once its segment is closed.",
            "log.cleaner.max.compaction.lag.ms",
        ),
        Setting(
            "max.decompressed.message.bytes",
            number(INT, 1),
            2_147_483_639,
            "The largest size of a compressed batch after decompression.",
            "max.decompressed.message.bytes",
            since="4.4",
        ),
        Setting(
            "max.message.bytes",
            number(INT, 0),
            1_048_588,
            "The largest record batch, as it is sent.",
            "message.max.bytes",
        ),
        Setting(
            "message.timestamp.after.max.ms",
            number(LONG, 0),
            3_600_000,
            "How far ahead of the broker's clock a record's time may be.",
            "log.message.timestamp.after.max.ms",
        ),
        Setting(
            "message.timestamp.before.max.ms",
            number(LONG, 0),
            LONG_MAX,
            "How far behind the broker's clock a record's time may be.",
            "log.message.timestamp.before.max.ms",
        ),
        Setting(
            "message.timestamp.type",
            one_of("CreateTime", "LogAppendTime"),
            "CreateTime",
            "Whose time a record carries: the producer's, or the broker's when it was appended.",
            "log.message.timestamp.type",
        ),
        Setting(
            "min.cleanable.dirty.ratio",
            number(DOUBLE, 0, 1),
            0.5,
            "The share of a compacted log that must be uncompacted before it is compacted again.",
            "log.cleaner.min.cleanable.ratio",
        ),
        Setting(
            "min.compaction.lag.ms",
            number(LONG, 0),
            0,
            "How long a record of a compacted topic stays as it is.",
            "log.cleaner.min.compaction.lag.ms",
        ),
        Setting(
            "min.insync.replicas",
            number(INT, 1),
            1,
            "Minimum number of in-sync replicas for a producer with acks=all.",
            "min.insync.replicas",
        ),
        Setting("preallocate", TRUE_OR_FALSE, False, _NOT_USED, "log.preallocate"),
        Setting("remote.copy.lag.bytes", number(LONG, -1), -1, _NOT_USED, "log.remote.copy.lag.bytes", since="4.4"),
        Setting("remote.copy.lag.ms", number(LONG, -1), 0, _NOT_USED, "log.remote.copy.lag.ms", since="4.4"),
        Setting("remote.log.copy.disable", TRUE_OR_FALSE, False, _NOT_USED),
        Setting("remote.log.delete.on.disable", TRUE_OR_FALSE, False, _NOT_USED),
        Setting("remote.storage.enable", _never_true(_NO_TIERS), False, _NOT_USED),
        Setting(
            "retention.bytes",
            number(LONG, -LONG_MAX - 1),
            -1,
            "How many bytes of a partition are kept, in whole segments; -1: all.",
            "log.retention.bytes",
        ),
        Setting(
            "retention.ms",
            number(LONG, -1),
            604_800_000,
            "How long records are kept, in whole segments; -1: for ever.",
            "log.retention.ms",
        ),
        Setting(
            "segment.bytes",
            number(INT, 1 << 20),
            1_073_741_824,
            "The size at which a new segment begins; in memory one begins much earlier.",
            "log.segment.bytes",
        ),
        Setting("segment.index.bytes", number(INT, 4), 10_485_760, _NOT_USED, "log.index.size.max.bytes"),
        Setting("segment.jitter.ms", number(LONG, 0), 0, _NOT_USED, "log.roll.jitter.ms"),
        Setting("segment.ms", number(LONG, 1), 604_800_000, "The age at which a new segment begins.", "log.roll.ms"),
        Setting("unclean.leader.election.enable", TRUE_OR_FALSE, False, _NOT_USED, "unclean.leader.election.enable"),
    )
}  # every topic configuration, by name


def usual_values(release: str = CURRENT) -> dict[str, str]:
    """Return the defaults of all topic configurations of a release, by name."""
    return {
        name: config.default_text
        for name, config in TOPIC_CONFIGS.items()
        if config.default is not None and config.exists_in(release)
    }


class LogConfig(NamedTuple):
    """Parsed topic configurations. Shared by all logs of the topic."""

    compact: bool = False
    delete: bool = True
    retention_ms: int = 604_800_000  # negative: unlimited
    retention_bytes: int = -1  # negative: unlimited
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
    max_decompressed_bytes: int = INT_MAX


def log_config(values: Mapping[str, str]) -> LogConfig:
    """Parse validated topic configurations; `values` is complete."""
    policy = split_list(values["cleanup.policy"])
    return LogConfig(
        compact="compact" in policy,
        delete="delete" in policy,
        retention_ms=int(values["retention.ms"]),
        retention_bytes=int(values["retention.bytes"]),
        segment_bytes=int(values.get(INTERNAL_SEGMENT_BYTES, values["segment.bytes"])),
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
        max_decompressed_bytes=int(values.get("max.decompressed.message.bytes", INT_MAX)),
    )


def refusal_of(settings: Iterable[tuple[str, str]], defaults: Mapping[str, str]) -> str | None:
    """Return Kafka's error message for topic configurations, or None.

    Unknown names are reported first, then invalid values, then contradicting values, as in Kafka's `LogConfig`.
    """
    settings = tuple(settings)
    for name, _ in settings:
        config = TOPIC_CONFIGS.get(name)
        if config is None or (config.since and name not in defaults):
            return f"Unknown topic config name: {name}"
    for name, value in settings:
        message = TOPIC_CONFIGS[name].problem(value)
        if message is not None:
            return message
    values = {**defaults, **dict(settings)}
    least, most = int(values["min.compaction.lag.ms"]), int(values["max.compaction.lag.ms"])
    if least > most:
        return f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
    return None
