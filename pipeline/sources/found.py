"""Looks at what was handed over and says what it is, by content rather than by name."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kohort.client.security import OPEN, Security
from kohort.pipeline.remote_path import is_stored
from kohort.pipeline.sources.broker_lines import looks_like_a_brokers
from kohort.pipeline.sources.checked import UNREADABLE
from kohort.pipeline.sources.chunk import OFFSETS_TOPIC, SHARE_STATE_TOPIC, Issue
from kohort.pipeline.sources.formatted import is_formatted, is_offsets_line
from kohort.pipeline.sources.lacking import what_it_lacks
from kohort.pipeline.sources.lines import UTF_16, read_lines
from kohort.pipeline.sources.segments import partition_of
from kohort.pipeline.sources.stored import SourceFile, files_behind
from kohort.pipeline.sources.unwrapping import DENIED, MARK
from kohort.pipeline.store_errors import store_error

SEGMENT, EXPORT, DUMP, TEXT_LOG, EVENTS, END_OFFSETS, TOPICS, WIRE = (
    "segment", "export", "dump", "text_log", "events", "end_offsets", "topics", "wire",
)  # fmt: skip
SHARE_SEGMENT, SHARE_WIRE = "share_segment", "share_wire"
"""As SEGMENT and WIRE, of the topic that share coordinators keep their state in."""

_ADDRESS = re.compile(r"^(?=[^/\\]*:\d+)[\w.\-\[\]:,]+$")
_PORT = re.compile(r":(\d+)(?=,|$)")
_HOST = re.compile(r"^[A-Za-z0-9][\w.\-]*$")
_LINES_LOOKED_AT = 400
_PASSED_OVER = (
    ".index",
    ".timeindex",
    ".txnindex",
    ".snapshot",
    ".checkpoint",
    ".html",
    ".parquet",
    ".md",
    ".properties",
)
_SOURCE_RANK = {SEGMENT: 0, WIRE: 0, SHARE_SEGMENT: 0, SHARE_WIRE: 0, DUMP: 1, EXPORT: 2}


@dataclass(frozen=True, slots=True)
class Source:
    """partition: of a coordinators' topic, for segment files and clusters; -1 for all else. size in bytes, or records.

    asked_ms: when a cluster was asked where its log ends, so that nothing of before is missing; 0: it was not.
    """

    kind: str
    path: str
    partition: int = -1
    size: int = 0
    security: Security = OPEN
    asked_ms: int = 0

    @property
    def rank(self) -> int:
        """Which source to believe when two hold the same record: the lower knows more about it."""
        return _SOURCE_RANK.get(self.kind, 9)


def find_sources(arguments: Iterable[str], security: Security = OPEN) -> tuple[list[Source], list[Issue]]:
    """Every source behind the arguments, and a word on each that is none. Files named twice are read once.

    security: of all addresses among them.
    """
    found: dict[str, Source] = {}
    issues: list[Issue] = []
    for argument in arguments:
        try:
            sources = list(_behind(argument, security, issues))
        except OSError as error:
            issues.append(_unreadable(argument, error))
            continue
        found.update((source.path, source) for source in sources)
    return list(found.values()), issues


def _behind(argument: str, security: Security, issues: list[Issue]) -> Iterator[Source]:
    if is_stored(argument):
        yield from _stored(argument, issues)
        return
    path = Path(argument).absolute()  # workers and servers of Spark run in folders of their own
    why: str | None = None
    if not argument:
        why = "it is empty (a variable that isn't set?); say . for this directory"
    elif path.is_dir():
        before, count = len(issues), 0
        for source in _inside(path, issues):
            count += 1
            yield source
        if not count and len(issues) == before:
            why = _nothing_inside(path)
    elif path.is_file():
        source_or_none = look_at(path, named=True)
        if source_or_none is not None:
            yield source_or_none
        else:
            why = what_it_lacks(_beginning(path))
            why = why or "this file is none of the kinds that can be analysed (kohort analyze --help names them)"
    elif path.exists():
        why = "it is neither a file nor a directory; write what it gives into a file"
    elif _ADDRESS.match(argument):
        if wrong := next((port for port in _PORT.findall(argument) if not 0 < int(port) < 65_536), None):
            why = f"{wrong} is no port: those are 1 to 65535"
        else:
            yield Source(WIRE, argument, security=security)
    else:
        why = "no such file or directory, and not an address host:port"
        if _HOST.match(argument):
            why += f" (did you mean {argument}:9092?)"
    if why is not None:
        issues.append(Issue("no_source", argument, why))


def _unreadable(place: str, error: OSError) -> Issue:
    return Issue("unreadable_file", place, store_error(str(error)) or error.strerror or str(error))


def _inside(folder: Path, issues: list[Issue]) -> Iterator[Source]:
    def closed(error: OSError) -> None:
        issues.append(_unreadable(error.filename, error))

    names = (Path(at) / name for at, _, files in os.walk(folder, onerror=closed) for name in files)
    yield from _looked_through((path for path in sorted(names) if path.is_file()), issues)


def _stored(address: str, issues: list[Issue]) -> Iterator[Source]:
    """What lies in an object store or HDFS. Raises OSError."""
    files, before = list(files_behind(address)), len(issues)
    if [str(file) for file in files] == [address]:
        found = [each for each in (look_at(files[0], named=True),) if each is not None]
    else:
        found = list(_looked_through(files, issues))
    yield from found
    if not found and len(issues) == before:
        text = "nothing stored there is a log that can be analysed (kohort analyze --help names the kinds)"
        issues.append(Issue("no_source", address, text))


def _looked_through(files: Iterable[SourceFile], issues: list[Issue]) -> Iterator[Source]:
    for path in files:
        if path.name.startswith((".", "_")):
            continue
        try:
            source = look_at(path)
        except OSError as error:
            issues.append(_unreadable(str(path), error))
            continue
        if source is not None:
            yield source


def _nothing_inside(folder: Path) -> str:
    if any(path.stem.isdecimal() for path in folder.rglob("*.log")):
        return (
            "its segment files are in no folder called __consumer_offsets-<partition> or __share_group_state-"
            "<partition>, by which those of these topics are known; if they are of the first, name the files themselves"
        )
    return "nothing in this directory is a log that can be analysed (kohort analyze --help names the kinds)"


def look_at(path: SourceFile, named: bool = False) -> Source | None:
    """What a file is, or None. named: a person pointed at this very file, so its folder may have any name."""
    if path.suffix in _PASSED_OVER:
        return None
    size = path.stat().st_size
    if path.suffix == ".log" and (of_shares := partition_of(path, SHARE_STATE_TOPIC)) is not None:
        return Source(SHARE_SEGMENT, str(path), of_shares, size)
    partition = partition_of(path)
    if path.suffix == ".log" and (partition is not None or _looks_like_segment(path)):
        if partition is None and not named:
            return None  # the log of some other topic
        return Source(SEGMENT, str(path), 0 if partition is None else partition, size)
    kind = _text_kind(path, named)
    return None if kind is None else Source(kind, str(path), -1, size)


def _looks_like_segment(path: SourceFile) -> bool:
    with path.open("rb") as file:
        head = file.read(61)
    return len(head) == 61 and head[16] == 2 and head[8] == 0 and b"[" not in head[:1]


def _text_kind(path: SourceFile, named: bool) -> str | None:
    try:
        brokers = False
        for number, line in enumerate(read_lines(path)):
            if _of_share_state(line):
                return None
            if kind := _kind_of_line(line, path):
                return kind
            brokers = brokers or looks_like_a_brokers(line)
            if number >= _LINES_LOOKED_AT and not named:  # who names a file knows what is in it, however late
                return TEXT_LOG if brokers and _mentions_groups(path) else None
    except (EOFError, zlib.error, gzip.BadGzipFile):  # packed, and damaged before the first line that shows its kind
        return None
    return TEXT_LOG if named and brokers else None


def _of_share_state(line: str) -> bool:
    """Return whether a line is from a dump of __share_group_state, whose keys look like those of commits."""
    if line.startswith("Dumping "):
        return SHARE_STATE_TOPIC in line
    return line.startswith("| offset: ") and '"stateEpoch":' in line


def _mentions_groups(path: SourceFile) -> bool:
    """Whether a broker's log has lines of the coordinator or the authorizer, however late."""
    return any(MARK in line or DENIED in line for line in read_lines(path))


def _beginning(path: SourceFile) -> str:
    with path.open("rb") as file:
        head = file.read(4000)
    return head.decode("utf-16" if head.startswith(UTF_16) else "utf-8", "replace")


def _kind_of_line(line: str, path: SourceFile) -> str | None:
    if MARK in line or DENIED in line:
        return TEXT_LOG
    if (line.startswith("Dumping ") and "__consumer_offsets" in line) or line.startswith("| offset: "):
        return DUMP
    if line.startswith("partition,offset,timestamp,key,value") or is_offsets_line(line):
        return EXPORT
    if line.strip() == "[" and path.suffix == ".json":
        return TOPICS if '"topic_id"' in _beginning(path) else None
    if not line.startswith("{"):
        return None
    try:
        row = json.loads(line)
    except UNREADABLE:
        return None
    if is_formatted(row) or {"partition", "offset", "key", "value"} <= row.keys():
        return EXPORT
    if {"topic", "partition", "offset", "key", "payload"} <= row.keys():  # as kcat -J prints it
        return EXPORT if row["topic"] == OFFSETS_TOPIC else None
    if {"sampled_ms", "topic", "log_end"} <= row.keys():
        return END_OFFSETS
    if {"event_id", "kind", "ts"} <= row.keys():
        return EVENTS
    return None
