"""Restart after a crash: intact batches are restored; the rest is cut out, kept and reported."""

import shutil
from pathlib import Path
from struct import unpack_from

import pytest

from kohort.protocol.batches import Marker, marker_batch
from kohort.storage.disk.checking import check_partition
from kohort.storage.disk.ownership import DataDirectoryError
from kohort.storage.log import PartitionLog
from kohort.storage.producers import Remembered
from tests.storage.on_disk import OnDisk
from tests.support.batches import batch, contents, offsets

EVERYTHING = 1 << 30


@pytest.fixture
def there(tmp_path: Path) -> OnDisk:
    """Three batches in one segment."""
    on_disk = OnDisk(tmp_path / "data")
    for value in (b"one", b"two", b"three"):
        on_disk.log.append(batch(value, value), wall_ms=1_000)
    return on_disk


def values(log: PartitionLog) -> list[bytes | None]:
    return [value for _, _, value in contents(log.read(log.log_start_offset, EVERYTHING))]


def segment(there: OnDisk) -> Path:
    return there.folder / there.segments()[-1]


def starts(there: OnDisk) -> list[int]:
    """Return the start positions of the batches of the last segment, and its end."""
    data, at = segment(there).read_bytes(), [0]
    while at[-1] < len(data):
        at.append(at[-1] + 12 + unpack_from(">i", data, at[-1] + 8)[0])
    return at


def test_intact_log_is_unchanged(there: OnDisk) -> None:
    assert there.dies_and_comes_back() == []
    assert values(there.log) == [b"one"] * 2 + [b"two"] * 2 + [b"three"] * 2
    assert there.log.append(batch(b"four"), wall_ms=1_000) == 6


def test_torn_tail_is_cut_and_saved(there: OnDisk, tmp_path: Path) -> None:
    data, (_, _, last, end) = segment(there).read_bytes(), starts(there)
    for size in range(last + 1, end):
        copy = OnDisk(tmp_path / "copies" / str(size))
        copy.log.append(batch(b"x"), wall_ms=0)
        copy.directory.abandon()
        segment(copy).write_bytes(data[:size])
        (repair,) = copy.dies_and_comes_back()
        assert f"orders-0/{segment(copy).name}: {size - last} bytes cut from byte {last} on" in repair
        assert values(copy.log) == [b"one"] * 2 + [b"two"] * 2
        assert copy.log.append(batch(b"again"), wall_ms=0) == 4
        if any(data[last:size]):
            assert (copy.folder / f"{segment(copy).name}.cut-{last}").read_bytes() == data[last:size]
        assert copy.dies_and_comes_back() == []
        copy.directory.close()
        shutil.rmtree(copy.path)


def test_trailing_zeros_are_cut(there: OnDisk) -> None:
    with segment(there).open("ab") as file:
        file.write(bytes(1_000))
    (repair,) = there.dies_and_comes_back()
    assert "1000 bytes cut" in repair
    assert "kept" not in repair
    assert len(values(there.log)) == 6
    assert [path.name for path in there.folder.iterdir() if ".cut" in path.name] == []


@pytest.mark.parametrize("bit", [0, 8 * 8, 16 * 8, 19 * 8, 70 * 8])
def test_flipped_bit_costs_one_batch(there: OnDisk, bit: int) -> None:
    before, second = segment(there).read_bytes(), starts(there)[1]
    data = bytearray(before)
    data[second + bit // 8] ^= 0x40
    segment(there).write_bytes(data)
    (repair,) = there.dies_and_comes_back()
    assert f"cut from byte {second} on" in repair
    assert "intact batches follow and stay" in repair
    assert values(there.log) == [b"one"] * 2 + [b"three"] * 2
    assert offsets(there.log.read(2, EVERYTHING)) == [4]
    assert there.log.log_end_offset == 6
    assert (there.folder / f"{segment(there).name}.damaged-{second}").read_bytes() == data
    assert check_partition(there.folder).faults == ()
    assert there.dies_and_comes_back() == []


def test_clean_stop_needs_no_repair(there: OnDisk) -> None:
    data = bytearray(segment(there).read_bytes())
    data[starts(there)[1] + 70] ^= 1
    segment(there).write_bytes(data)
    assert there.stops_and_comes_back() == []
    assert len(there.log.read(0, EVERYTHING)) == 1


def test_rejects_other_message_formats(there: OnDisk) -> None:
    data, (_, second, third, end) = bytearray(segment(there).read_bytes()), starts(there)
    data[third + 16] = 3
    segment(there).write_bytes(data)
    with pytest.raises(DataDirectoryError, match=f"byte {third}: a record batch of format 3, and this version reads"):
        there.dies_and_comes_back()
    assert segment(there).read_bytes() == data
    assert second < end


def test_segments_that_overlap_are_refused(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path, segment_bytes=100)
    for value in (b"one", b"two"):
        on_disk.log.append(batch(value, value), wall_ms=0)
    shutil.copy(on_disk.folder / on_disk.segments()[0], on_disk.folder / f"{1:020}.log")
    with pytest.raises(DataDirectoryError, match="begins before the end of the segment before it, 2"):
        on_disk.dies_and_comes_back()


def test_leader_epochs_from_checkpoint_or_batches(there: OnDisk) -> None:
    there.log.append(batch(b"x"), wall_ms=0, leader_epoch=4)
    there.stops_and_comes_back()
    assert [there.log.epoch_at(offset) for offset in (0, 5, 6)] == [0, 0, 4]
    checkpoint = there.folder / "leader-epoch-checkpoint"
    assert checkpoint.read_text() == "0\n2\n0 0\n4 6\n"
    checkpoint.write_text("damaged")
    there.dies_and_comes_back()
    assert there.log.end_offset_for_epoch(0) == (0, 6)
    assert there.log.end_offset_for_epoch(4) == (4, 7)


def test_producers_and_their_transactions_are_remembered(there: OnDisk) -> None:
    partition = there.topic.partitions[0]
    for sequence in (0, 1):
        data = batch(b"x", producer=(9, 0, sequence), attributes=1 << 4)
        offset = there.log.append(data, wall_ms=0)
        there.topics.producers_of(partition).appended(
            9, 0, Remembered(sequence, sequence, offset, 1_000), 0, transactional=True
        )
    there.dies_and_comes_back()
    partition = there.topic.partitions[0]
    assert partition.last_stable_offset == 6
    producers = there.topics.producers_of(partition)
    assert producers.find_duplicate(9, 0, 1, 1) == Remembered(1, 1, 7, 1_000)
    there.log.append(marker_batch(Marker(False, 3), 9, 0, 1_000), wall_ms=0)
    there.dies_and_comes_back()
    partition = there.topic.partitions[0]
    assert partition.last_stable_offset == there.log.high_watermark == 9
    assert [
        transaction.first_offset for transaction in there.topics.producers_of(partition).transactions.aborted_in(0, 9)
    ] == [6]


def test_deleted_records_stay_deleted(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path, segment_bytes=100)
    for value in (b"one", b"two", b"three"):
        on_disk.log.append(batch(value, value), wall_ms=0)
    on_disk.log.delete_before(3)
    assert on_disk.segments() == [f"{base:020}.log" for base in (2, 4)]
    on_disk.dies_and_comes_back()
    assert on_disk.log.log_start_offset == 3
    on_disk.log.delete_before(6)
    on_disk.dies_and_comes_back()
    assert (on_disk.log.log_start_offset, on_disk.log.log_end_offset) == (6, 6)
    assert on_disk.log.append(batch(b"x"), wall_ms=0) == 6


def test_stop_writes_index_of_open_segment(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path, segment_bytes=10_000)
    for number in range(30):
        on_disk.log.append(batch(b"x" * 1_000, at=1_000 + number), wall_ms=0)
    first, *_, last = on_disk.segments()
    index = (on_disk.folder / first).with_suffix(".index").read_bytes()
    position = unpack_from(">ii", index)[1]
    assert (on_disk.folder / first).read_bytes()[position + 16] == 2
    assert unpack_from(">qi", (on_disk.folder / first).with_suffix(".timeindex").read_bytes(), -12 % 12)[0] >= 1_000
    assert not (on_disk.folder / last).with_suffix(".index").exists()
    on_disk.directory.close()
    assert (on_disk.folder / last).with_suffix(".index").exists()
