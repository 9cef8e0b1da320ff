"""Records from the output of the console consumer's formatters for the offsets topic.

The formatters print neither partition nor offset. The line number is used as offset, and the time of a record is taken
from its value: the time of the commit or of the group's current state. Lines up to 3.x are
`[group,topic,partition]::OffsetAndMetadata(…)`, before 2.1 `…::[OffsetMetadata[…],…]`; 4.x prints key and value as
JSON.
Source: kafka.coordinator.group.GroupMetadataManager.OffsetsMessageFormatter (3.x), OffsetsMessageFormatter and
GroupMetadataMessageFormatter of org.apache.kafka.tools.consumer (4.x).
"""

from __future__ import annotations

import re
from typing import Any

from kohort.pipeline.sources.checked import whole
from kohort.pipeline.sources.chunk import LogRow
from kohort.protocol.records.record_writer import encode_key, encode_value

NO_PARTITION = -1  # the formatters don't print the partition of the offsets topic
_BEFORE_4 = re.compile(
    r"^\[(?P<group>.*),(?P<topic>[^,]+),(?P<part>\d+)\]::(?:NULL|OffsetAndMetadata\(offset=(?P<offset>-?\d+), "
    r"leaderEpoch=[^,]*, metadata=(?P<metadata>.*), commitTimestamp=(?P<ms>-?\d+), expireTimestamp=.*\)"
    r"|\[OffsetMetadata\[(?P<old_offset>-?\d+),(?P<old_metadata>.*)\],"
    r"CommitTime (?P<old_ms>-?\d+),ExpirationTime .*\])$"
)
_COMMIT_VERSION = 3
_TIMES = ("commitTimestamp", "currentStateTimestamp")


def is_formatted(row: dict[str, Any]) -> bool:
    return isinstance(row.get("key"), dict) and "data" in row["key"] and "value" in row


def is_offsets_line(line: str) -> bool:
    return _BEFORE_4.match(line) is not None


def offsets_row(line: str, number: int, last_ms: int) -> LogRow:
    """Return the record of a line of 3.x or older.

    Args:
        line: Line of the formatter's output.
        number: Line number, used as offset.
        last_ms: Time of the previous line, used for tombstones, which have no time.

    Raises:
        ValueError: The line has another format.
    """
    match = _BEFORE_4.match(line)
    if match is None:
        raise ValueError("not a line of the offsets formatter of Kafka 3.x or older")
    named = {"group": match["group"], "topic": match["topic"], "partition": whole(match["part"], 32)}
    key = encode_key(1, named)
    if match["offset"] is None and match["old_offset"] is None:
        return NO_PARTITION, number, last_ms, key, None
    ms = whole(match["ms"] or match["old_ms"])
    offset, metadata = match["offset"], match["metadata"]
    if offset is None:
        offset, metadata = match["old_offset"], "" if match["old_metadata"] == "NO_METADATA" else match["old_metadata"]
    commit = {"offset": whole(offset), "leaderEpoch": -1, "metadata": metadata, "commitTimestamp": ms}
    return NO_PARTITION, number, ms, key, encode_value(1, _COMMIT_VERSION, commit)


def time_in(value: object, last_ms: int) -> int:
    """Return the time in the value of a record of 4.x, or `last_ms` if it has none."""
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, dict):
        return last_ms
    return next((whole(data[name]) for name in _TIMES if data.get(name) not in (None, -1)), last_ms)
