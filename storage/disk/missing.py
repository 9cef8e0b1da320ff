"""What the small files of a partition say that its segments held, and they no longer hold.

A segment that ends too early looks like one that was never longer: a file that a repair of the file system has emptied,
a name that was lost. But indexes, written when a segment is full or the broker stops, name offsets in it. Where nothing
is acknowledged before it is synced, they are written after that, too. So what they name was there.
Source: Kafka's `OffsetIndex` and `TimeIndex`; Kafka itself makes them anew and says nothing.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from kohort.storage.disk.indexes import OFFSET_INDEX, TIME_INDEX

_OFFSET_ENTRY = Struct(">ii")
"""Offset, counted from the segment's first, and a position."""
_TIME_ENTRY = Struct(">qi")
"""A timestamp, and an offset counted in the same way."""
_DIGITS = 20
"""A segment's name has so many."""


class Missing(NamedTuple):
    """Offsets of which a file says that they were there, and no segment holds them."""

    path: Path
    """The segment that held them."""
    first: int
    last: int
    """The last that is known of."""
    told_by: tuple[Path, ...]
    """The files that say so."""

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
    """What indexes name and segments lack. `ends`: first offset and end of each segment, in order. Raises OSError."""
    there = dict(ends)
    for base in sorted({*there, *_indexed(folder)}):
        if base not in there and any(first <= base < end for first, end in ends):
            continue  # a compaction has made one segment of several
        first = max(there.get(base, base), log_start_offset)
        path = folder / f"{base:020}.log"
        lasts = {each: base + last for each in indexes_of(path) if (last := _last_offset(each)) is not None}
        lasts = {each: last for each, last in lasts.items() if last >= first}
        if lasts:
            yield Missing(path, first, max(lasts.values()), tuple(lasts))


def indexes_of(segment: Path) -> tuple[Path, Path]:
    """The index files beside a segment, which may not be there."""
    return segment.with_suffix(OFFSET_INDEX), segment.with_suffix(TIME_INDEX)


def _indexed(folder: Path) -> Iterator[int]:
    """First offsets of segments that have an index."""
    for path in folder.iterdir():
        if path.suffix in (OFFSET_INDEX, TIME_INDEX) and len(path.stem) == _DIGITS and path.stem.isdecimal():
            yield int(path.stem)


def _last_offset(path: Path) -> int | None:
    """The largest offset that an index names, counted from its segment's first; None: none, or the index is damaged.

    It has no checksum. But both its columns grow. Kafka leaves zeros behind the last entry while a segment is open.
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
