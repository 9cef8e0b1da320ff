"""Zigzag varints as in records: at most 5 bytes for an int, 10 for a long.

Excess high bits are dropped, as in Kafka. Source: Kafka's `ByteUtils`.
"""

from typing import Final

from kohort.protocol.errors import DecodeError
from kohort.protocol.wire import unsigned_varint

INT_BYTES: Final = 5
LONG_BYTES: Final = 10
_INT: Final = 0xFFFF_FFFF
_LONG: Final = 0xFFFF_FFFF_FFFF_FFFF


def read_varint(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """Read an int and return the position after it.

    Raises:
        DecodeError: It has more than 5 bytes.
        IndexError: The data ends early.
    """
    value = data[at]
    if value < 0x80:
        return value >> 1 ^ -(value & 1), at + 1
    byte = data[at + 1]
    value = value & 0x7F | (byte & 0x7F) << 7
    if byte < 0x80:
        return value >> 1 ^ -(value & 1), at + 2
    value, at = _longer(data, at, value, INT_BYTES)
    value &= _INT
    return value >> 1 ^ -(value & 1), at


def read_varlong(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """Read a long of at most 10 bytes; raises like `read_varint`."""
    value = data[at]
    if value < 0x80:
        return value >> 1 ^ -(value & 1), at + 1
    byte = data[at + 1]
    value = value & 0x7F | (byte & 0x7F) << 7
    if byte < 0x80:
        return value >> 1 ^ -(value & 1), at + 2
    value, at = _longer(data, at, value, LONG_BYTES)
    value &= _LONG
    return value >> 1 ^ -(value & 1), at


def varint(value: int) -> bytes:
    value = value << 1 ^ value >> 63
    return _ONE_BYTE[value] if value < 0x80 else unsigned_varint(value)


_ONE_BYTE: Final = tuple(bytes((n,)) for n in range(128))


def _longer(data: bytes | bytearray, at: int, value: int, longest: int) -> tuple[int, int]:
    """Read a number of more than two bytes without zigzag decoding; `value` has the bits of the first two."""
    shift = 14
    for position in range(at + 2, at + longest):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
    raise DecodeError(f"a number of more than {longest} bytes")
