"""Records that indexes refer to but segments no longer contain.

A segment that ends too early looks like one that was never longer, for example a file that a file system repair has
emptied or whose name was lost. But indexes, written when a segment is full or the broker stops, refer to its offsets.
If responses wait for a sync, indexes are written after the sync, too. So the records that they refer to existed.
Source: Kafka's `OffsetIndex` and `TimeIndex`; Kafka itself rebuilds them silently.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from kohort.storage.disk.indexes import OFFSET_INDEX, TIME_INDEX

_OFFSET_ENTRY = Struct(">ii")  # relative offset and position
_TIME_ENTRY = Struct(">qi")  # timestamp and relative offset
_DIGITS = 20  # digits of a segment's file name


class Missing(NamedTuple):
    """A range of offsets that a file refers to and no segment contains."""

    path: Path  # segment that contained them
    first: int
    last: int  # last offset that is referred to
    told_by: tuple[Path, ...]  # files that refer to them

    def __str__(self) -> str:
        emptied = self.path.exists() and not self.path.stat().st_size
        state = "is empty" if emptied else "ends too early" if self.path.exists() else "is gone"
        names = " and ".join(path.name for path in self.told_by)
        verb = "names" if len(self.told_by) == 1 else "name"
        return (
            f"{self.path.parent.name}: offsets {self.first} to {self.last}, and perhaps later ones, are missing: "
            f"{self.path.name} {state}, and {names} {verb} records in it"
        )


def missing(folder: Path, ends: Sequence[tuple[int, int]], log_start_offset: int) -> Iterator[Missing]:
    """Yield the ranges that indexes refer to and segments lack.

    Args:
        ends: First offset and end offset of each segment, in order.

    Raises:
        OSError: A file cannot be read.
    """
    end_by_base = dict(ends)
    for base in sorted({*end_by_base, *_indexed(folder)}):
        if base not in end_by_base and any(first <= base < end for first, end in ends):
            continue  # a compaction has made one segment of several
        first = max(end_by_base.get(base, base), log_start_offset)
        path = folder / f"{base:020}.log"
        lasts = {
            path_of_index: base + last
            for path_of_index in indexes_of(path)
            if (last := _last_offset(path_of_index)) is not None
        }
        lasts = {path_of_index: last for path_of_index, last in lasts.items() if last >= first}
        if lasts:
            yield Missing(path, first, max(lasts.values()), tuple(lasts))


def indexes_of(segment: Path) -> tuple[Path, Path]:
    """Return the paths of a segment's index files, which may not exist."""
    return segment.with_suffix(OFFSET_INDEX), segment.with_suffix(TIME_INDEX)


def _indexed(folder: Path) -> Iterator[int]:
    """Yield the first offsets of segments that have an index."""
    for path in folder.iterdir():
        if path.suffix in (OFFSET_INDEX, TIME_INDEX) and len(path.stem) == _DIGITS and path.stem.isdecimal():
            yield int(path.stem)


def _last_offset(path: Path) -> int | None:
    """Return the largest relative offset of an index, or None if it is empty or damaged.

    An index has no checksum, but both columns increase. Kafka leaves zeros after the last entry while a segment is
    open.
    """
    entry = _OFFSET_ENTRY if path.suffix == OFFSET_INDEX else _TIME_ENTRY
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    whole = data[: len(data) // entry.size * entry.size].rstrip(b"\0")
    entries = list(entry.iter_unpack(whole.ljust(-(-len(whole) // entry.size) * entry.size, b"\0")))
    if not all(earlier[0] < later[0] and earlier[1] <= later[1] for earlier, later in pairwise(entries)):
        return None
    if not entries or min(entries[0]) < 0:
        return None
    return int(entries[-1][0 if entry is _OFFSET_ENTRY else 1])
