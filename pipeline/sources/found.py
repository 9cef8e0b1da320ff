"""Looks at what was handed over and says what it is, by content rather than by name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.lines import read_lines
from kohort.pipeline.sources.security import OPEN, Security
from kohort.pipeline.sources.segments import partition_of

SEGMENT, EXPORT, DUMP, TEXT_LOG, EVENTS, END_OFFSETS, TOPICS, WIRE = (
    "segment", "export", "dump", "text_log", "events", "end_offsets", "topics", "wire",
)  # fmt: skip

_ADDRESS = re.compile(r"^(?=[^/\\]*:\d+)[\w.\-\[\]:,]+$")
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
_SOURCE_RANK = {SEGMENT: 0, WIRE: 0, DUMP: 1, EXPORT: 2}


@dataclass(frozen=True, slots=True)
class Source:
    """partition: of the offsets topic, for segment files and clusters; -1 for all else. size in bytes, or records."""

    kind: str
    path: str
    partition: int = -1
    size: int = 0
    security: Security = OPEN

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
        path = Path(argument).absolute()  # workers and servers of Spark run in folders of their own
        if path.is_dir():
            inside = list(_inside(path, issues))
            if not inside:
                issues.append(Issue("no_source", argument, "nothing in this directory is a log that can be analysed"))
            found.update((source.path, source) for source in inside)
        elif path.is_file():
            source = look_at(path, named=True)
            if source is None:
                issues.append(Issue("no_source", argument, "this file is none of the kinds that can be analysed"))
            else:
                found[source.path] = source
        elif _ADDRESS.match(argument):
            found[argument] = Source(WIRE, argument, security=security)
        else:
            issues.append(Issue("no_source", argument, "no such file or directory, and not an address host:port"))
    return list(found.values()), issues


def _inside(folder: Path, issues: list[Issue]) -> Iterable[Source]:
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name.startswith((".", "_")):
            continue
        try:
            source = look_at(path)
        except OSError as error:
            issues.append(Issue("unreadable_file", str(path), str(error)))
            continue
        if source is not None:
            yield source


def look_at(path: Path, named: bool = False) -> Source | None:
    """What a file is, or None. named: a person pointed at this very file, so its folder may have any name."""
    if path.suffix in _PASSED_OVER:
        return None
    size = path.stat().st_size
    partition = partition_of(path)
    if path.suffix == ".log" and (partition is not None or _looks_like_segment(path)):
        if partition is None and not named:
            return None  # the log of some other topic
        return Source(SEGMENT, str(path), 0 if partition is None else partition, size)
    kind = _text_kind(path)
    return None if kind is None else Source(kind, str(path), -1, size)


def _looks_like_segment(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(61)
    return len(head) == 61 and head[16] == 2 and head[8] == 0 and b"[" not in head[:1]


def _text_kind(path: Path) -> str | None:
    try:
        for number, line in enumerate(read_lines(path)):
            if kind := _kind_of_line(line, path):
                return kind
            if number >= _LINES_LOOKED_AT:
                return None
    except (OSError, EOFError):
        return None
    return None


def _kind_of_line(line: str, path: Path) -> str | None:
    if "[GroupCoordinator" in line:
        return TEXT_LOG
    if (line.startswith("Dumping ") and "__consumer_offsets" in line) or line.startswith("| offset: "):
        return DUMP
    if line.startswith("partition,offset,timestamp,key,value"):
        return EXPORT
    if line.strip() == "[" and path.suffix == ".json":
        return TOPICS if '"topic_id"' in path.read_text("utf-8", "replace")[:4000] else None
    if not line.startswith("{"):
        return None
    try:
        row = json.loads(line)
    except ValueError:
        return None
    if {"partition", "offset", "key", "value"} <= row.keys():
        return EXPORT
    if {"sampled_ms", "topic", "log_end"} <= row.keys():
        return END_OFFSETS
    if {"event_id", "kind", "ts"} <= row.keys():
        return EVENTS
    return None
