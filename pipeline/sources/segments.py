"""Segment files of `__consumer_offsets`, copied from any broker or written by kohort.

Transactional commits count when their marker says so: markers stand behind the records, so a partition that holds
transactions is looked through for markers first.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kohort.pipeline.records.batches import HEADER, Header, Records, read_headers, read_segment, select
from kohort.pipeline.records.commits import Ints
from kohort.pipeline.sources.chunk import ABORTED, COMMITTED, NO_TRANSACTION, PENDING, Chunk, Issue

_FOLDER = re.compile(r"__consumer_offsets-(\d+)(\.[0-9a-f]+-(delete|stray))?$")


def partition_of(path: Path) -> int | None:
    """The partition a segment file belongs to, told by its folder; None when the name doesn't tell."""
    match = _FOLDER.search(path.parent.name)
    return int(match[1]) if match and not match[2] else None


def read_partition(partition: int, paths: list[Path]) -> Iterator[Chunk]:
    """All records of one partition from its segment files, in offset order."""
    paths = sorted(paths, key=lambda path: path.name)
    markers: Markers | None = None
    expected = -1
    for path in paths:
        data = path.read_bytes()
        for records in read_segment(data):
            issues = [
                Issue("damaged_segment", f"{path.parent.name}/{path.name}@{d.position}", d.reason)
                for d in records.damage
            ]
            gap = _gaps(records, expected)
            if len(records.offset):
                expected = max(int(records.offset[-1]), records.headers[-1].last_offset) + 1
            if markers is None and any(h.is_transactional and not h.is_control for h in records.headers):
                markers = Markers(paths)
            yield _chunk(partition, records, gap, markers, issues)


def _gaps(records: Records, expected: int) -> Ints:
    if not len(records.offset):
        return np.zeros(0, np.int64)
    before = np.concatenate(([records.offset[0] if expected < 0 else expected], records.offset[:-1] + 1))
    return np.maximum(records.offset - before, 0)


def _chunk(partition: int, records: Records, gap: Ints, markers: Markers | None, issues: list[Issue]) -> Chunk:
    if any(header.is_control for header in records.headers):
        keep = records.per_record("is_control") == 0
        records, gap = select(records, keep), gap[keep]
    transaction = np.zeros(len(records.offset), np.int64)
    if markers is not None:
        outcome = np.array([markers.outcome(header) for header in records.headers], np.int64)
        transaction = outcome[records.batch]
    return Chunk(
        records.places,
        np.full(len(records.offset), partition, np.int64),
        records.offset,
        records.timestamp,
        records.per_record("leader_epoch") if records.headers else np.zeros(0, np.int64),
        transaction,
        gap,
        issues,
    )


class Markers:
    """Commit and abort markers of one partition: what became of a producer's records."""

    def __init__(self, paths: list[Path]) -> None:
        self._of: dict[int, list[tuple[int, int]]] = {}
        for path in paths:
            data = memoryview(path.read_bytes())
            for header in read_headers(data, []):
                if header.is_control and header.count:
                    self.add(header, bytes(data[header.position + HEADER.size : header.position + HEADER.size + 32]))

    def add(self, header: Header, record: bytes) -> None:
        kind = control_type(record)
        if kind is not None:
            self._of.setdefault(header.producer_id, []).append((header.base_offset, kind))

    def outcome(self, header: Header) -> int:
        if not header.is_transactional:
            return NO_TRANSACTION
        markers = self._of.get(header.producer_id, [])
        at = bisect_right(markers, (header.base_offset, 99))
        return markers[at][1] if at < len(markers) else PENDING


def control_type(record: bytes) -> int | None:
    """COMMITTED or ABORTED for a control record; None for other kinds. Its key is int16 version, int16 type."""
    at = 0
    for field in range(5):  # length, attributes, time, offset, key length
        if field == 1:
            at += 1
            continue
        while at < len(record) and record[at] & 0x80:
            at += 1
        at += 1
    kind = int.from_bytes(record[at + 2 : at + 4], "big")
    return {0: ABORTED, 1: COMMITTED}.get(kind)
