"""The codecs of record batches. gzip is Python's own; the others are cramjam's, when it is installed."""

import zlib
from enum import IntEnum
from struct import Struct
from typing import Any

from kohort.protocol.errors import DecodeError

MAX_DECOMPRESSED_BYTES = 64 * 1024 * 1024
"""What the records of one batch may come to, unless somebody says otherwise. A small batch can unfold to anything; this
many fit in memory, and producers make batches of a few megabytes at most."""

_LARGEST_FIRST_GUESS = 1 << 20

_XERIAL = b"\x82SNAPPY\x00"
"""Java's snappy: this magic, two version numbers, then blocks, each behind its length."""
_XERIAL_HEADER_SIZE = 16
_LENGTH = Struct(">i")
_GZIP = b"\x1f\x8b"
_LZ4 = b"\x04\x22\x4d\x18"
_LZ4_HEADER_SIZE = 7
_LZ4_BLOCKS_ALONE, _LZ4_CHECKS_BLOCKS, _LZ4_HAS_SIZE, _LZ4_CHECKS_CONTENT, _LZ4_HAS_DICTIONARY = 32, 16, 8, 4, 1
"""Flags of a frame."""
_FIRST_GUESS = 8
_TOO_SMALL = "whole buffer"
"""What cramjam says of a buffer that is too small; it has no exception for that alone."""


class Compression(IntEnum):
    """As in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class CodecMissingError(DecodeError):
    """snappy, lz4 or zstd without cramjam (`pip install kohort[codecs]`)."""


class TooLargeError(DecodeError):
    """Records that come to more than they may."""


def decompress(codec: int, data: bytes, most_bytes: int = MAX_DECOMPRESSED_BYTES) -> bytes:
    """What was compressed. Stops as soon as it is too much.

    Raises TooLargeError when it is more than `most_bytes`, CodecMissingError without cramjam, and DecodeError for what
    is no such block. Bytes behind it are ignored or not, as by Kafka's readers; of lz4 only the first frame is read.
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
    """Whether the blocks of an lz4 frame can only be read in a row. Kafka refuses such a frame."""
    return len(data) >= _LZ4_HEADER_SIZE and not data[4] & _LZ4_BLOCKS_ALONE


def _cramjam() -> Any:
    try:
        import cramjam
    except ImportError as problem:
        raise CodecMissingError("cramjam is not installed") from problem
    return cramjam


def _gunzip(data: bytes, most_bytes: int) -> bytes:
    """Reads all members; what is behind them and is none is ignored, as by Java."""
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
    """The frame without what is behind it. Source: Kafka's `Lz4BlockInputStream`."""
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
    """Into a buffer that is made larger as long as it is too small: the codec itself knows no limit."""
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
