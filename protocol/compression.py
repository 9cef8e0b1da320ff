"""The codecs of record batches. gzip is Python's own; the others are cramjam's, when it is installed."""

import zlib
from enum import IntEnum
from struct import Struct
from typing import Any

from kohort.protocol.errors import DecodeError

MAX_DECOMPRESSED_BYTES = 64 * 1024 * 1024
"""What the records of one batch may come to. A small batch can unfold to anything; this many fit in memory, and
producers make batches of a few megabytes at most."""

_XERIAL = b"\x82SNAPPY\x00"
"""Java's snappy: this magic, two version numbers, then blocks, each behind its length."""
_XERIAL_HEADER_SIZE = 16
_LENGTH = Struct(">i")
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


def decompress(codec: int, data: bytes) -> bytes:
    """Raises DecodeError for what is no such block or unfolds beyond MAX_DECOMPRESSED_BYTES, and CodecMissingError."""
    if codec == Compression.GZIP:
        return _gunzip(data)
    if codec not in (Compression.SNAPPY, Compression.LZ4, Compression.ZSTD):
        raise DecodeError(f"compression codec {codec}")
    cramjam = _cramjam()
    try:
        if codec == Compression.SNAPPY:
            return _unsnappy(cramjam, data)
        return _unfold(cramjam, cramjam.lz4 if codec == Compression.LZ4 else cramjam.zstd, data)
    except cramjam.DecompressionError as problem:
        raise DecodeError(f"{Compression(codec).name.lower()}: {problem}") from problem


def _cramjam() -> Any:
    try:
        import cramjam
    except ImportError as problem:
        raise CodecMissingError("cramjam is not installed") from problem
    return cramjam


def _gunzip(data: bytes) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    try:
        raw = unzip.decompress(data, MAX_DECOMPRESSED_BYTES)
    except zlib.error as problem:
        raise DecodeError(f"gzip: {problem}") from problem
    if not unzip.eof:
        raise DecodeError("gzip: too much, or cut short")
    return raw


def _unsnappy(cramjam: Any, data: bytes) -> bytes:
    if not data.startswith(_XERIAL):
        return _unsnappy_block(cramjam, data, MAX_DECOMPRESSED_BYTES)
    blocks, left = [], MAX_DECOMPRESSED_BYTES
    at = _XERIAL_HEADER_SIZE
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        block = data[at + 4 : at + 4 + size]
        if len(block) < size:
            raise DecodeError("snappy: a block that is cut short")
        blocks.append(_unsnappy_block(cramjam, block, left))
        left -= len(blocks[-1])
        at += 4 + size
    return b"".join(blocks)


def _unsnappy_block(cramjam: Any, block: bytes, limit: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(block) > limit:
        raise DecodeError("snappy: too much")
    return bytes(cramjam.snappy.decompress_raw(block))


def _unfold(cramjam: Any, codec: Any, data: bytes) -> bytes:
    """Into a buffer that is made larger as long as it is too small: the codec itself knows no limit."""
    size = min(max(_FIRST_GUESS * len(data), 4096), MAX_DECOMPRESSED_BYTES)
    while True:
        buffer = bytearray(size)
        try:
            return bytes(memoryview(buffer)[: codec.decompress_into(data, buffer)])
        except cramjam.DecompressionError as problem:
            if _TOO_SMALL not in str(problem) or size == MAX_DECOMPRESSED_BYTES:
                raise
            size = min(4 * size, MAX_DECOMPRESSED_BYTES)
