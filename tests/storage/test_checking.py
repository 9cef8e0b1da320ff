"""Files of a partition: intact, cut, spoilt, and written by Apache Kafka."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.cli.admin import admin
from kohort.storage.disk.checking import check_partition, check_segment, partition_folders
from tests.support.batches import batch

BATCHES = [batch(b"a", b"b"), batch(b"c", base_offset=2), batch(b"d" * 50, b"e", base_offset=7)]
ENDS = [0, 2, 3, 9]
"""Next offset after this many batches; compaction removed the offsets between the last two."""


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(b"".join(BATCHES))
    return path


def verify(folder: Path) -> tuple[int, str]:
    result = CliRunner().invoke(admin, ["verify", str(folder)])
    return result.exit_code, result.output


def test_intact_segment(segment: Path) -> None:
    state = check_segment(segment)
    assert (state.fault, state.batches, state.next_offset) == (None, 3, 9)
    assert state.intact_bytes == state.size_bytes == segment.stat().st_size


def test_truncated_segment_keeps_whole_batches(segment: Path) -> None:
    whole = segment.read_bytes()
    sizes = [len(b"".join(BATCHES[:count])) for count in range(4)]
    for cut in range(len(whole)):
        segment.write_bytes(whole[:cut])
        state = check_segment(segment)
        count = sum(size <= cut for size in sizes) - 1
        assert (state.batches, state.intact_bytes, state.next_offset) == (count, sizes[count], ENDS[count])
        left = cut - sizes[count]
        assert state.fault == (f"the last {left} bytes are not a whole batch" if left else None)


def test_detects_every_flipped_bit(segment: Path) -> None:
    # Offset and leader epoch, which a broker sets, lie outside of the checksum in Kafka's format.
    whole = segment.read_bytes()
    start = len(BATCHES[0])
    for at in (*range(start + 8, start + 12), *range(start + 16, start + len(BATCHES[1]))):
        for bit in range(8):
            spoilt = bytearray(whole)
            spoilt[at] ^= 1 << bit
            segment.write_bytes(spoilt)
            state = check_segment(segment)
            assert state.fault is not None
            assert (state.batches, state.intact_bytes, state.next_offset) == (1, start, 2)


def test_reports_newer_format(segment: Path) -> None:
    spoilt = bytearray(segment.read_bytes())
    spoilt[16] = 3
    segment.write_bytes(spoilt)
    assert check_segment(segment).fault == "a record batch of format 3"


def test_zeros_behind_the_last_batch(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes() + bytes(100))
    state = check_segment(segment)
    assert (state.batches, state.fault) == (3, "zeros where a batch should begin, 100 bytes from the end")


def test_offsets_that_go_back(segment: Path) -> None:
    segment.write_bytes(BATCHES[1] + BATCHES[0])
    assert check_segment(segment).fault == "a batch at offset 0 where 3 or more must follow"
    segment.write_bytes(b"".join(BATCHES))
    (segment.parent / f"{5:020}.log").write_bytes(BATCHES[2])
    assert check_partition(segment.parent).faults == (
        "00000000000000000005.log begins before the end of the segment before it, 9",
    )


def test_unreadable_file_is_partition_fault(segment: Path) -> None:
    (segment.parent / f"{9:020}.log").mkdir()
    state = check_partition(segment.parent)
    assert state.faults == ("00000000000000000009.log cannot be read: Is a directory",)
    assert len(state.segments) == 1


def test_verify_lists_partitions_without_changes(segment: Path) -> None:
    other = segment.parents[1] / "t-10" / segment.name
    other.parent.mkdir()
    other.write_bytes(BATCHES[0][:-1])
    size = segment.stat().st_size
    code, output = verify(segment.parents[1])
    assert code == 1
    cut = len(BATCHES[0]) - 1
    assert output.splitlines() == [
        f"t-0: intact, offsets 0 to 9, 1 segments, 3 batches, {size} bytes",
        f"t-10: DAMAGED, offsets 0 to 0, 1 segments, 0 batches, {cut} bytes",
        f"  {segment.name}, byte 0 of {cut}: the last {cut} bytes are not a whole batch",
        "2 partitions, 1 damaged",
    ]
    assert segment.read_bytes() == b"".join(BATCHES)
    assert other.read_bytes() == BATCHES[0][:-1]
    assert sorted(path.name for path in segment.parents[1].rglob("*")) == sorted(
        ["t-0", "t-10", segment.name, segment.name]
    )


def test_directory_without_partitions(tmp_path: Path) -> None:
    (tmp_path / "photos-2024").mkdir()
    code, output = verify(tmp_path)
    assert code == 1
    assert "contains no partitions" in output


def test_segments_that_apache_kafka_wrote(recording: Path) -> None:
    folders = partition_folders(recording / "segments")
    assert len(folders) > 1
    assert [state for state in map(check_partition, folders) if state.faults] == []
