"""Exports of the offsets topic as text: base64 lines, CSV, and output of Kafka's dump tool.

JSON Lines and CSV have the fields `partition, offset, timestamp, key, value` with key and value in base64. Lines of
`kcat -J` and `kohort consume -J` have kcat's field names and plain text. The dump tool's offsets decoder and the
console consumer's formatters print decoded records; those are encoded again, so that later stages read one format.
"""

from __future__ import annotations

import base64
import csv
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from kohort.pipeline.records.topic_ids import uuid_bytes
from kohort.pipeline.sources.checked import UNREADABLE, text, whole
from kohort.pipeline.sources.chunk import (
    ABORTED,
    COMMITTED,
    OFFSETS_TOPIC,
    PENDING,
    Chunk,
    Issue,
    LogRow,
    chunk_of_rows,
)
from kohort.pipeline.sources.formatted import NO_PARTITION, is_formatted, is_offsets_line, offsets_row, time_in
from kohort.pipeline.sources.lines import LONGEST_LINE, read_lines
from kohort.pipeline.sources.old_dump import old_record
from kohort.pipeline.sources.stored import SourceFile
from kohort.protocol.consumer_protocol import Assignment, Subscription, write_assignment, write_subscription
from kohort.protocol.records.layouts import CONSUMER_OFFSETS
from kohort.protocol.records.record_reader import decode
from kohort.protocol.records.record_writer import encode_key, encode_value
from kohort.protocol.records.schema import Array, RecordError, Struct

_ROWS_AT_ONCE = 100_000
_MOST_ISSUES = 20


def read_export(path: SourceFile) -> Iterator[Chunk]:
    """Yield the records of JSON Lines, CSV or formatter output; the first line determines the format."""
    rows: list[LogRow] = []
    issues = _Issues(path)
    last_ms = -1
    for number, fields in _fields(path, issues):
        try:
            row = _row_of(fields, number, last_ms)
            last_ms = row[2]
            rows.append(row)
        except UNREADABLE as error:
            issues.add(number, f"{type(error).__name__}: {error}")
        if len(rows) >= _ROWS_AT_ONCE:
            yield chunk_of_rows(rows, issues.take())
            rows = []
    yield chunk_of_rows(rows, issues.take())


def _row_of(fields: dict[str, Any], number: int, last_ms: int) -> LogRow:
    if "line" in fields:
        return offsets_row(fields["line"], number, last_ms)
    if is_formatted(fields):
        key, value = _encode(json.dumps(fields["key"]), json.dumps(fields["value"]))
        return NO_PARTITION, number, time_in(fields["value"], last_ms), key, value
    return _row_of_kcat(fields) if "payload" in fields else _row(fields)


def _row(fields: dict[str, Any]) -> LogRow:
    key, value = (
        None if fields.get(name) in (None, "") else base64.b64decode(fields[name], validate=True)
        for name in ("key", "value")
    )
    return whole(fields["partition"], 32), whole(fields["offset"]), whole(fields["timestamp"]), key, value


def _row_of_kcat(fields: dict[str, Any]) -> LogRow:
    """Return a record of kcat's JSON, whose bytes are text, or of kohort's, whose other bytes are base64."""
    if fields.get("topic") != OFFSETS_TOPIC:
        raise ValueError(f"a record of the topic {fields.get('topic')}, not of {OFFSETS_TOPIC}")
    key, value = fields.get("key"), fields.get("payload")
    position = whole(fields["partition"], 32), whole(fields["offset"]), whole(fields.get("ts", -1))
    as_text = (*position, _bytes_of(key, "utf-8"), _bytes_of(value, "utf-8"))
    if _is_read(*as_text[3:]):
        return as_text
    try:  # some tools write a byte as the character with that code point
        as_numbers = (*position, _bytes_of(key, "latin-1"), _bytes_of(value, "latin-1"))
    except UnicodeEncodeError:
        return as_text
    return as_numbers if _is_read(*as_numbers[3:]) else as_text


def _bytes_of(value: Any, encoding: str) -> bytes | None:
    if isinstance(value, dict):
        return base64.b64decode(value["base64"], validate=True)
    return None if value is None else str(value).encode(encoding, "surrogateescape")


def _is_read(key: bytes | None, value: bytes | None) -> bool:
    try:
        decode(key, value)
    except UNREADABLE:
        return False
    return True


def _fields(path: SourceFile, issues: _Issues) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = read_lines(path, issues.faults, keeps_bytes=True)
    csv.field_size_limit(LONGEST_LINE)  # its default is smaller than the record of a group with a thousand members
    first = next(lines, "")
    if first.startswith("{"):
        for number, line in enumerate(_chain(first, lines), 1):
            if not line:
                continue
            try:
                fields = json.loads(line)
                if not isinstance(fields, dict):
                    raise ValueError("not an object")
            except UNREADABLE as error:
                issues.add(number, f"not JSON: {error}")
                continue
            yield number, fields
    elif is_offsets_line(first):
        for number, line in enumerate(_chain(first, lines), 1):
            if line:
                yield number, {"line": line}
    else:
        table, number = csv.DictReader(_chain(first, lines)), 1
        while True:
            number += 1
            try:
                yield number, next(table)
            except StopIteration:
                return
            except csv.Error as error:
                issues.add(number, f"not CSV: {error}")


def _chain(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


class _Issues:
    """Issues of a file: the first few in detail, the rest counted."""

    def __init__(self, path: SourceFile) -> None:
        self.path, self.issues, self.more = path, list[Issue](), 0
        self.faults: list[Issue] = []

    def add(self, line: int, detail: str) -> None:
        if len(self.issues) < _MOST_ISSUES:
            self.issues.append(Issue("unreadable_line", f"{self.path.name}:{line}", text(detail[:300])))
        else:
            self.more += 1

    def take(self) -> list[Issue]:
        result, self.issues = self.issues + self.faults, []
        self.faults.clear()
        if self.more:
            result.append(Issue("unreadable_line", self.path.name, f"and {self.more} more lines"))
            self.more = 0
        return result


# --- the dump tool

_BATCH = re.compile(
    r"baseOffset: (\d+) (?>.*?producerId: (-?\d+) )"
    r"(?>.*?partitionLeaderEpoch: (-?\d+) isTransactional: (\w+) isControl: (\w+))"
)
_RECORD = re.compile(
    r"\|? ?offset: (\d+) (?:isValid: \w+ crc: \w+ )?(?:CreateTime|LogAppendTime): (-?\d+)"
    r"(?>.*? key: (?=\{|offset_commit::|group_metadata::))(?>(\{.*?\}\}|[og].*?) payload: )(.*)$"
)
_MARKER = re.compile(r"endTxnMarker: (COMMIT|ABORT)")
_FILE = re.compile(r"^Dumping .*__consumer_offsets-(\d+)/")


def read_dump(path: SourceFile) -> Iterator[Chunk]:
    """Yield the records in the output of kafka-dump-log with --offsets-decoder, for one or several files."""
    issues = _Issues(path)
    part: _DumpedPartition | None = None
    for number, line in enumerate(read_lines(path, issues.faults), 1):
        if match := _FILE.match(line):
            if part is not None:
                yield part.chunk(issues)
            part = _DumpedPartition(_partition_of(match, number, issues))
        elif line.startswith(("Log starting offset", "Starting offset")) or not line:
            continue
        elif part is None:
            part = _DumpedPartition(0)
            issues.add(number, "no 'Dumping …' line in front: partition taken as 0")
            _take(part, number, line, issues)
        else:
            _take(part, number, line, issues)
    yield part.chunk(issues) if part is not None else chunk_of_rows([], issues.take())


def _take(part: _DumpedPartition, number: int, line: str, issues: _Issues) -> None:
    try:
        part.line(line)
    except (*UNREADABLE, StopIteration) as error:
        issues.add(number, f"{type(error).__name__}: {error}")


def _partition_of(match: re.Match[str], number: int, issues: _Issues) -> int:
    try:
        return whole(match[1], 32)
    except UNREADABLE as error:
        issues.add(number, f"partition taken as 0: {error}")
        return 0


class _DumpedPartition:
    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.rows: list[LogRow] = []
        self.batch: dict[int, tuple[int, int]] = {}  # offset -> leader epoch, producer id or -1
        self.markers: list[tuple[int, int, int]] = []
        self.control: set[int] = set()
        self._now = (-1, -1, False)

    def line(self, line: str) -> None:
        """Add a line of the tool's output.

        Raises:
            UNREADABLE: The line has another format.
        """
        if match := _BATCH.match(line):
            transactional = match[4] == "true"
            self._now = (whole(match[3], 32), whole(match[2]) if transactional else -1, match[5] == "true")
            return
        if self._now[2]:
            marker, at = _MARKER.search(line), re.search(r"offset: (\d+)", line)
            if marker and at:
                self.control.add(whole(at[1]))
                self.markers.append((whole(at[1]), self._now[1], COMMITTED if marker[1] == "COMMIT" else ABORTED))
            return
        match = _RECORD.match(line)
        if not match:
            raise ValueError("not a line of the dump tool with --offsets-decoder")
        offset, time = whole(match[1]), whole(match[2])
        is_json = match[3].startswith("{")
        key, value = _encode(match[3], match[4]) if is_json else old_record(match[3], match[4], time)
        self.rows.append((self.partition, offset, time, key, value))
        self.batch[offset] = self._now[:2]

    def chunk(self, issues: _Issues) -> Chunk:
        chunk = chunk_of_rows(self.rows, issues.take())
        for n, offset in enumerate(chunk.offset.tolist()):
            epoch, producer = self.batch[offset]
            chunk.leader_epoch[n] = epoch
            if producer >= 0:
                outcome = (kind for at, of, kind in self.markers if of == producer and at > offset)
                chunk.transaction[n] = next(outcome, PENDING)
        offsets = np.array(sorted(self.control | set(chunk.offset.tolist())), np.int64)
        index = np.searchsorted(offsets, chunk.offset)
        chunk.gap[:] = np.where(index > 0, chunk.offset - offsets[np.maximum(index - 1, 0)] - 1, 0)
        return chunk


def _encode(key_text: str, value_text: str) -> tuple[bytes, bytes | None]:
    key = json.loads(key_text)
    kind = int(key.get("type", key.get("version")))
    if kind not in CONSUMER_OFFSETS.keys:
        raise RecordError(f"record type {kind} is not known")
    encoded_key = encode_key(kind, key["data"])
    if value_text.strip() in ("<DELETE>", "null", ""):
        return encoded_key, None
    value = json.loads(value_text)
    if value is None:
        return encoded_key, None
    version, layout = int(value["version"]), CONSUMER_OFFSETS.values[kind][0]
    return encoded_key, encode_value(kind, version, _bytes_again(layout.body, value["data"]))


def _bytes_again(kind: Any, value: Any, name: str = "") -> Any:
    """Convert the tool's JSON to the codec's values: ids and blobs are text in it."""
    if value is None:
        return None
    if isinstance(kind, Struct):
        return {
            field.name: _bytes_again(field.type, value[field.name], field.name)
            for field in kind.fields
            if field.name in value
        }
    if isinstance(kind, Array):
        return [_bytes_again(kind.of, element) for element in value]
    if kind == "uuid":
        return uuid_bytes(value)
    if kind in ("bytes", "bytes?"):
        return _blob(name, value)
    return int(value) if kind.startswith(("int", "uint")) else value


def _blob(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        return base64.b64decode(value)
    user_data = value.get("userData")
    raw = base64.b64decode(user_data) if user_data is not None else None
    # the tool doesn't print the version: an older one would have had fewer fields, all at their defaults
    if name == "assignment":
        return write_assignment(Assignment(partitions=_partitions(value["assignedPartitions"]), user_data=raw))
    return write_subscription(
        Subscription(
            topics=tuple(value["topics"]),
            user_data=raw,
            owned_partitions=_partitions(value.get("ownedPartitions", ())),
            generation_id=value.get("generationId", -1),
            rack_id=value.get("rackId"),
        )
    )


def _partitions(topics: Any) -> dict[str, tuple[int, ...]]:
    return {topic["topic"]: tuple(topic["partitions"]) for topic in topics}
