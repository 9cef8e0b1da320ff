"""Whether a batch has been overtaken: later ones hold every key of it, so that a compaction leaves nothing of it.

That is nearly every batch of the offsets topic: a consumer commits the same partitions again and again. So it is told
without taking the batch apart, in a tenth of the time: batches of one size are laid out alike.
"""

from collections.abc import Callable, Container
from struct import Struct
from typing import Any, Final

from kohort.protocol.errors import DecodeError
from kohort.protocol.varints import read_varint, read_varlong

LONGEST_BYTES: Final = 8_192
"""Longer records are not remembered: a commit of 80 partitions fits."""

MOST_RECORDS: Final = 128
"""More records are not remembered: each takes 50 bytes beside what it says."""

SHAPES: Final = 1_024
"""At most this many are remembered in a compaction of a partition: a few MiB, of commits of a thousand groups."""

_Unpack = Callable[[bytes, int], Any]


class Overtaken:
    """Tells whether all keys of a batch have been seen."""

    __slots__ = ("_firsts", "_seen", "_shapes")

    def __init__(self, seen: Container[bytes]) -> None:
        """`seen`: keys of later batches. It may grow."""
        self._seen = seen
        self._firsts: dict[int, tuple[_Unpack, bytes, bytes, bool]] = {}
        """By size of all records, of the first one: what reads the bytes before its key, the key, and the size of its
        value; what the first and the last of these were; and whether it was the only record."""
        self._shapes: dict[tuple[bytes, int], tuple[_Unpack, tuple[bytes, ...]]] = {}
        """By first key and size of the records of an overtaken batch: what reads all but values, and what that was."""

    def has(self, data: bytes, at: int, end: int) -> bool:
        """Whether all keys of the records from `at` to `end`, of a batch that is not compressed, have been seen.

        False also if that is not seen at a glance: if a record has no key, or cannot be read.
        """
        first = self._firsts.get(end - at)
        if first is not None:
            unpack, before_key, behind_key, is_only = first
            before, key, behind = unpack(data, at)
            if before == before_key and behind == behind_key:
                return key in self._seen and (is_only or self._has_all(key, data, at, end))
        return self._learn_first(data, at, end) and self.has(data, at, end)

    def _learn_first(self, data: bytes, start: int, end: int) -> bool:
        """Notes how the first record is laid out. False: it has no key, or cannot be read."""
        try:
            key_at, value_size_at, value_at, record_end = _places(data, start, end)
        except (IndexError, DecodeError):
            return False
        if len(self._firsts) == SHAPES:
            self._firsts.clear()
        unpack = Struct(f"{key_at - start}s{value_size_at - key_at}s{value_at - value_size_at}s").unpack_from
        is_only = record_end == end
        self._firsts[end - start] = unpack, data[start:key_at], data[value_size_at:value_at], is_only
        return True

    def _has_all(self, first_key: bytes, data: bytes, at: int, end: int) -> bool:
        """What `has` says, of several records."""
        size = end - at
        shape = self._shapes.get((first_key, size))
        if shape is not None:
            unpack, said = shape
            return bool(unpack(data, at) == said)
        if size > LONGEST_BYTES or len(self._shapes) == SHAPES:
            return False
        try:
            return self._remember(first_key, data, at, end)
        except (IndexError, DecodeError):
            return False

    def _remember(self, first_key: bytes, data: bytes, start: int, end: int) -> bool:
        """Goes through the records. Those that differ from them in values only need not be gone through, if True."""
        layout: list[str] = []
        at = start
        while at < end:
            key_at, value_size_at, value_at, record_end = _places(data, at, end)
            if data[key_at:value_size_at] not in self._seen or len(layout) == MOST_RECORDS:
                return False
            layout.append(f"{value_at - at}s{record_end - value_at}x")
            at = record_end
        unpack = Struct("".join(layout)).unpack_from
        self._shapes[first_key, end - start] = unpack, unpack(data, start)
        return True


def _places(data: bytes, at: int, end: int) -> tuple[int, int, int, int]:
    """Where in a record are its key, the size of its value, and its value, and where it ends, at `end` at most.

    Raises IndexError, and DecodeError also for a record without a key.
    """
    length, at = read_varint(data, at)
    record_end = at + length
    _, at = read_varlong(data, at + 1)  # behind attributes: the difference of time
    _, at = read_varint(data, at)  # that of offsets
    key_size, key_at = read_varint(data, at)
    value_size_at = key_at + key_size
    if key_size < 0 or value_size_at >= end:
        raise DecodeError("a record without a key")
    _, value_at = read_varint(data, value_size_at)
    if not value_at <= record_end <= end:
        raise DecodeError("a record longer than it says")
    return key_at, value_size_at, value_at, record_end
