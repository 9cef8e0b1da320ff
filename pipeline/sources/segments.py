"""Segment files of `__consumer_offsets` and `__share_group_state`, copied from any broker or written by kohort.

Transactional commits count only after their commit marker. Markers follow the records, so a partition with transactions
is searched for markers first.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from kohort.pipeline.records.offset_commits import Ints
from kohort.pipeline.records.segment_batches import HEADER_SIZE, Headers, Records, read_headers, read_segment, select
from kohort.pipeline.sources.chunk import (
    ABORTED,
    COMMITTED,
    NO_TRANSACTION,
    OFFSETS_TOPIC,
    PENDING,
    SHARE_STATE_TOPIC,
    Chunk,
    Issue,
    chunk_of_rows,
)
from kohort.pipeline.sources.stored import SourceFile

_FOLDER = r"{}-(\d+)(\.[0-9a-f]+-(delete|stray))?$"
_FOLDERS = {topic: re.compile(_FOLDER.format(topic)) for topic in (OFFSETS_TOPIC, SHARE_STATE_TOPIC)}


def partition_of(path: SourceFile, topic: str = OFFSETS_TOPIC) -> int | None:
    """Return the partition of a segment file from the name of its folder, or None for another topic."""
    match = _FOLDERS[topic].search(path.parent.name)
    return int(match[1]) if match and not match[2] else None


def read_partition(partition: int, paths: Sequence[SourceFile]) -> Iterator[Chunk]:
    """Yield all records of one partition from its segment files, in offset order."""
    paths = sorted(paths, key=lambda path: path.name)
    markers: Markers | None = None
    expected = -1
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError as error:
            yield chunk_of_rows([], [Issue("unreadable_file", str(path), error.strerror or str(error))])
            continue
        for records in read_segment(data):
            issues = [
                Issue("damaged_segment", f"{path.parent.name}/{path.name}@{d.position}", d.reason)
                for d in records.damage
            ]
            gap = _gaps(records, expected)
            if len(records.offset):
                expected = max(int(records.offset[-1]), int(records.headers.last_offset[-1])) + 1
            if markers is None and (records.headers.is_transactional & ~records.headers.is_control).any():
                markers = Markers(paths)
            yield _chunk(partition, records, gap, markers, issues)


def _gaps(records: Records, expected: int) -> Ints:
    if not len(records.offset):
        return np.zeros(0, np.int64)
    expected_offsets = np.concatenate(([records.offset[0] if expected < 0 else expected], records.offset[:-1] + 1))
    return np.maximum(records.offset - expected_offsets, 0)


def _chunk(partition: int, records: Records, gap: Ints, markers: Markers | None, issues: list[Issue]) -> Chunk:
    control = records.headers.is_control
    if control.any():
        keep = ~control[records.batch]
        records, gap = select(records, keep), gap[keep]
    transaction = np.zeros(len(records.offset), np.int64)
    if markers is not None:
        transaction = markers.outcomes(records.headers)[records.batch]
    return Chunk(
        records.spans,
        np.full(len(records.offset), partition, np.int64),
        records.offset,
        records.timestamp,
        records.headers.leader_epoch[records.batch],
        transaction,
        gap,
        issues,
    )


class Markers:
    """Commit and abort markers of one partition, by producer."""

    def __init__(self, paths: Sequence[SourceFile]) -> None:
        self._of: dict[int, list[tuple[int, int]]] = {}
        for path in paths:
            try:
                data = path.read_bytes()
            except OSError:
                continue  # the reader of its records reports it
            headers = read_headers(data, [])
            for n in np.flatnonzero(headers.is_control & (headers.count > 0)).tolist():
                begin = int(headers.position[n]) + HEADER_SIZE
                kind = control_type(data[begin : begin + 32])
                if kind is not None:
                    self._of.setdefault(int(headers.producer_id[n]), []).append((int(headers.base_offset[n]), kind))

    def outcomes(self, headers: Headers) -> Ints:
        """Return one of the transaction constants of `chunk` for each batch."""
        result = np.full(len(headers), NO_TRANSACTION, np.int64)
        for n in np.flatnonzero(headers.is_transactional).tolist():
            markers = self._of.get(int(headers.producer_id[n]), [])
            at = bisect_right(markers, (int(headers.base_offset[n]), 99))
            result[n] = markers[at][1] if at < len(markers) else PENDING
        return result


def control_type(record: bytes) -> int | None:
    """Return COMMITTED or ABORTED for a control record, or None for other types.

    Its key is int16 version, int16 type.
    """
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
