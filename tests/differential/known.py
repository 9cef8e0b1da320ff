"""What is meant to differ, and why. Everything else that differs is a mistake of kohort's."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.differential.comparing import Difference
from tests.talk.values import show


class Known(NamedTuple):
    """A difference by its API, its path and the two values, as regular expressions."""

    reason: str
    api: str
    path: str
    kafka: str = ".*"
    kohort: str = ".*"


WAITS = r'"?\(waits\)"?'
ALTERING = "(Incremental)?AlterConfigs"
NO_LOGGERS = (
    "Kohort has no loggers, and no subscriptions to clients' metrics (KIP-714), whose settings could be told or set."
)

KNOWN: tuple[Known, ...] = (
    Known(
        "Features of the cluster (KIP-584) that mean nothing here are not told.",
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
        "Kohort explains settings in its own words, and says which of them mean nothing here.",
        "DescribeConfigs",
        r"results\[\]\.configs\[\]\.documentation",
    ),
    Known(
        "Kohort tells of a broker the settings that mean something here; Kafka has more of them.",
        "DescribeConfigs",
        r"results\[\]\.configs\[\]",
    ),
    Known(NO_LOGGERS, "DescribeConfigs", r"results\[\]\.error_code", kohort="INVALID_REQUEST"),
    Known(NO_LOGGERS, "DescribeConfigs", r"results\[\]\.error_message", kohort=r'"Unsupported resource type: (8|16)"'),
    Known(NO_LOGGERS, ALTERING, r"responses\[\]\.error_message", kohort=r"Unknown resource type (8|16)"),
    Known(NO_LOGGERS, ALTERING, r"responses\[\]\.error_code", kafka="NONE|INVALID_CONFIG", kohort="INVALID_REQUEST"),
    Known(
        "Kohort has no threads, connections or cleaner whose new settings a dry run could look at.",
        ALTERING,
        r"responses\[\]\.(error_code|error_message)",
        kafka=r'INVALID_REQUEST|"?(Dynamic thread|Invalid value|Log cleaner).*',
        kohort="NONE|null",
    ),
    Known(
        "Which of several wrong settings is named depends on a hash map in Kafka; here it is the first one.",
        f"{ALTERING}|CreateTopics",
        r"(responses|topics)\[\]\.error_message",
        kafka=r'"?(Unknown (topic|group)|Invalid value|Cannot update|Configuration|Null value).*',
        kohort=r'"?(Unknown (topic|group)|Invalid value|Cannot update|Configuration|Null value).*',
    ),
    Known(
        "Kafka never answers an AlterConfigs that names a resource twice: a client waits for ever. Kohort refuses it.",
        "AlterConfigs",
        "",
        kafka=WAITS,
        kohort=".*Each resource must appear at most once.*",
    ),
    Known(
        "Kafka never answers a marker for a partition that is named twice; only brokers send markers.",
        "WriteTxnMarkers",
        "",
        kafka=WAITS,
    ),
    Known(
        "Kafka never answers a fetch that has waited, if a topic's id is none and something follows it. Kohort answers "
        "as Kafka does without the wait.",
        "Fetch",
        "",
        kafka=WAITS,
    ),
    Known(
        "A transactional id that is named twice in one request meets itself: kohort writes after it has looked at the "
        "whole request. Only brokers name several.",
        "AddPartitionsToTxn",
        r"results_by_transaction\[\]\.topic_results\[\]\.results_by_partition\[\]\.partition_error_code",
        kafka="NONE",
        kohort="CONCURRENT_TRANSACTIONS",
    ),
)


def reason_for(difference: Difference) -> str | None:
    """Why two answers may differ so; None: they may not."""
    for known in KNOWN:
        if (
            re.fullmatch(known.api, difference.api)
            and re.fullmatch(known.path, difference.path)
            and re.fullmatch(known.kafka, show(difference.kafka), re.DOTALL)
            and re.fullmatch(known.kohort, show(difference.kohort), re.DOTALL)
        ):
            return known.reason
    return None
