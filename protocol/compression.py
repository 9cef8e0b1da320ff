"""Codecs of record batches. gzip is Python's own; the others need cramjam."""

import zlib
from enum import IntEnum
from struct import Struct
from typing import Any

from kohort.protocol.errors import DecodeError

# Default limit for the records of one batch. A small batch can decompress to any size; this much fits in memory, and
# producers build batches of a few megabytes at most.
MAX_DECOMPRESSED_BYTES = 64 * 1024 * 1024

_LARGEST_FIRST_GUESS = 1 << 20

_XERIAL = b"\x82SNAPPY\x00"  # Java's snappy format: this magic, two version numbers, then blocks with their lengths.
_XERIAL_HEADER_SIZE = 16
_LENGTH = Struct(">i")
_GZIP = b"\x1f\x8b"
_LZ4 = b"\x04\x22\x4d\x18"
_LZ4_HEADER_SIZE = 7
# frame flags
_LZ4_BLOCKS_ALONE, _LZ4_CHECKS_BLOCKS, _LZ4_HAS_SIZE, _LZ4_CHECKS_CONTENT, _LZ4_HAS_DICTIONARY = 32, 16, 8, 4, 1
_FIRST_GUESS = 8
_TOO_SMALL = "whole buffer"  # cramjam's message for a buffer that is too small; it has no separate exception


class Compression(IntEnum):
    """Codec numbers in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class CodecMissingError(DecodeError):
    """snappy, lz4 or zstd without cramjam (`pip install kohort[codecs]`)."""


class TooLargeError(DecodeError):
    """The decompressed records exceed the limit."""


def decompress(codec: int, data: bytes, most_bytes: int = MAX_DECOMPRESSED_BYTES) -> bytes:
    """Decompress a block; stops as soon as the limit is exceeded.

    Trailing bytes are ignored or not as by Kafka's readers; only the first frame of lz4 is read.

    Raises:
        TooLargeError: The result exceeds `most_bytes`.
        CodecMissingError: cramjam is not installed.
        DecodeError: The data is malformed.
    """
    if codec == Compression.GZIP:
        return _gunzip(data, most_bytes)
    if codec not in (Compression.SNAPPY, Compression.LZ4, Compression.ZSTD):
        raise DecodeError(f"compression codec {codec}")
    cramjam = _cramjam()
    try:
        if codec == Compression.SNAPPY:
            return _unsnappy(cramjam, data, most_bytes)
        if codec == Compression.LZ4:
            return _unfold(cramjam, cramjam.lz4, _first_lz4_frame(data), most_bytes)
        return _unfold(cramjam, cramjam.zstd, data, most_bytes)
    except cramjam.DecompressionError as problem:
        raise DecodeError(f"{Compression(codec).name.lower()}: {problem}") from problem


def lz4_blocks_need_others(data: bytes) -> bool:
    """Return whether the blocks of an lz4 frame depend on previous ones. Kafka rejects such a frame."""
    return len(data) >= _LZ4_HEADER_SIZE and not data[4] & _LZ4_BLOCKS_ALONE


def _cramjam() -> Any:
    try:
        import cramjam
    except ImportError as problem:
        raise CodecMissingError("cramjam is not installed") from problem
    return cramjam


def _gunzip(data: bytes, most_bytes: int) -> bytes:
    """Read all members; trailing bytes that are not a member are ignored, as by Java."""
    parts: list[bytes] = []
    room = most_bytes
    while data.startswith(_GZIP) or not parts:
        unzip = zlib.decompressobj(wbits=31)
        try:
            raw = unzip.decompress(data, room + 1)
        except zlib.error as problem:
            raise DecodeError(f"gzip: {problem}") from problem
        room -= len(raw)
        if room < 0:
            raise TooLargeError(f"gzip: more than {most_bytes} bytes")
        if not unzip.eof:
            raise DecodeError("gzip: cut short")
        parts.append(raw)
        data = unzip.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _unsnappy(cramjam: Any, data: bytes, most_bytes: int) -> bytes:
    if not data.startswith(_XERIAL):
        return _unsnappy_block(cramjam, data, most_bytes)
    blocks, room = [], most_bytes
    at = _XERIAL_HEADER_SIZE
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        block = data[at + 4 : at + 4 + size]
        if len(block) < size:
            raise DecodeError("snappy: a block that is cut short")
        blocks.append(_unsnappy_block(cramjam, block, room))
        room -= len(blocks[-1])
        at += 4 + size
    return b"".join(blocks)


def _unsnappy_block(cramjam: Any, block: bytes, room: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(block) > room:
        raise TooLargeError("snappy: too much")
    return bytes(cramjam.snappy.decompress_raw(block))


def _first_lz4_frame(data: bytes) -> bytes:
    """Return the first frame without trailing bytes. Source: Kafka's `Lz4BlockInputStream`."""
    if not data.startswith(_LZ4) or len(data) < _LZ4_HEADER_SIZE:
        raise DecodeError("lz4: no frame")
    flags = data[4]
    at = _LZ4_HEADER_SIZE + (8 if flags & _LZ4_HAS_SIZE else 0) + (4 if flags & _LZ4_HAS_DICTIONARY else 0)
    behind = 4 if flags & _LZ4_CHECKS_BLOCKS else 0
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], "little") & 0x7FFF_FFFF
        at += 4
        if not size:
            return data[: at + 4] if flags & _LZ4_CHECKS_CONTENT else data[:at]
        at += size + behind
    raise DecodeError("lz4: cut short")


def _unfold(cramjam: Any, codec: Any, data: bytes, most_bytes: int) -> bytes:
    """Decompress into a buffer that is enlarged while it is too small, because the codec itself has no limit."""
    size = min(max(_FIRST_GUESS * len(data), 4096), _LARGEST_FIRST_GUESS, most_bytes)
    while True:
        buffer = bytearray(size)
        try:
            return bytes(memoryview(buffer)[: codec.decompress_into(data, buffer)])
        except cramjam.DecompressionError as problem:
            if _TOO_SMALL not in str(problem):
                raise
            if size == most_bytes:
                raise TooLargeError(f"more than {most_bytes} bytes") from problem
            size = min(4 * size, most_bytes)
