"""Primitives of Kafka's wire format, for messages that are read and written by hand.

Readers take a buffer and a position and return a value and the position after it; reading past the end raises
IndexError. Writers return bytes, to be joined once. "Compact" is the encoding of flexible versions (KIP-482).
"""

from collections.abc import Callable
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from kohort.protocol.errors import DecodeError

SHORT: Final = Struct(">h")
INT: Final = Struct(">i")

_NO_UUID: Final = bytes(16)
_ONE_BYTE: Final = tuple(bytes((n,)) for n in range(128))


def read_unsigned_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Read up to five bytes of seven bits each, the lowest first.

    Raises:
        DecodeError: There is a sixth byte.
    """
    value = data[at]
    if value < 0x80:
        return value, at + 1
    byte = data[at + 1]
    value = value & 0x7F | (byte & 0x7F) << 7
    if byte < 0x80:
        return value, at + 2
    at += 1
    for shift in (14, 21, 28):
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
    raise DecodeError("a varint longer than five bytes")


def unsigned_varint(value: int) -> bytes:
    """Encode a non-negative number."""
    if value < 0x80:
        return _ONE_BYTE[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def compact_length(count: int) -> bytes:
    """Encode the length of a compact string, bytes or array: one more than the length, because 0 means null."""
    return _ONE_BYTE[count + 1] if count < 0x7F else unsigned_varint(count + 1)


def compact_string(text: str | None) -> bytes:
    if text is None:
        return b"\x00"
    raw = text.encode()
    return compact_length(len(raw)) + raw


def compact_bytes(raw: bytes | None) -> bytes:
    return b"\x00" if raw is None else compact_length(len(raw)) + raw


def string(text: str | None) -> bytes:
    """Encode a nullable string of at most 32767 bytes, with a length of two bytes.

    Raises:
        struct.error: The string is too long.
    """
    if text is None:
        return b"\xff\xff"
    raw = text.encode()
    return SHORT.pack(len(raw)) + raw


def four_bytes(raw: bytes | None) -> bytes:
    """Encode nullable bytes with a length of four bytes."""
    return b"\xff\xff\xff\xff" if raw is None else INT.pack(len(raw)) + raw


def uuid(value: UUID | None) -> bytes:
    """Encode 16 bytes; null is all zeros."""
    return _NO_UUID if value is None else value.bytes


def tag(number: int, value: bytes) -> bytes:
    return unsigned_varint(number) + unsigned_varint(len(value)) + value


class Form(NamedTuple):
    """Encoding of lengths: with four or two bytes, or compact. Chosen once per version."""

    string: Callable[[str | None], bytes]
    data: Callable[[bytes | None], bytes]
    array: Callable[[int], bytes]
    tags: bytes  # end of a structure without tagged fields


PLAIN: Final = Form(string, four_bytes, INT.pack, b"")
FLEXIBLE: Final = Form(compact_string, compact_bytes, compact_length, b"\x00")

_PLAIN_HEADER: Final = Struct(">ii")
_FLEXIBLE_HEADER: Final = Struct(">iiB")


def frame(correlation_id: int, flexible: bool, body: bytes) -> bytes:
    """Build a complete response: length, header, body."""
    return frame_header(correlation_id, flexible, len(body)) + body


def frame_header(correlation_id: int, flexible: bool, size: int) -> bytes:
    """Build what precedes a body of `size` bytes that stays in pieces."""
    if flexible:
        return _FLEXIBLE_HEADER.pack(5 + size, correlation_id, 0)
    return _PLAIN_HEADER.pack(4 + size, correlation_id)


def wrap_int64(value: int) -> int:
    """Return `value` as Java's 64-bit arithmetic has it: it wraps around."""
    return (value + 2**63) % 2**64 - 2**63
