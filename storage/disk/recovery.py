"""A partition's folder as it was left, by a broker that was stopped or that died, made ready to be written again.

A compaction that had begun to put its files in place is brought to its end, one that had not is forgotten. The headers
of all batches are looked at, from which indexes and producers are worked out anew. Where the broker was not stopped in
peace, the checksums are looked at too, of all segments: nobody knows which of them the system had written when the
machine stopped. What is no intact batch is cut out, nearly always a torn tail; it is kept beside the segment, so that
nothing is lost that somebody may want to look into.
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

LOG, CLEANED, SWAP = ".log", ".cleaned", ".swap"
"""Endings of a segment, of one that a compaction is writing, and of one that it is about to put in place."""

_NAME = re.compile(r"\d{20}\.log(\.cleaned|\.swap)?")
_HEADER = Struct(">qiibIhi8xqq")
"""Base offset, length, leader epoch, magic, CRC, attributes, last offset delta, largest timestamp, producer id."""
_CHECKED_AT = 21
_MAGIC_AT = 16
_WINDOW_BYTES = 1 << 20
_MOST_LOST = 1 << 20
"""Offsets that a damaged stretch may have held; a batch further on is taken for chance."""
_LARGEST_DELTA = 2**31 - 1
_LEAST_LENGTH = 14
"""The length of the smallest message in the oldest format, counted as in ours."""
_OTHER_MAGICS = frozenset({0, 1, *range(MAGIC + 1, 16)})


class RecoveryError(Exception):
    """A folder that cannot be used. The text is a sentence that says what to do."""


def segment_path(folder: Path, base_offset: int) -> Path:
    """The file of a segment."""
    return folder / f"{base_offset:020}{LOG}"


class _Hole(NamedTuple):
    """A stretch of a segment that is no intact batch."""

    start: int
    end: int
    why: str


class Recovery:
    """Opens the folders of partitions."""

    def __init__(self, disk: Disk, *, in_peace: bool, delays: bool, producer_expiration_ms: int) -> None:
        """`in_peace`: whether the broker that wrote them last was stopped, and did not die.

        `delays`: what is read must be on the disk.
        """
        self._disk = disk
        self._in_peace = in_peace
        self._delays = delays
        self._producer_expiration_ms = producer_expiration_ms

    def open(self, folder: Path, log_start_offset: int, clean_before: int) -> Found:
        """What the folder holds. `clean_before`: segments that end at this offset or before it were compacted.

        Raises RecoveryError, CheckpointError, OSError.
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
                f"{folder.name}: the log starts at offset {start}, and its files end at {end}; it goes on at {start}"
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
        """What is missing of a log, one sentence each.

        Raises RecoveryError where it was acknowledged, and nothing of it is kept: somebody has to decide.
        """
        ends = [(segment.base_offset, segment.next_offset) for segment in segments]
        for each in missing(folder, ends, log_start_offset):
            if each.path in mended:  # that has been said, and what was cut is kept
                for index in indexes_of(each.path):
                    self._disk.remove(index)
            elif self._delays:
                names = " and ".join(map(str, each.told_by))
                raise RecoveryError(
                    f"{each}; they were on the disk before they were acknowledged. Put the file back from a copy, or "
                    f"remove {names}, and start again: then the log goes on without them"
                )
            else:
                yield f"{each}; the log goes on without them"
        for number, segment in enumerate(segments):
            path = segment_path(folder, segment.base_offset)
            if segment.size_bytes or segment.base_offset < clean_before or path in mended:
                continue
            if number < len(segments) - 1:
                why = "a compaction has left nothing of it"
            elif not self._in_peace and (number or not segment.base_offset):  # else everything before it was deleted
                why = "the broker died before it wrote the first record to it"
            else:
                continue
            yield f"{folder.name}/{path.name} is empty: {why}, or what it held is lost"

    def _scan(
        self, path: Path, producers: Producers, epochs: list[tuple[int, int]], *, checked: bool
    ) -> tuple[FileSegment, list[_Hole]]:
        """Goes through a segment, whose index is of the file without its holes. `checked`: checksums too."""
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
                    found = _next_intact(data, at + 1, segment.next_offset)
                    holes.append(_Hole(at, found, fault))
                    at = found
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
        """Takes the holes out of a segment's file; what was in them is kept beside it. Says so."""
        file = segment.file
        path = file.path
        lost = sum(hole.end - hole.start for hole in holes)
        first = holes[0]
        warning = f"{path.parent.name}/{path.name}: {lost} bytes cut from byte {first.start} on: {first.why}"
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
    """Why there is no intact batch at `at`, with `next_offset` or a later one; None: there is."""
    left = len(data) - at
    if left < HEADER_SIZE:
        return "too little for a batch"
    base, length, _, magic, crc, _, delta, _, _ = _HEADER.unpack_from(data, at)
    if magic != MAGIC or not HEADER_SIZE <= length + 12 <= left or base < next_offset or delta < 0:
        return "no whole batch"
    if checked and google_crc32c.value(bytes(data[at + _CHECKED_AT : at + 12 + length])) != crc:
        return f"the checksum of the batch at offset {base} is wrong"
    return None


def _is_out_of_place(data: memoryview, at: int, segment: FileSegment) -> bool:
    """Whether a batch comes too late in the order of offsets, which no checksum covers.

    Compaction leaves gaps. But what follows in a file has a later offset, and all are counted from the segment's first.
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
    """Where the next batch begins that is intact, checksum and all; the end: nowhere."""
    size = len(data)
    while at + HEADER_SIZE <= size:
        window = bytes(data[at + _MAGIC_AT : at + _MAGIC_AT + _WINDOW_BYTES])
        found = window.find(MAGIC)
        while found >= 0:
            # Offsets that are near rule out most of what is no batch, before a checksum is worked out.
            if (
                _fault(data, at + found, next_offset, checked=False) is None
                and _HEADER.unpack_from(data, at + found)[0] - next_offset < _MOST_LOST
                and _fault(data, at + found, next_offset, checked=True) is None
            ):
                return at + found
            found = window.find(MAGIC, found + 1)
        at += _WINDOW_BYTES
    return size


def _refuse_other_formats(path: Path, data: memoryview, at: int, expected: int) -> None:
    """A batch that would follow, but for its format, is not damaged: somebody else can read it.

    One among others of our format is damaged, though: so looks a bit that has flipped.
    """
    left = len(data) - at
    if left < HEADER_SIZE:
        return
    base_offset, length, _, magic, *_ = _HEADER.unpack_from(data, at)
    if magic not in _OTHER_MAGICS or base_offset != expected or not _LEAST_LENGTH <= length <= left - 12:
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


def _epochs(folder: Path, seen: list[tuple[int, int]], end: int) -> Epochs:
    """Those written down, and later ones that are in batches. A checkpoint that is damaged is not needed."""
    try:
        written = [each for each in read_epochs(folder) if each[1] <= end]
    except CheckpointError:
        written = []
    return (*written, *(each for each in seen if not written or each[0] > written[-1][0]))


def _remember(producers: Producers, data: memoryview, at: int) -> None:
    try:
        producers.replay(data, read_batch(data, at))
    except DecodeError:
        return  # a marker that nobody can read ends no transaction; readers of the log meet it as it is
