"""The partition of `__consumer_offsets` that stores a group (classic-groups §1.1)."""

import struct
from functools import lru_cache
from typing import Final

_SIGN: Final = 1 << 31
_WORD: Final = 1 << 32


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`, over UTF-16 code units in signed 32-bit arithmetic."""
    raw = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for unit in struct.unpack(f">{len(raw) // 2}H", raw):
        value = (31 * value + unit) % _WORD
    return value - _WORD if value & _SIGN else value


@lru_cache(maxsize=256)  # a client looks for the coordinator of a group that it then joins
def partition_for(group_id: str, partitions: int) -> int:
    """Return the partition of a group. The hash -2^31 has no absolute value in 32 bits and counts as 0."""
    value = java_hash(group_id)
    return 0 if value == -_SIGN else abs(value) % partitions
