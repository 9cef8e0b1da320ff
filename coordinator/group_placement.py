"""Which partition of `__consumer_offsets` holds a group (classic-groups §1.1)."""

import struct
from typing import Final

_SIGN: Final = 1 << 31
_WORD: Final = 1 << 32


def java_hash(text: str) -> int:
    """Java's `String.hashCode`: over UTF-16 code units, in signed 32-bit arithmetic."""
    raw = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for unit in struct.unpack(f">{len(raw) // 2}H", raw):
        value = (31 * value + unit) % _WORD
    return value - _WORD if value & _SIGN else value


def partition_for(group_id: str, partitions: int) -> int:
    """The partition of a group among `partitions`. The hash -2^31, which has no positive twin, counts as 0."""
    value = java_hash(group_id)
    return 0 if value == -_SIGN else abs(value) % partitions
