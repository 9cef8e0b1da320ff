"""Segment files: whole, torn, damaged, compacted, compressed, with transactions."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

import google_crc32c
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.pipeline.records.segment_batches import HEADER_SIZE, read_segment
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import ingest
from kohort.pipeline.sources.chunk import ABORTED, COMMITTED, NO_TRANSACTION, PENDING, Chunk
from kohort.pipeline.sources.found import find_sources
from kohort.pipeline.sources.segments import read_partition
from kohort.protocol.batches import Record, build_batch, iterate_records, read_batch, read_batches
from kohort.protocol.records.record_writer import encode_key, encode_value
from tests.pipeline.synthetic import Plan, write_segments

NOW = 1_760_000_000_000


def record(key: bytes | None, value: bytes | None, ts_ms: int = NOW) -> Record:
    return Record(key=key, value=value, timestamp_ms=ts_ms)


def rows(data: bytes) -> list[tuple[int, int, bytes | None, bytes | None]]:
    return [
        (int(run.offset[n]), int(run.timestamp[n]), run.spans.key(n), run.spans.value(n))
        for run in read_segment(data)
        for n in range(len(run.offset))
    ]


def damage(data: bytes) -> list[str]:
    return [d.reason for run in read_segment(data) for d in run.damage]


BATCHES = st.lists(
    st.lists(
        st.tuples(st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=200), st.integers(-5, 10**6)),
        min_size=1, max_size=6,
    ),
    max_size=6,
)  # fmt: skip


@given(BATCHES, st.integers(1, 10))
def test_reads_broker_segments(batches: list[list[tuple[bytes | None, bytes | None, int]]], at_once: int) -> None:
    data, offset = b"", 40
    for batch in batches:
        data += build_batch([record(k, v, NOW + dt) for k, v, dt in batch], base_offset=offset)
        offset += len(batch)
    expected = [
        (r.offset, r.timestamp_ms, r.key, r.value) for info in read_batches(data) for r in iterate_records(data, info)
    ]
    found = [
        (int(run.offset[n]), int(run.timestamp[n]), run.spans.key(n), run.spans.value(n))
        for run in read_segment(data, at_once)
        for n in range(len(run.offset))
    ]
    assert found == expected


def test_equal_length_batches_are_distinguished() -> None:
    odd = {
        3: [record(b"key-x", b"value"), record(b"ke", b"value---")],
        40: [record(b"key-x", b"value"), record(b"key", b"value--", NOW + 63)],
        41: [record(b"key-x", b"value"), record(b"key", b"value--", NOW - 64)],
        77: [record(b"key-xval", b"ue"), record(None, b"value--key")],
        78: [record(b"key-x", b"value"), record(None, b"value--key")],
        150: [record(b"key-x", b"value"), Record(b"key", b"val", NOW, (("h", b"1"),))],
        151: [record(b"key-x", None), record(b"key", b"value--value")],
    }
    alike = [
        [record(b"key-%d" % (n % 10), b"valu%d" % (n % 7), NOW + n), record(b"key", b"value--", NOW + n)]
        for n in range(200)
    ]
    batches = [odd.get(n, each) for n, each in enumerate(alike)]
    data = b"".join(build_batch(batch, base_offset=2 * n) for n, batch in enumerate(batches))
    expected = [
        (2 * n + i, r.timestamp_ms, r.key, r.value) for n, batch in enumerate(batches) for i, r in enumerate(batch)
    ]
    assert len({len(build_batch(batch)) for batch in batches}) == 1, "otherwise the test proves nothing"
    assert rows(data) == expected
    assert damage(data) == []


def test_unreadable_record_is_named() -> None:
    batches = [
        bytearray(build_batch([record(b"key", b"value"), record(b"key", b"value")], base_offset=2 * n))
        for n in range(100)
    ]
    for n in (0, 50):
        batches[n][HEADER_SIZE] = 0x7F  # the first record's length
        batches[n][17:21] = google_crc32c.value(bytes(batches[n][21:])).to_bytes(4, "big")
    data = b"".join(map(bytes, batches))
    assert [row[0] for row in rows(data)] == [n for n in range(200) if n not in (0, 1, 100, 101)]
    assert damage(data) == ["record 0 of the batch can't be read; it and those after it are left out"] * 2


@given(BATCHES, st.data())
def test_damage_is_named_and_never_raised(
    batches: list[list[tuple[bytes | None, bytes | None, int]]], data: st.DataObject
) -> None:
    whole = b"".join(build_batch([record(k, v, NOW + dt) for k, v, dt in batch]) for batch in batches)
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    assert len(rows(cut)) <= sum(map(len, batches))
    if whole:
        at = data.draw(st.integers(0, len(whole) - 1))
        rows(whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :])


def test_torn_tail_is_reported() -> None:
    data = build_batch([record(b"k", b"v")]) + build_batch([record(b"k2", b"v2")], base_offset=1)
    assert rows(data[:-3]) == [(0, NOW, b"k", b"v")]
    assert damage(data[:-3]) == ["torn batch: 3 bytes are missing at the end of the file"]


def test_invalid_length_reports_lost_bytes() -> None:
    first, second = build_batch([record(b"k", b"v")]), build_batch([record(b"k2", b"v2")], base_offset=1)
    for length in (2**31 - 5, -7):
        wrong = second[:8] + length.to_bytes(4, "big", signed=True) + second[12:]
        assert rows(first + wrong) == [(0, NOW, b"k", b"v")]
        (told,) = damage(first + wrong)
        assert f"batch length {length} " in told
        assert f"last {len(second)} bytes" in told


def test_flipped_byte_skips_one_batch() -> None:
    first, second = build_batch([record(b"k", b"v")]), build_batch([record(b"k2", b"v2")], base_offset=1)
    broken = first[:-2] + bytes([first[-2] ^ 1]) + first[-1:]
    assert rows(broken + second) == [(1, NOW, b"k2", b"v2")]
    assert damage(broken + second) == ["checksum does not match: batch left out"]


def test_preallocated_file_ends_in_zeros() -> None:
    data = build_batch([record(b"k", b"v")])
    assert damage(data + bytes(4096)) == ["zeros to the end: a preallocated segment"]


def compressed(batch: bytes, codec: int, block: bytes) -> bytes:
    """Return the batch with its records in one compressed block."""
    import google_crc32c

    info = read_batch(batch)
    checked = (info.attributes | codec).to_bytes(2, "big") + batch[23:61] + block
    crc: int = google_crc32c.value(checked)
    return (
        batch[:8] + (len(checked) + 9).to_bytes(4, "big") + batch[12:17] + crc.to_bytes(4, "big")
        + checked
    )  # fmt: skip


def test_compressed_batches() -> None:
    import cramjam

    batch = build_batch([record(b"k", b"v" * 100), record(b"k", None)])
    blocks = {
        1: gzip.compress(batch[61:]),
        2: bytes(cramjam.snappy.compress_raw(batch[61:])),
        3: bytes(cramjam.lz4.compress(batch[61:])),
        4: bytes(cramjam.zstd.compress(batch[61:])),
    }
    for codec, block in blocks.items():
        assert [row[2:] for row in rows(compressed(batch, codec, block))] == [(b"k", b"v" * 100), (b"k", None)]
    assert len(damage(compressed(batch, 4, b"junk"))) == 1


def control(commit: bool) -> Record:
    return record(b"\0\0\0" + bytes([commit]), bytes(6))


def commit(offset: int) -> Record:
    value = {"offset": offset, "leaderEpoch": -1, "metadata": "", "commitTimestamp": NOW}
    return record(encode_key(1, {"group": "g", "topic": "t", "partition": 0}), encode_value(1, 4, value))


def test_transaction_outcomes(tmp_path: Path) -> None:
    # a marker may be in a later file; without one the transaction is pending
    folder = tmp_path / "__consumer_offsets-7"
    folder.mkdir()
    txn, marker = 0x10, 0x30
    first = build_batch([commit(1)], base_offset=0, attributes=txn, producer_id=5, producer_epoch=0, base_sequence=0)
    first += build_batch([commit(2)], base_offset=1, attributes=txn, producer_id=6, producer_epoch=0, base_sequence=0)
    first += build_batch([control(False)], base_offset=2, attributes=marker, producer_id=6, producer_epoch=0)
    second = build_batch([control(True)], base_offset=3, attributes=marker, producer_id=5, producer_epoch=0)
    second += build_batch([commit(3)], base_offset=4, attributes=txn, producer_id=5, producer_epoch=0, base_sequence=1)
    second += build_batch([commit(4)], base_offset=5)
    (folder / "00000000000000000000.log").write_bytes(first)
    (folder / "00000000000000000003.log").write_bytes(second)
    chunks = list(read_partition(7, list(folder.iterdir())))
    transactions = np.concatenate([chunk.transaction for chunk in chunks]).tolist()
    assert transactions == [COMMITTED, ABORTED, PENDING, NO_TRANSACTION]
    assert np.concatenate([chunk.gap for chunk in chunks]).tolist() == [0, 0, 0, 0]


def test_compaction_leaves_gaps(tmp_path: Path) -> None:
    folder = tmp_path / "__consumer_offsets-1"
    folder.mkdir()
    data = build_batch([commit(1)], base_offset=10) + build_batch([commit(2)], base_offset=15)
    (folder / "00000000000000000010.log").write_bytes(data)
    (chunk,) = read_partition(1, list(folder.iterdir()))
    assert chunk.gap.tolist() == [0, 4]


def test_unreadable_segment_is_named(tmp_path: Path) -> None:
    write_segments(Plan(records=300, groups=1, log_partitions=1, segment_bytes=4_000), tmp_path)
    sources, _ = find_sources([str(tmp_path)])
    assert len(sources) > 3
    Path(sources[1].path).unlink()
    with Writer(tmp_path / "silver", "0") as writer:
        ingest(sources, "", writer)
    publish(tmp_path / "silver", "0", [writer.task])
    (issue,) = pq.read_table(tmp_path / "silver" / "dq_issues").to_pylist()
    assert (issue["rule"], issue["keys"]) == ("unreadable_file", sources[1].path)
    (row,) = pq.read_table(tmp_path / "silver" / "log_ranges").to_pylist()
    assert row["intact_from"] > row["first_offset"]
    assert row["records"] == writer.rows["offset_commits"] + writer.rows["group_records"] > 200


def test_recording_equals_tail_copy(recording: Path) -> None:
    from kohort.pipeline.sources.export import read_export

    copy = {
        (int(chunk.partition[n]), int(chunk.offset[n])): (chunk.spans.key(n), chunk.spans.value(n))
        for chunk in read_export(recording / "tail-copy.jsonl.gz")
        for n in np.flatnonzero(chunk.partition == 14).tolist()
    }
    found = {
        (14, int(chunk.offset[n])): (chunk.spans.key(n), chunk.spans.value(n))
        for chunk in read_partition(14, list((recording / "segments" / "__consumer_offsets-14").glob("*.log")))
        for n in range(len(chunk))
    }
    assert found == copy


@pytest.mark.long
def test_dump_text_equals_segments(recording: Path) -> None:
    from kohort.pipeline.sources.export import read_dump

    def rows(chunks: Iterable[Chunk]) -> dict[tuple[int, int], tuple[bytes | None, int]]:
        return {
            (int(chunk.partition[n]), int(chunk.offset[n])): (chunk.spans.key(n), int(chunk.transaction[n]))
            for chunk in chunks
            for n in range(len(chunk))
        }

    folders = (recording / "segments").iterdir()
    numbered = ((int(folder.name.rpartition("-")[2]), sorted(folder.glob("*.log"))) for folder in folders)
    read = rows(chunk for partition, files in numbered for chunk in read_partition(partition, files))
    told = rows(read_dump(recording / "dump-log-segments.txt.gz"))
    assert len(told) > 40_000
    assert told == read
