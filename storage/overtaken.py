"""Detects overtaken batches: later batches contain every key, so that a compaction keeps nothing.

This applies to almost every batch of the offsets topic, because a consumer commits the same partitions repeatedly. It
is detected without decoding the batch, in a tenth of the time: batches of the same size have the same layout.
"""

from collections.abc import Callable, Container
from struct import Struct
from typing import Any, Final

from kohort.protocol.batches import record_places
from kohort.protocol.errors import DecodeError

LONGEST_BYTES: Final = 8_192  # Longer records are not cached; a commit of 80 partitions fits.

MOST_RECORDS: Final = 128  # Batches with more records are not cached: each needs 50 bytes in addition to its content.

SHAPES: Final = 1_024  # Cached layouts per compaction of a partition: a few MiB for the commits of a thousand groups.

_Unpack = Callable[[bytes, int], Any]


class Overtaken:
    """Checks whether all keys of a batch have been seen."""

    __slots__ = ("_firsts", "_later_keys", "_shapes")

    def __init__(self, later_keys: Container[bytes]) -> None:
        """Create a check against the keys of later batches. The caller may add keys to `seen`."""
        self._later_keys = later_keys
        # By total size of the records, for the first record: the reader of the bytes before its key, the key, and the
        # size of its value; the first and last of these values; and whether it was the only record.
        self._firsts: dict[int, tuple[_Unpack, bytes, bytes, bool]] = {}
        # By first key and size of an overtaken batch's records: the reader of everything but values, and its result.
        self._shapes: dict[tuple[bytes, int], tuple[_Unpack, tuple[bytes, ...]]] = {}

    def is_overtaken(self, data: bytes, at: int, end: int) -> bool:
        """Return whether all keys of the records from `at` to `end` of an uncompressed batch have been seen.

        Also returns False if that cannot be decided without decoding, because a record has no key or is malformed.
        """
        first = self._firsts.get(end - at)
        if first is not None:
            unpack, before_key, behind_key, is_only = first
            prefix, key, behind = unpack(data, at)
            if prefix == before_key and behind == behind_key:
                return key in self._later_keys and (is_only or self._has_all(key, data, at, end))
        return self._learn_first(data, at, end) and self.is_overtaken(data, at, end)

    def _learn_first(self, data: bytes, start: int, end: int) -> bool:
        """Cache the layout of the first record. Return False if it has no key or is malformed."""
        try:
            key_at, value_size_at, value_at, record_end = record_places(data, start, end)
        except (IndexError, DecodeError):
            return False
        if len(self._firsts) == SHAPES:
            self._firsts.clear()
        unpack = Struct(f"{key_at - start}s{value_size_at - key_at}s{value_at - value_size_at}s").unpack_from
        is_only = record_end == end
        self._firsts[end - start] = unpack, data[start:key_at], data[value_size_at:value_at], is_only
        return True

    def _has_all(self, first_key: bytes, data: bytes, at: int, end: int) -> bool:
        """Answer `has` for several records."""
        size = end - at
        shape = self._shapes.get((first_key, size))
        if shape is not None:
            unpack, values = shape
            return bool(unpack(data, at) == values)
        if size > LONGEST_BYTES or len(self._shapes) == SHAPES:
            return False
        try:
            return self._remember(first_key, data, at, end)
        except (IndexError, DecodeError):
            return False

    def _remember(self, first_key: bytes, data: bytes, start: int, end: int) -> bool:
        """Decode the records. If True, batches that differ only in the values need not be decoded."""
        layout: list[str] = []
        at = start
        while at < end:
            key_at, value_size_at, value_at, record_end = record_places(data, at, end)
            if data[key_at:value_size_at] not in self._later_keys or len(layout) == MOST_RECORDS:
                return False
            layout.append(f"{value_at - at}s{record_end - value_at}x")
            at = record_end
        unpack = Struct("".join(layout)).unpack_from
        self._shapes[first_key, end - start] = unpack, unpack(data, start)
        return True
