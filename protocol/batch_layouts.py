"""Layouts of record batches: batches of the same size usually differ only in their keys and values.

The offsets topic consists of such batches, because consumers commit the same partitions repeatedly. A cached layout
reads all keys and values with one call.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from kohort.protocol.batches import HEADER_SIZE, BatchInfo, record_places
from kohort.protocol.errors import DecodeError
from kohort.protocol.varints import read_varint

MAX_BYTES: Final = 8_192  # larger batches are not cached; a commit of 80 partitions fits
MAX_RECORDS: Final = 128  # batches with more records are not cached: each needs 150 bytes
MAX_LAYOUTS: Final = 256
_MIN_RECORDS: Final = 2

_Unpack = Callable[[bytes | memoryview, int], tuple[Any, ...]]
# Reads the parts of a batch: for each record the bytes before the key, the key, the size of the value, and the value;
# then the last byte. The other parts are those of the cached batch, except keys and values.
_Layout = tuple[_Unpack, tuple[bytes, ...], tuple[bytes, ...]]


class BatchLayouts:
    """Cache of layouts, by the size of a batch and its number of records."""

    def __init__(self) -> None:
        # None: one batch of this size was seen, which need not repeat
        self._layouts: dict[tuple[int, int], _Layout | None] = {}

    def read(self, data: bytes | memoryview, batch: BatchInfo) -> tuple[tuple[bytes, ...], tuple[bytes, ...]] | None:
        """Return keys and values, or None if the batch must be decoded. That is faster for a single record."""
        if batch.record_count < _MIN_RECORDS or batch.compression:
            return None
        size, start = batch.size - HEADER_SIZE, batch.position + HEADER_SIZE
        shape = size, batch.record_count
        layout = self._layouts.get(shape)
        if layout is None:
            if shape in self._layouts:
                self._layouts[shape] = layout = _find_layout(bytes(data[start : start + size]), batch.record_count)
            elif batch.record_count <= MAX_RECORDS and size <= MAX_BYTES:
                if len(self._layouts) == MAX_LAYOUTS:
                    self._layouts.clear()
                self._layouts[shape] = None
            if layout is None:
                return None
        unpack, before_keys, before_values = layout
        parts = unpack(data, start)
        if parts[0::4] != before_keys or parts[2::4] != before_values:
            return None
        return parts[1::4], parts[3::4]


def _find_layout(records: bytes, count: int) -> _Layout | None:
    """Return the layout of records with keys and values but without headers, or None for other ones."""
    form, at, end = [">"], 0, len(records)
    try:
        for number in range(count):
            key_at, value_size_at, value_at, record_end = record_places(records, at, end)
            value_size, _ = read_varint(records, value_size_at)
            if value_size < 0 or value_at + value_size != record_end - 1 or records[record_end - 1]:
                return None  # without a value, or with headers
            prefix_size = key_at - at + (number > 0)  # with the last byte of the record before
            form.append(
                f"{prefix_size}s{value_size_at - key_at}s{value_at - value_size_at}s{record_end - 1 - value_at}s"
            )
            at = record_end
    except (IndexError, DecodeError):
        return None
    if at != end:
        return None
    form.append("1s")
    unpack = Struct("".join(form)).unpack_from
    parts = unpack(records, 0)
    return unpack, parts[0::4], parts[2::4]
