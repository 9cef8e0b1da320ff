"""Detection of sources by their content, not by their name."""

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
from kohort.pipeline.sources.lacking import FORMATTED_SHARE_STATE, what_it_lacks
from kohort.pipeline.sources.lines import UTF_16, read_lines
from kohort.pipeline.sources.segments import partition_of
from kohort.pipeline.sources.stored import SourceFile, files_behind
from kohort.pipeline.sources.unwrapping import DENIED, MARK
from kohort.pipeline.store_errors import store_error

SEGMENT, EXPORT, DUMP, TEXT_LOG, EVENTS, END_OFFSETS, TOPICS, WIRE = (
    "segment", "export", "dump", "text_log", "events", "end_offsets", "topics", "wire",
)  # fmt: skip
# as SEGMENT and WIRE, of the topic in which share coordinators keep their state
SHARE_SEGMENT, SHARE_WIRE = "share_segment", "share_wire"

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
    """File, cluster or stored object to read.

    partition: Partition of a coordinator topic, for segment files and clusters; otherwise -1.
    size: Bytes of a file, records of a cluster's partition.
    asked_ms: Time at which a cluster's end offsets were fetched; earlier records are complete. 0 if not fetched.
    """

    kind: str
    path: str
    partition: int = -1
    size: int = 0
    security: Security = OPEN
    asked_ms: int = 0

    @property
    def rank(self) -> int:
        """Priority among sources with the same record; the lowest has the most details."""
        return _SOURCE_RANK.get(self.kind, 9)


def find_sources(arguments: Iterable[str], security: Security = OPEN) -> tuple[list[Source], list[Issue]]:
    """Find the sources behind the arguments, and an issue for each argument without one.

    Files named twice are returned once.

    Args:
        arguments: Files, folders, addresses of object stores or `host:port` of clusters.
        security: Security of all clusters among them.
    """
    by_path: dict[str, Source] = {}
    issues: list[Issue] = []
    for argument in arguments:
        try:
            sources = list(_behind(argument, security, issues))
        except OSError as error:
            issues.append(_unreadable(argument, error))
            continue
        by_path.update((source.path, source) for source in sources)
    return list(by_path.values()), issues


def _behind(argument: str, security: Security, issues: list[Issue]) -> Iterator[Source]:
    if is_stored(argument):
        yield from _stored(argument, issues)
        return
    path = Path(argument).absolute()  # workers and servers of Spark run in folders of their own
    reason: str | None = None
    if not argument:
        reason = "the argument is empty (unset variable?); use . for this directory"
    elif path.is_dir():
        issues_before, count = len(issues), 0
        for source in _inside(path, issues):
            count += 1
            yield source
        if not count and len(issues) == issues_before:
            reason = _nothing_inside(path)
    elif path.is_file():
        source_or_none = look_at(path, named=True)
        if source_or_none is not None:
            yield source_or_none
        else:
            reason = what_it_lacks(_beginning(path))
            reason = reason or "unknown type of file; see kohort analyze --help for the supported types"
    elif path.exists():
        reason = "neither a file nor a directory; write its output to a file"
    elif _ADDRESS.match(argument):
        if wrong := next((port for port in _PORT.findall(argument) if not 0 < int(port) < 65_536), None):
            reason = f"port {wrong} is out of range 1 to 65535"
        else:
            yield Source(WIRE, argument, security=security)
    else:
        reason = "no such file or directory, and not an address host:port"
        if _HOST.match(argument):
            reason += f" (did you mean {argument}:9092?)"
    if reason is not None:
        issues.append(Issue("no_source", argument, reason))


def _unreadable(path: str, error: OSError) -> Issue:
    return Issue("unreadable_file", path, store_error(str(error)) or error.strerror or str(error))


def _inside(folder: Path, issues: list[Issue]) -> Iterator[Source]:
    def closed(error: OSError) -> None:
        issues.append(_unreadable(error.filename, error))

    names = (Path(at) / name for at, _, files in os.walk(folder, onerror=closed) for name in files)
    yield from _looked_through((path for path in sorted(names) if path.is_file()), issues)


def _stored(address: str, issues: list[Issue]) -> Iterator[Source]:
    """Yield the sources of an object store or HDFS.

    Raises:
        OSError: The store can't be read.
    """
    files, issues_before = list(files_behind(address)), len(issues)
    if [str(file) for file in files] == [address]:
        sources = [source for source in (look_at(files[0], named=True),) if source is not None]
    else:
        sources = list(_looked_through(files, issues))
    yield from sources
    if not sources and len(issues) == issues_before:
        text = "no supported file is stored there; see kohort analyze --help for the supported types"
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
    """Detect the type of a file, or return None if it isn't supported.

    Args:
        path: File to read.
        named: The user named this file, so it is read to its end and its folder may have any name.
    """
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
            if number >= _LINES_LOOKED_AT and not named:  # a file that the user named is searched to its end
                return TEXT_LOG if brokers and _mentions_groups(path) else None
    except (EOFError, zlib.error, gzip.BadGzipFile):  # compressed, and damaged before the first recognizable line
        return None
    return TEXT_LOG if named and brokers else None


def _of_share_state(line: str) -> bool:
    """Return whether a line is from a dump of __share_group_state, whose keys look like those of commits."""
    if line.startswith("Dumping "):
        return SHARE_STATE_TOPIC in line
    return (line.startswith("| offset: ") and '"stateEpoch":' in line) or FORMATTED_SHARE_STATE.match(line) is not None


def _mentions_groups(path: SourceFile) -> bool:
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
