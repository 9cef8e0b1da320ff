"""Recovers a partition's folder after a clean shutdown or a crash, and prepares it for writing.

A compaction that had started to replace files is completed; otherwise its files are deleted. The headers of all batches
are read to rebuild indexes and producer state. After an unclean shutdown the checksums of all segments are verified,
too, because it is unknown which of them the operating system had written when the machine stopped. Damaged parts,
almost always an incomplete batch at the end, are cut out and saved next to the segment for inspection.
Source: Kafka's `LogLoader`, `LogSegment.recover`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple
from zlib import crc32

import google_crc32c

from kohort.protocol.batches import HEADER_SIZE, MAGIC, NO_PRODUCER, read_batch
from kohort.protocol.errors import DecodeError
from kohort.storage.disk.checkpoints import CheckpointError, read_epochs
from kohort.storage.disk.file_segment import FileSegment
from kohort.storage.disk.files import Disk
from kohort.storage.disk.missing import indexes_of, missing
from kohort.storage.producers import Producers
from kohort.storage.segment import Segment
from kohort.storage.store import Epochs, Found

# Suffixes of a segment, of one that a compaction is writing, and of one that is about to replace others.
LOG, CLEANED, SWAP = ".log", ".cleaned", ".swap"

_NAME = re.compile(r"\d{20}\.log(\.cleaned|\.swap)?")
# base offset, length, leader epoch, magic, CRC, attributes, last offset delta, largest timestamp, producer id
_HEADER = Struct(">qiibIhi8xqq")
_CHECKED_AT = 21
_MAGIC_AT = 16
_WINDOW_BYTES = 1 << 20
_MOST_LOST = 1 << 20  # Maximum offsets in a damaged part; a batch that is further away is a coincidence.
_LARGEST_DELTA = 2**31 - 1
_LEAST_LENGTH = 14  # minimum length of a message in the oldest format
_OTHER_MAGICS = frozenset({0, 1, *range(MAGIC + 1, 16)})


class RecoveryError(Exception):
    """A folder that cannot be used. The text includes the remedy."""


def segment_path(folder: Path, base_offset: int) -> Path:
    return folder / f"{base_offset:020}{LOG}"


class _Hole(NamedTuple):
    """A damaged part of a segment."""

    start: int
    end: int
    reason: str


class Recovery:
    """Opens the folders of partitions."""

    def __init__(self, disk: Disk, *, in_peace: bool, delays: bool, producer_expiration_ms: int) -> None:
        """Create a recovery.

        Args:
            in_peace: The broker that last wrote the folders was stopped cleanly.
            delays: Records must be on disk before they are read.
        """
        self._disk = disk
        self._in_peace = in_peace
        self._delays = delays
        self._producer_expiration_ms = producer_expiration_ms

    def open(self, folder: Path, log_start_offset: int, clean_before: int) -> Found:
        """Recover a folder.

        Args:
            clean_before: Segments that end at or before this offset have been compacted.

        Raises:
            RecoveryError: The folder cannot be used.
            CheckpointError: A checkpoint is malformed.
            OSError: A file operation failed.
        """
        warnings: list[str] = []
        self._finish_compaction(folder)
        segments: list[Segment] = []
        producers = Producers(self._producer_expiration_ms)
        epochs: list[tuple[int, int]] = []
        paths = sorted(folder.glob("*" + LOG))
        paths = [path for path in paths if _NAME.fullmatch(path.name)]
        mended: list[Path] = []
        for path in paths:
            last = path is paths[-1]
            if self._delays and not self._in_peace:
                self._disk.reread(path)
            segment, holes = self._scan(path, producers, epochs, checked=not self._in_peace)
            if holes:
                warnings.append(self._mend(segment, holes))
                mended.append(path)
            segment.clean = segment.next_offset <= clean_before and not last
            if segments and segment.base_offset < segments[-1].next_offset:
                raise RecoveryError(
                    f"{path} begins before the end of the segment before it, {segments[-1].next_offset}: one of the "
                    "two does not belong here; move it away"
                )
            segments.append(segment)
        warnings += self._missing(folder, segments, log_start_offset, clean_before, mended)
        start = max(log_start_offset, segments[0].base_offset if segments else 0)
        end = segments[-1].next_offset if segments else log_start_offset
        if end < start:  # where it starts was noted: these offsets have been given to records
            warnings.append(
                f"{folder.name}: the log starts at offset {start}, and its files end at {end}; it continues at {start}"
            )
            segments[-1].next_offset = end = start
        return Found(
            segments,
            start,
            _epochs(folder, epochs, end),
            producers if len(producers) or producers.transactions else None,
            warnings,
        )

    def _missing(
        self, folder: Path, segments: list[Segment], log_start_offset: int, clean_before: int, mended: list[Path]
    ) -> Iterator[str]:
        """Yield a warning for each missing range of a log.

        Raises:
            RecoveryError: Acknowledged records are missing and not saved elsewhere, so that an operator must decide.
        """
        ends = [(segment.base_offset, segment.next_offset) for segment in segments]
        for gap in missing(folder, ends, log_start_offset):
            if gap.path in mended:  # already reported, and the damaged part was saved
                for index in indexes_of(gap.path):
                    self._disk.remove(index)
            elif self._delays:
                names = " and ".join(map(str, gap.told_by))
                raise RecoveryError(
                    f"{gap}; they were on the disk before they were acknowledged. Put the file back from a copy, or "
                    f"remove {names}, and restart: then the log continues without them"
                )
            else:
                yield f"{gap}; the log continues without them"
        for number, segment in enumerate(segments):
            path = segment_path(folder, segment.base_offset)
            if segment.size_bytes or segment.base_offset < clean_before or path in mended:
                continue
            if number < len(segments) - 1:
                reason = "a compaction has left nothing of it"
            elif not self._in_peace and (number or not segment.base_offset):  # else everything before it was deleted
                reason = "the broker died before it wrote the first record to it"
            else:
                continue
            yield f"{folder.name}/{path.name} is empty: {reason}, or its records are lost"

    def _scan(
        self, path: Path, producers: Producers, epochs: list[tuple[int, int]], *, checked: bool
    ) -> tuple[FileSegment, list[_Hole]]:
        """Read a segment and return it, indexed without its damaged parts; `checked` also verifies checksums."""
        segment = FileSegment(self._disk.file(path), int(path.name[:20]), int(path.stat().st_mtime * 1000))
        holes: list[_Hole] = []
        with self._disk.mapped(path) as data:
            at, size = 0, len(data)
            while at < size:
                fault = _fault(data, at, segment.next_offset, checked=checked)
                if fault is None and _is_out_of_place(data, at, segment):
                    fault = "a batch with an offset that is not its own"
                if fault is not None:
                    _refuse_other_formats(path, data, at, segment.next_offset)
                    resume_at = _next_intact(data, at + 1, segment.next_offset)
                    holes.append(_Hole(at, resume_at, fault))
                    at = resume_at
                    continue
                base, length, epoch, _, _, _, delta, max_timestamp, producer_id = _HEADER.unpack_from(data, at)
                if epoch >= 0 and (not epochs or epoch > epochs[-1][0]):
                    epochs.append((epoch, base))
                if producer_id > NO_PRODUCER:
                    _remember(producers, data, at)
                segment.note(12 + length, base + delta, max_timestamp)
                at += 12 + length
        return segment, holes

    def _mend(self, segment: FileSegment, holes: list[_Hole]) -> str:
        """Save the damaged parts of a segment separately, remove them, and return a warning."""
        file = segment.file
        path = file.path
        lost = sum(hole.end - hole.start for hole in holes)
        first = holes[0]
        warning = f"{path.parent.name}/{path.name}: {lost} bytes cut from byte {first.start} on: {first.reason}"
        if len(holes) == 1 and first.end == file.size:
            tail = file.read(first.start, lost)
            if any(tail):
                kept = path.with_name(f"{path.name}.cut-{first.start}")
                self._disk.write_whole(kept, tail)
                warning += f"; they are kept in {kept.name}"
            file.truncate(first.start)
            return warning
        kept = path.with_name(f"{path.name}.damaged-{first.start}")
        self._disk.keep(path, kept)
        pieces, at = [], 0
        for hole in holes:
            pieces.append(file.read(at, hole.start - at))
            at = hole.end
        pieces.append(file.read(at, file.size - at))
        self._disk.write_whole(path, b"".join(pieces))
        file.close()
        file.size = path.stat().st_size
        return f"{warning}; intact batches follow and stay; the file as it was is kept as {kept.name}"

    def _finish_compaction(self, folder: Path) -> None:
        for path in folder.glob("*" + LOG + CLEANED):
            self._disk.remove(path)
        for path in folder.glob("*.tmp"):
            self._disk.remove(path)
        swaps = sorted(folder.glob("*" + LOG + SWAP))
        for path in swaps:
            end = self._end_of(path)
            for other in sorted(folder.glob("*" + LOG)):
                if int(path.name[:20]) < int(other.name[:20]) < end:
                    self._remove(other)
            for index in indexes_of(path.with_suffix("")):
                self._disk.remove(index)
            self._disk.rename(path, path.with_suffix(""))

    def _remove(self, path: Path) -> None:
        for index in indexes_of(path):
            self._disk.remove(index)
        self._disk.remove(path)

    def _end_of(self, path: Path) -> int:
        end = int(path.name[:20])
        with self._disk.mapped(path) as data:
            at = 0
            while at < len(data) and _fault(data, at, end, checked=False) is None:
                base, length, _, _, _, _, delta, _, _ = _HEADER.unpack_from(data, at)
                end = base + delta + 1
                at += 12 + length
        return end


def _fault(data: memoryview, at: int, next_offset: int, *, checked: bool) -> str | None:
    """Return why the batch at `at` is not intact or starts before `next_offset`, or None."""
    remaining = len(data) - at
    if remaining < HEADER_SIZE:
        return "too little for a batch"
    base, length, _, magic, crc, _, delta, _, _ = _HEADER.unpack_from(data, at)
    if magic != MAGIC or not HEADER_SIZE <= length + 12 <= remaining or base < next_offset or delta < 0:
        return "no whole batch"
    if checked and google_crc32c.value(bytes(data[at + _CHECKED_AT : at + 12 + length])) != crc:
        return f"the checksum of the batch at offset {base} is wrong"
    return None


def _is_out_of_place(data: memoryview, at: int, segment: FileSegment) -> bool:
    """Return whether a batch violates the order of offsets, which no checksum covers.

    Compaction leaves gaps, but offsets increase within a file, and all are relative to the segment's first.
    """
    base, length, _, _, _, _, delta, _, _ = _HEADER.unpack_from(data, at)
    if base == segment.next_offset:
        return False
    if base + delta - segment.base_offset > _LARGEST_DELTA:
        return True
    after = at + 12 + length
    if _fault(data, after, segment.next_offset, checked=True) is not None:
        return False
    following = _HEADER.unpack_from(data, after)[0]
    return bool(following <= base + delta)


def _next_intact(data: memoryview, at: int, next_offset: int) -> int:
    """Return the position of the next intact batch, including its checksum, or the end."""
    size = len(data)
    while at + HEADER_SIZE <= size:
        window = bytes(data[at + _MAGIC_AT : at + _MAGIC_AT + _WINDOW_BYTES])
        position = window.find(MAGIC)
        while position >= 0:
            # Checking for nearby offsets excludes most false matches before a checksum is computed.
            if (
                _fault(data, at + position, next_offset, checked=False) is None
                and _HEADER.unpack_from(data, at + position)[0] - next_offset < _MOST_LOST
                and _fault(data, at + position, next_offset, checked=True) is None
            ):
                return at + position
            position = window.find(MAGIC, position + 1)
        at += _WINDOW_BYTES
    return size


def _refuse_other_formats(path: Path, data: memoryview, at: int, expected: int) -> None:
    """Raise RecoveryError for a batch of another message format, which other software can read.

    One such batch among others of the current format is damaged by a bit flip instead.
    """
    remaining = len(data) - at
    if remaining < HEADER_SIZE:
        return
    base_offset, length, _, magic, *_ = _HEADER.unpack_from(data, at)
    if magic not in _OTHER_MAGICS or base_offset != expected or not _LEAST_LENGTH <= length <= remaining - 12:
        return
    after = at + 12 + length
    if magic < MAGIC:
        checksum = int.from_bytes(data[at + 12 : at + _MAGIC_AT], "big")
        is_other = crc32(data[at + _MAGIC_AT : after]) == checksum
    else:
        is_other = len(data) - after <= _MAGIC_AT or data[after + _MAGIC_AT] != MAGIC
    if is_other:
        raise RecoveryError(
            f"{path}, byte {at}: a record batch of format {magic}, and this version reads format {MAGIC} only; start "
            "the one that wrote it, or move the folder away"
        )


def _epochs(folder: Path, batch_epochs: list[tuple[int, int]], end: int) -> Epochs:
    """Combine the stored epochs with later ones found in batches. A damaged checkpoint is ignored."""
    try:
        written = [epoch for epoch in read_epochs(folder) if epoch[1] <= end]
    except CheckpointError:
        written = []
    return (*written, *(epoch for epoch in batch_epochs if not written or epoch[0] > written[-1][0]))


def _remember(producers: Producers, data: memoryview, at: int) -> None:
    try:
        producers.replay(data, read_batch(data, at))
    except DecodeError:
        return  # an unreadable marker ends no transaction; consumers receive it unchanged
