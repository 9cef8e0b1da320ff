"""Verifies the files of a partition. Nothing is changed or opened for writing.

A segment is read batch by batch, so that a file of a gigabyte needs only the memory of its largest batch. The length,
format, checksum and offsets of every batch are checked, and that segments follow one another. Indexes and checkpoints
are not checked, because they can be rebuilt from the segments.
Source: Kafka's `LogSegment.recover`, `LogLoader`, `DefaultRecordBatch.ensureValid`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import fstat
from pathlib import Path

from kohort.protocol.batches import crc_matches, read_batch
from kohort.protocol.errors import DecodeError

_HEAD_SIZE = 12
_PARTITION = re.compile(r"[A-Za-z0-9._-]+-[0-9]+")
_SEGMENT = re.compile(r"[0-9]{20}\.log")


@dataclass(frozen=True, slots=True)
class SegmentState:
    """Content of a segment up to its first fault."""

    path: Path
    base_offset: int
    next_offset: int  # offset after the last intact record
    batches: int
    size_bytes: int
    intact_bytes: int
    fault: str | None = None  # description of the fault at `intact_bytes`, if any


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The segments of one partition, ordered by offset."""

    name: str
    segments: tuple[SegmentState, ...]
    faults: tuple[str, ...]  # one sentence each


def partition_folders(folder: Path) -> list[Path]:
    """Return the partition folders of a data directory, ordered by name.

    Raises:
        OSError: The directory cannot be listed.
    """
    return sorted(
        (path for path in folder.iterdir() if _PARTITION.fullmatch(path.name) and _has_segments(path)),
        key=lambda path: (path.name.rpartition("-")[0], int(path.name.rpartition("-")[2])),
    )


def _has_segments(folder: Path) -> bool:
    """Return whether a folder contains segments.

    A folder that cannot be listed counts, so that its check reports the reason.
    """
    if not folder.is_dir():
        return False
    try:
        return any(_SEGMENT.fullmatch(path.name) for path in folder.iterdir())
    except PermissionError:
        return True


def check_partition(folder: Path) -> PartitionState:
    """Check a partition. Unreadable files are reported as faults."""
    segments: list[SegmentState] = []
    faults: list[str] = []
    try:
        paths = sorted(path for path in folder.iterdir() if _SEGMENT.fullmatch(path.name))
    except OSError as problem:
        return PartitionState(folder.name, (), (f"cannot be listed: {problem.strerror}",))
    for path in paths:
        try:
            state = check_segment(path)
        except OSError as problem:
            faults.append(f"{path.name} cannot be read: {problem.strerror}")
            continue
        if segments and state.base_offset < segments[-1].next_offset:
            faults.append(f"{path.name} begins before the end of the segment before it, {segments[-1].next_offset}")
        if state.fault is not None:
            faults.append(f"{path.name}, byte {state.intact_bytes} of {state.size_bytes}: {state.fault}")
        segments.append(state)
    return PartitionState(folder.name, tuple(segments), tuple(faults))


def check_segment(path: Path) -> SegmentState:
    """Read a segment file to its end or its first fault.

    Raises:
        OSError: The file cannot be read.
    """
    base_offset = next_offset = int(path.stem)
    batches = intact = 0
    fault = None
    with path.open("rb") as file:
        size = fstat(file.fileno()).st_size
        try:
            for data in _pieces(file.read, size):
                next_offset = _checked(data, next_offset)
                batches += 1
                intact += len(data)
        except DecodeError as problem:
            fault = str(problem)
    return SegmentState(path, base_offset, next_offset, batches, size, intact, fault)


def _pieces(read: Callable[[int], bytes], size: int) -> Iterator[bytes]:
    """Yield the batches of a file.

    Raises:
        DecodeError: A batch does not fit.
    """
    remaining = size
    while remaining:
        head = read(_HEAD_SIZE)
        length = int.from_bytes(head[8:], "big", signed=True)
        if len(head) < _HEAD_SIZE or _HEAD_SIZE + length > remaining:
            raise DecodeError(f"the last {remaining} bytes are not a whole batch")
        if not any(head):
            # File systems can leave zeros after a machine failure.
            raise DecodeError(f"zeros where a batch should begin, {remaining} bytes from the end")
        data = head + read(max(length, 0))
        remaining -= len(data)
        yield data


def _checked(data: bytes, least_offset: int) -> int:
    """Return the offset after a batch's last record.

    Raises:
        DecodeError: The batch is damaged.
    """
    batch = read_batch(data)
    if not crc_matches(data, batch):
        raise DecodeError(f"the checksum of the batch at offset {batch.base_offset} is wrong")
    if batch.base_offset < least_offset or batch.last_offset_delta < 0:
        raise DecodeError(f"a batch at offset {batch.base_offset} where {least_offset} or more must follow")
    return batch.last_offset + 1
