"""What the console consumer's formatters print of the offsets topic, as records again.

They print no place in the log. A line's number stands for its offset, and the time of a record is what its value says:
when the offset was committed, or when the group came into its state. Lines of 3.x are
`[group,topic,partition]::OffsetAndMetadata(…)`; 4.x prints key and value as JSON.
Source: kafka.coordinator.group.GroupMetadataManager.OffsetsMessageFormatter (3.x), OffsetsMessageFormatter and
GroupMetadataMessageFormatter of org.apache.kafka.tools.consumer (4.x).
"""

from __future__ import annotations

import re
from typing import Any

from kohort.pipeline.records.record_codec import encode_key, encode_value
from kohort.pipeline.sources.checked import whole
from kohort.pipeline.sources.chunk import LogRow

NO_PARTITION = -1
"""Stands for the partition of the offsets topic, which nobody tells."""
_OF_3_X = re.compile(
    r"^\[(?P<group>.*),(?P<topic>[^,]+),(?P<part>\d+)\]::(?:NULL|OffsetAndMetadata\(offset=(?P<offset>-?\d+), "
    r"leaderEpoch=[^,]*, metadata=(?P<metadata>.*), commitTimestamp=(?P<ms>-?\d+), expireTimestamp=.*\))$"
)
_COMMIT_VERSION = 3
_TIMES = ("commitTimestamp", "currentStateTimestamp")


def is_formatted(row: dict[str, Any]) -> bool:
    """Whether an object is a record as the formatters of 4.x print it."""
    return isinstance(row.get("key"), dict) and "data" in row["key"] and "value" in row


def is_offsets_line(line: str) -> bool:
    """Whether the formatter of 3.x printed it."""
    return _OF_3_X.match(line) is not None


def offsets_row(line: str, number: int, last_ms: int) -> LogRow:
    """A line of 3.x. last_ms: of the line before, for one that has no time. Raises ValueError for other words."""
    found = _OF_3_X.match(line)
    if found is None:
        raise ValueError("not a line of the offsets formatter of Kafka 3.x")
    named = {"group": found["group"], "topic": found["topic"], "partition": whole(found["part"], 32)}
    key = encode_key(1, named)
    if found["offset"] is None:
        return NO_PARTITION, number, last_ms, key, None
    ms = whole(found["ms"])
    commit = {"offset": whole(found["offset"]), "leaderEpoch": -1, "metadata": found["metadata"], "commitTimestamp": ms}
    return NO_PARTITION, number, ms, key, encode_value(1, _COMMIT_VERSION, commit)


def time_in(value: object, last_ms: int) -> int:
    """When a record of 4.x was written, as its value says; else that of the record before."""
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, dict):
        return last_ms
    return next((whole(data[name]) for name in _TIMES if data.get(name) not in (None, -1)), last_ms)
