"""Files of a partition are lost: the others show what they contained, and lost acknowledged records need a decision."""

from pathlib import Path

import pytest

from kohort.storage.disk.files import Disk
from kohort.storage.disk.ownership import DataDirectoryError
from tests.storage.on_disk import OnDisk
from tests.support.batches import batch, offsets

EVERYTHING = 1 << 30


def log_of_three_segments(path: Path, *, delays: bool) -> OnDisk:
    on_disk = OnDisk(path, Disk(keeps_unsynced=delays), delays=delays, segment_bytes=100)
    for number, value in enumerate((b"one", b"two", b"three")):
        on_disk.log.append(batch(value, value, at=1_000 + number), wall_ms=0)
        syncs(on_disk)
    assert on_disk.segments() == [name(0), name(2), name(4)]
    return on_disk


def syncs(there: OnDisk) -> None:
    for each in there.directory.disk.take_unsynced():
        each.sync()
    there.log.synced(there.log.log_end_offset)


def name(base_offset: int, ending: str = ".log") -> str:
    return f"{base_offset:020}{ending}"


def bases(there: OnDisk) -> list[int]:
    return offsets(there.log.read(there.log.log_start_offset, EVERYTHING))


@pytest.mark.parametrize("how", ["emptied", "removed"])
@pytest.mark.parametrize("base", [0, 2])
def test_lost_acknowledged_segment_refuses_start(tmp_path: Path, base: int, how: str) -> None:
    on_disk = log_of_three_segments(tmp_path, delays=True)
    path = on_disk.folder / name(base)
    data = path.read_bytes()
    path.write_bytes(b"") if how == "emptied" else path.unlink()
    text = f"orders-0: offsets {base} to {base + 1}, and perhaps later ones, are missing: {path.name} is "
    with pytest.raises(DataDirectoryError, match=text) as refused:
        on_disk.dies_and_comes_back()
    assert "Put the file back" in str(refused.value)
    path.write_bytes(data)
    assert on_disk.dies_and_comes_back() == []
    assert bases(on_disk) == [0, 2, 4]


def test_removing_index_accepts_loss(tmp_path: Path) -> None:
    on_disk = log_of_three_segments(tmp_path, delays=True)
    (on_disk.folder / name(2)).write_bytes(b"")
    with pytest.raises(DataDirectoryError) as refused:
        on_disk.dies_and_comes_back()
    index = on_disk.folder / name(2, ".timeindex")
    assert str(index) in str(refused.value)
    index.unlink()
    (repair,) = on_disk.dies_and_comes_back()
    assert f"{name(2)} is empty: a compaction has left nothing of it, or its records are lost" in repair
    assert bases(on_disk) == [0, 4]


def test_lost_unsynced_records_are_reported(tmp_path: Path) -> None:
    on_disk = log_of_three_segments(tmp_path, delays=False)
    (on_disk.folder / name(2)).unlink()
    (repair,) = on_disk.dies_and_comes_back()
    assert "offsets 2 to 3, and perhaps later ones, are missing" in repair
    assert "the log continues without them" in repair
    assert bases(on_disk) == [0, 4]


def test_clean_stop_detects_missing_last_segment(tmp_path: Path) -> None:
    on_disk = log_of_three_segments(tmp_path, delays=True)
    on_disk.directory.close()
    (on_disk.folder / name(4)).write_bytes(b"")
    with pytest.raises(DataDirectoryError, match="offsets 4 to 5"):
        on_disk.dies_and_comes_back()


def test_empty_last_segment_warns(tmp_path: Path) -> None:
    on_disk = log_of_three_segments(tmp_path, delays=True)
    (on_disk.folder / name(4)).write_bytes(b"")
    (repair,) = on_disk.dies_and_comes_back()
    assert repair.endswith("the broker died before it wrote the first record to it, or its records are lost")
    assert on_disk.log.log_end_offset == 4


def test_index_contains_synced_offsets_only(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path, Disk(keeps_unsynced=True), delays=True, segment_bytes=100)
    for value in (b"one", b"two"):
        on_disk.log.append(batch(value, value), wall_ms=0)
    assert not list(on_disk.folder.glob("*index"))
    syncs(on_disk)
    assert [path.name for path in on_disk.folder.glob("*.timeindex")] == [name(0, ".timeindex")]


def test_damaged_index_is_ignored(tmp_path: Path) -> None:
    on_disk = log_of_three_segments(tmp_path, delays=True)
    entry = (5_000).to_bytes(8, "big") + (1 << 20).to_bytes(4, "big")
    (on_disk.folder / name(0, ".timeindex")).write_bytes(entry + entry)
    assert on_disk.dies_and_comes_back() == []


def test_dropped_unsynced_segment_has_no_index(tmp_path: Path) -> None:
    on_disk = OnDisk(tmp_path, Disk(keeps_unsynced=True), delays=True, segment_bytes=100)
    for value in (b"one", b"two", b"three"):
        on_disk.log.append(batch(value, value), wall_ms=0)
    on_disk.log.delete_before(4)
    syncs(on_disk)
    assert not list(on_disk.folder.glob("*index"))
    assert on_disk.dies_and_comes_back() == []


def test_log_ending_early_continues_at_start(tmp_path: Path) -> None:
    on_disk = log_of_three_segments(tmp_path, delays=False)
    on_disk.log.delete_before(5)
    (on_disk.folder / name(4)).write_bytes(b"")
    (repair,) = on_disk.dies_and_comes_back()
    assert "the log starts at offset 5, and its files end at 4; it continues at 5" in repair
    assert on_disk.log.append(batch(b"more"), wall_ms=0) == 5
    assert on_disk.dies_and_comes_back() == []
    assert bases(on_disk) == [5]
