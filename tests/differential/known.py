"""What is meant to differ, and why. Everything else that differs is a mistake of kohort's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from kohort.broker.settings.broker_settings import SETTINGS
from kohort.broker.settings.dynamic import is_fixed
from kohort.broker.settings.kafkas_defaults import described
from kohort.broker.settings.unsupported import FOREIGN
from tests.differential.comparing import UNTOLD, Difference
from tests.talk.values import Value, show


class Known(NamedTuple):
    """A difference by its API, its path and the two values, as regular expressions."""

    reason: str
    api: str
    path: str
    kafka: str = ".*"
    kohort: str = ".*"
    also: Callable[[Value, Value], bool] = lambda kafka, kohort: True
    """What else must be true of the two values."""


WAITS = r'"?\(waits\)"?'
ALTERING = "(Incremental)?AlterConfigs"
NO_LOGGERS = (
    "Kohort has no loggers to list, and neither their levels nor client metrics subscriptions (KIP-714) can be set."
)

KEPT_INSTANCE = (
    "A member that rejoins with another instance id keeps the old one, too, in Kafka: no other may take it.  "
    "Kohort releases it. (All members whose id is unknown are one member here, `nobody`.)"
)
NOT_TOLD = f'"?{re.escape(UNTOLD)}"?'
EXPLAINED = "(?!null$).*"
OF_SECURITY = (r"(ssl|sasl|principal)\..*",)
"""Families of settings that kohort takes by their beginnings."""


def _of_broker(*names: str) -> str:
    return rf"results\[type 4\]\.configs\[({'|'.join(names)})\]"


DYNAMIC = sorted(name for name in {*SETTINGS, *described()} if not is_fixed(name))
"""Settings of a broker that Kafka changes while it runs."""


def _says_nothing(partition: Value) -> bool:
    """Return whether a partition's response only shows that it was checked or could not be started."""
    return not partition["records"] and not partition["acknowledge_error_code"]


def _only_those_not_known_yet(kafka: Value, kohort: Value) -> bool:
    """Return whether only partitions without records and acknowledgements differ."""
    parts = [_partitions(each) for each in (kafka, kohort)]
    with_news = [sorted(each["partition_index"] for each in found if not _says_nothing(each)) for found in parts]
    return with_news[0] == with_news[1]


def _partitions(told: Value) -> list[Value]:
    return [each for item in told for each in item.get("partitions", [item])]


KNOWN: tuple[Known, ...] = (
    Known(
        "Features of the cluster (KIP-584) that mean nothing here are not returned.",
        "ApiVersions",
        r"(supported|finalized)_features(\[\])?|finalized_features_epoch",
    ),
    Known("Kafka serves more APIs; kohort names those that it serves.", "ApiVersions", r"api_keys\[\]"),
    Known(
        "Kohort's topics lie elsewhere, by default in memory, and its logs have other sizes than Kafka's files.",
        "DescribeLogDirs",
        r"results\[\]\.(log_dir|total_bytes|usable_bytes|topics\[\]\.partitions\[\]\.partition_size)",
    ),
    Known(
        "Kohort explains settings in its own words, including which of them have no effect.",
        "DescribeConfigs",
        r"results\[type \d+\]\.configs\[.*\]\.documentation",
        kafka=EXPLAINED,
        kohort=EXPLAINED,
    ),
    Known(
        "Kohort returns only those broker settings that it has; Kafka has more.",
        "DescribeConfigs",
        _of_broker(*map(re.escape, sorted(FOREIGN)), *OF_SECURITY),
        kohort=NOT_TOLD,
    ),
    Known("Kohort has settings of its own.", "DescribeConfigs", _of_broker(r"kohort\..*"), kafka=NOT_TOLD),
    Known(
        "Settings of a broker are fixed at its start here; Kafka changes these while it runs.",
        "DescribeConfigs",
        _of_broker(*map(re.escape, DYNAMIC)) + r"\.read_only",
        kafka="false",
        kohort="true",
    ),
    Known(
        "The real Kafka is started with a file of settings, which names its node.",
        "DescribeConfigs",
        _of_broker(r"node\.id") + r"\.(config_source|synonyms\[\].*)",
    ),
    Known(
        "The real Kafka is started with a file of settings, including listeners and folders of it and its controller.",
        "DescribeConfigs",
        _of_broker(
            r"(advertised\.)?listeners",
            r"listener\.security\.protocol\.map",
            r"controller\.listener\.names",
            r"controller\.quorum\.voters",
            r"log\.dirs",
        )
        + r"\.(value|config_source|synonyms\[\].*)",
        kafka=r".*PLAINTEXT.*|CONTROLLER|/.*|\d+@.*|STATIC_BROKER_CONFIG|4|\[.*\]",
    ),
    Known(
        "Kohort syncs each second if asked to, and lets more clients connect at once.",
        "DescribeConfigs",
        _of_broker(r"log\.flush\.interval\.ms", r"socket\.listen\.backlog\.size") + r"\.(value|synonyms\[\].*)",
    ),
    Known(NO_LOGGERS, "DescribeConfigs", r"results\[type (8|16)\]\.configs\[.*\]", kohort=NOT_TOLD),
    Known(NO_LOGGERS, ALTERING, r"responses\[type (8|16)\]\.error_message", kohort=r"Unknown resource type (8|16)"),
    Known(
        NO_LOGGERS,
        ALTERING,
        r"responses\[type (8|16)\]\.error_code",
        kafka="NONE|INVALID_CONFIG",
        kohort="INVALID_REQUEST",
    ),
    Known(
        "Kohort has no threads, connections or cleaner whose new settings a dry run could look at.",
        ALTERING,
        r"responses\[type 4\]\.(error_code|error_message)",
        # The code alone is ambiguous; the message must be one of these, too.
        kafka=r'INVALID_REQUEST|"?(Dynamic thread|Invalid value|Log cleaner|requirement failed: (controller|All en)).*',
        kohort="NONE|null",
    ),
    Known(
        "Which of several wrong settings is named depends on a hash map in Kafka; here it is the first one.",
        f"{ALTERING}|CreateTopics",
        r"(responses\[type \d+\]|topics\[\])\.error_message",
        kafka=r'"?(Unknown (topic|group)|Invalid value|Cannot update|Configuration|Null value).*',
        kohort=r'"?(Unknown (topic|group)|Invalid value|Cannot update|Configuration|Null value).*',
    ),
    Known(
        "Kafka never answers an AlterConfigs that names a resource twice, or nothing but what its broker refuses: a "
        "client waits for ever. Kohort refuses it.",
        ALTERING,
        "",
        kafka=WAITS,
        kohort=".*(Each resource must appear at most once|Unknown resource type).*",
    ),
    Known(
        "Kafka never answers a WriteTxnMarkers whose last marker is for partitions that are not there, if one before "
        "was written: it counts those that are left, and looks only when one is written. Kohort answers.",
        "WriteTxnMarkers",
        "",
        kafka=WAITS,
        kohort=".*error_code: UNKNOWN_TOPIC_OR_PARTITION.*",
    ),
    Known(
        "Kafka never answers a fetch that has waited, if a topic's id is null and something follows it. Kohort answers "
        "as Kafka does without the wait.",
        "Fetch",
        "",
        kafka=WAITS,
        kohort=r".*error_code: UNKNOWN_SERVER_ERROR.*responses: \[\].*",
    ),
    Known(
        "Kafka takes partitions off a transaction one by one as their markers are written, here they stay until all "
        "are. That shows where one of them refuses its marker for good.",
        "DescribeTransactions",
        r"transaction_states\[\]\.topics\[\](\.partitions\[\])?",
        also=lambda kafka, kohort: all(each in kohort for each in kafka),
    ),
    Known(
        "Which share partitions are known in time to the fetch that begins them, or that does not wait, depends on how "
        "fast Kafka reads their states.",
        "ShareFetch",
        r"responses\[\](\.partitions\[\])?",
        also=_only_those_not_known_yet,
    ),
    Known(
        "A missing topic that is named twice is returned twice by Kafka.",
        "(Describe|Delete)ShareGroupOffsets",
        r"groups\[\]\.topics\[\]|responses\[\]",
        also=lambda kafka, kohort: {each["topic_name"] for each in kafka} == {each["topic_name"] for each in kohort},
    ),
    Known(KEPT_INSTANCE, "ConsumerGroupHeartbeat", "error_code", kafka="UNRELEASED_INSTANCE_ID", kohort="NONE"),
    # The code alone is ambiguous; the message must name `nobody`.
    Known(KEPT_INSTANCE, "ConsumerGroupHeartbeat", "error_message", kafka='"?Static .* owned by nobody member.*'),
    Known(
        KEPT_INSTANCE,
        "ConsumerGroupHeartbeat",
        "member_id|member_epoch|heartbeat_interval_ms|assignment",
        kafka="null|0",
        kohort=r'"?\S+-member"?|[1-9]\d*|\{.*\}',
    ),
)


def reason_for(difference: Difference) -> str | None:
    """Return why two responses may differ in this way, or None."""
    for known in KNOWN:
        if (
            re.fullmatch(known.api, difference.api)
            and re.fullmatch(known.path, difference.path)
            and re.fullmatch(known.kafka, show(difference.kafka), re.DOTALL)
            and re.fullmatch(known.kohort, show(difference.kohort), re.DOTALL)
            and known.also(difference.kafka, difference.kohort)
        ):
            return known.reason
    return None
