"""Record batches: built, read, checked, compressed, cut short."""

import contextlib
import gzip
import sys
from struct import pack, pack_into

import cramjam
import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.protocol.batches import (
    HEADER_SIZE,
    LOG_APPEND_TIME,
    BatchInfo,
    Record,
    UnsupportedMagicError,
    build_batch,
    crc_matches,
    iterate_records,
    keys_and_values,
    read_batch,
    read_batches,
)
from kohort.protocol.compression import MAX_DECOMPRESSED_BYTES, CodecMissingError, Compression, decompress
from kohort.protocol.errors import DecodeError

# An offset commit and a tombstone, as a coordinator of Kafka's writes them to its offsets topic.
GOLDEN = bytes.fromhex(
    "000000000000002a00000069 00000005 02 8b50b12f 0000 00000001 00000199c82cc000 00000199c82cc007"
    "ffffffffffffffff ffff ffffffff 00000002"
    "56 00 00 00 18 00010001670001740000 0003 32 000300000000000000640000000a00016d00000000000004d2 00"
    "16 00 0e 02 0a 0002000167 01 00"
)
COMMIT = Record(
    key=bytes.fromhex("00010001670001740000 0003"),
    value=bytes.fromhex("000300000000000000640000000a00016d00000000000004d2"),
    timestamp_ms=1760000000000,
    offset=42,
)
TOMBSTONE = Record(key=bytes.fromhex("0002000167"), value=None, timestamp_ms=1760000000007, offset=43)

optional_bytes = st.none() | st.binary(max_size=300)
records = st.lists(
    st.builds(
        Record,
        key=optional_bytes,
        value=optional_bytes,
        timestamp_ms=st.integers(0, 2**41),
        headers=st.lists(st.tuples(st.text(max_size=5), optional_bytes), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=200,
)


def test_golden_batch_is_read() -> None:
    batch = read_batch(GOLDEN)
    assert batch == BatchInfo(0, 117, 42, 5, 2, 0x8B50B12F, 0, 1, 1760000000000, 1760000000007, -1, -1, -1, 2)
    assert batch.last_offset == 43
    assert crc_matches(GOLDEN, batch)
    assert list(iterate_records(GOLDEN, batch)) == [COMMIT, TOMBSTONE]


def test_golden_batch_is_built() -> None:
    assert build_batch([COMMIT, TOMBSTONE], base_offset=42, leader_epoch=5) == GOLDEN


@given(records)
def test_built_batch_is_readable(built: list[Record]) -> None:
    data = build_batch(built, base_offset=7, producer_id=3, producer_epoch=1, base_sequence=9)
    batch = read_batch(data)
    assert crc_matches(data, batch)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (3, 1, 9)
    assert batch.max_timestamp == max(record.timestamp_ms for record in built)
    assert list(iterate_records(data, batch)) == [r._replace(offset=7 + i) for i, r in enumerate(built)]


def test_several_batches_in_one_buffer() -> None:
    data = memoryview(GOLDEN + build_batch([TOMBSTONE]) + GOLDEN)
    batches = read_batches(data)
    assert [batch.position for batch in batches] == [0, 117, len(data) - 117]
    assert all(crc_matches(data, batch) for batch in batches)
    assert [record.value for record in iterate_records(data, batches[1])] == [None]
    assert read_batches(b"") == []


@pytest.mark.parametrize("cut", range(1, len(GOLDEN)))
def test_rejects_truncated_batch(cut: int) -> None:
    with pytest.raises(DecodeError):
        read_batches(GOLDEN + GOLDEN[:cut])


@pytest.mark.parametrize("length", [-(2**31), -1, 0, HEADER_SIZE - 13, 106, 2**31 - 1])
def test_rejects_invalid_length(length: int) -> None:
    data = bytearray(GOLDEN)
    pack_into(">i", data, 8, length)
    with pytest.raises(DecodeError):
        read_batches(bytes(data))


@pytest.mark.parametrize("magic", [0, 1, 3, 127])
def test_other_formats_are_refused_as_such(magic: int) -> None:
    data = bytearray(GOLDEN)
    data[16] = magic
    with pytest.raises(UnsupportedMagicError):
        read_batches(bytes(data))


@given(st.integers(21, len(GOLDEN) - 1), st.integers(1, 255))
def test_crc_detects_any_change(at: int, change: int) -> None:
    data = bytearray(GOLDEN)
    data[at] ^= change
    assert not crc_matches(bytes(data), read_batch(bytes(data)))


def test_offset_and_epoch_can_be_stamped() -> None:
    data = bytearray(GOLDEN)
    pack_into(">qii", data, 0, 1000, 105, 9)
    assert crc_matches(bytes(data), read_batch(bytes(data)))


def test_log_append_time_applies_to_records() -> None:
    data = build_batch([COMMIT, TOMBSTONE], attributes=LOG_APPEND_TIME)
    assert {record.timestamp_ms for record in iterate_records(data, read_batch(data))} == {TOMBSTONE.timestamp_ms}


def compress(codec: Compression, raw: bytes) -> bytes:
    if codec is Compression.GZIP:
        return gzip.compress(raw)
    if codec is Compression.SNAPPY:
        return bytes(cramjam.snappy.compress_raw(raw))
    return bytes((cramjam.lz4 if codec is Compression.LZ4 else cramjam.zstd).compress(raw))


def xerial(raw: bytes, block: int = 1000) -> bytes:
    blocks = [compress(Compression.SNAPPY, raw[at : at + block]) for at in range(0, len(raw), block)]
    return b"\x82SNAPPY\x00" + pack(">ii", 1, 1) + b"".join(pack(">i", len(b)) + b for b in blocks)


CODECS = [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD]


def compressed_batch(codec: Compression, block: bytes) -> bytes:
    tail = pack(">h", codec) + GOLDEN[23:HEADER_SIZE] + block
    return GOLDEN[:8] + pack(">i", len(tail) + 9) + GOLDEN[12:17] + pack(">I", google_crc32c.value(tail)) + tail


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_records_are_read(codec: Compression) -> None:
    data = compressed_batch(codec, compress(codec, GOLDEN[HEADER_SIZE:]))
    assert crc_matches(data, read_batch(data))
    assert list(iterate_records(data, read_batch(data))) == [COMMIT, TOMBSTONE]


def test_snappy_as_java_frames_it() -> None:
    assert decompress(Compression.SNAPPY, xerial(b"abc" * 5000)) == b"abc" * 5000
    data = compressed_batch(Compression.SNAPPY, xerial(GOLDEN[HEADER_SIZE:], 10))
    assert list(iterate_records(data, read_batch(data))) == [COMMIT, TOMBSTONE]
    with pytest.raises(DecodeError):
        decompress(Compression.SNAPPY, xerial(b"abc" * 5000)[:-1])


@pytest.mark.parametrize("codec", CODECS)
def test_large_batch_is_decompressed_within_limit(codec: Compression) -> None:
    assert decompress(codec, compress(codec, bytes(10_000_000))) == bytes(10_000_000)
    with pytest.raises(DecodeError):
        decompress(codec, compress(codec, bytes(MAX_DECOMPRESSED_BYTES + 1)))


@pytest.mark.parametrize("codec", [*CODECS, 5, 6, 7])
@given(st.binary(max_size=60))
def test_garbage_is_no_compressed_block(codec: int, data: bytes) -> None:
    with pytest.raises(DecodeError):
        decompress(codec, b"\xff" + data)


def test_without_cramjam_only_gzip_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)
    assert decompress(Compression.GZIP, gzip.compress(b"abc")) == b"abc"
    with pytest.raises(CodecMissingError):
        decompress(Compression.ZSTD, b"abc")


@given(st.binary(max_size=80))
def test_random_records_are_read_or_refused(block: bytes) -> None:
    data = compressed_batch(Compression.NONE, block)
    with contextlib.suppress(DecodeError):
        list(iterate_records(data, read_batch(data)))


@given(st.binary(max_size=200))
def test_random_batches_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(DecodeError):
        read_batches(data)


@given(st.lists(st.tuples(st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=200)), min_size=1))
def test_keys_and_values_equal_records(pairs: list[tuple[bytes | None, bytes | None]]) -> None:
    data = build_batch([Record(key, value, n, (("h", b"x"),) * (n % 3)) for n, (key, value) in enumerate(pairs)])
    assert keys_and_values(data, read_batch(data)) == pairs


@given(st.binary(max_size=60))
def test_keys_and_values_reject_malformed_records(body: bytes) -> None:
    whole = build_batch([Record(b"", b"", 0)])
    data = whole[:8] + pack(">i", 49 + len(body)) + whole[12:61] + body
    batch = read_batch(data)
    try:
        read = [(record.key, record.value) for record in iterate_records(data, batch)]
    except DecodeError:
        with pytest.raises(DecodeError):
            keys_and_values(data, batch)
    else:
        assert keys_and_values(data, batch) == read
