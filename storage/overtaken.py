"""Whether a batch has been overtaken: later ones hold every key of it, so that a compaction leaves nothing of it.

That is nearly every batch of the offsets topic: a consumer commits the same partitions again and again. So it is told
without taking the batch apart, in a tenth of the time.
"""

from collections.abc import Container

from kohort.protocol.errors import DecodeError
from kohort.protocol.varints import read_varint, read_varlong

LONGEST_BYTES = 8_192
"""Longer records are not remembered: a commit of 80 partitions fits."""

SHAPES = 512
"""So many are remembered at most in a compaction of a partition: a few MiB, of commits of hundreds of groups."""


class Overtaken:
    """Tells whether all keys of a batch have been seen."""

    __slots__ = ("_seen", "_shapes")

    def __init__(self, seen: Container[bytes]) -> None:
        """`seen`: keys of later batches. It may grow."""
        self._seen = seen
        self._shapes: dict[tuple[bytes, int], tuple[int, int]] = {}
        """By first key and size of the records of an overtaken batch: where they say anything but values, and what."""

    def has(self, records: bytes) -> bool:
        """Whether all keys of these records, of a batch that is not compressed, have been seen.

        False also if that is not to be told at a glance: if a record has no key, or cannot be read.
        """
        try:
            length, at = read_varint(records, 0)
            end = at + length
            if records[at + 1] > 0x7F or records[at + 2] > 0x7F:
                return False  # its time or offset takes more than one byte, which only a producer does
            key_size, at = read_varint(records, at + 3)
            value_at = at + key_size
            key = records[at:value_at]
            if key_size < 0 or key not in self._seen:
                return False
            size = len(records)
            if end == size:  # the only one
                return read_varint(records, value_at)[1] <= end
            shape = self._shapes.get((key, size))
            if shape is not None:
                return int.from_bytes(records, "little") & shape[0] == shape[1]
            return size <= LONGEST_BYTES and len(self._shapes) < SHAPES and self._remember(key, records)
        except (IndexError, DecodeError):
            return False

    def _remember(self, first_key: bytes, records: bytes) -> bool:
        """Goes through the records. Those that differ from them in values only need not be gone through, if True."""
        size, at = len(records), 0
        mask = bytearray(size)
        while at < size:
            start = at
            length, at = read_varint(records, at)
            end = at + length
            _, at = read_varlong(records, at + 1)  # behind attributes: the difference of time
            _, at = read_varint(records, at)  # that of offsets
            key_size, at = read_varint(records, at)
            key = records[at : at + key_size]
            if key_size < 0 or key not in self._seen:
                return False
            _, at = read_varint(records, at + key_size)
            if not start < at <= end <= size:
                return False
            mask[start:at] = b"\xff" * (at - start)
            at = end
        kept = int.from_bytes(mask, "little")
        self._shapes[first_key, size] = kept, int.from_bytes(records, "little") & kept
        return True
