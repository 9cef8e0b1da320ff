"""A segment in a file gives back what one in memory gives, and leaves a file that checks as intact."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from kohort.storage.disk.checking import check_segment
from kohort.storage.disk.file_segment import FileSegment
from kohort.storage.disk.files import Disk
from kohort.storage.segment import Chunk, MemorySegment
from tests.support.batches import batch
from tests.support.effort import examples

BASE = 5
SIZES = st.lists(st.tuples(st.sampled_from([1, 40, 1500, 5000, 9000]), st.integers(0, 3)), max_size=12)
READS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20_000), st.booleans()), max_size=8)


@examples(0.6)
@given(SIZES, READS)
def test_reads_are_those_of_memory(sizes: list[tuple[int, int]], reads: list[tuple[int, int, bool]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{BASE:020}.log"
        disk, memory = FileSegment(Disk().new_file(path), BASE, 0), MemorySegment(BASE, 0)
        for size, gap in sizes:
            data = batch(b"x" * size, b"y")
            for segment in (disk, memory):
                segment.append(data, segment.next_offset + gap, 3)
        assert whole(disk.chunks()) == whole(memory.chunks()) == path.read_bytes()
        for ahead, most, at_least_one in reads:
            offset = min(BASE + ahead, memory.next_offset)
            there: list[Chunk] = []
            here: list[Chunk] = []
            room = memory.read(offset, most, at_least_one, there)
            assert disk.read(offset, most, at_least_one, here) == room
            assert whole(here) == whole(there)
        for name in ("base_offset", "next_offset", "size_bytes", "max_timestamp", "first_timestamp"):
            assert getattr(disk, name) == getattr(memory, name), name
        for timestamp in (-1, memory.max_timestamp, memory.max_timestamp + 1):
            assert whole(disk.batches_since(timestamp)) == whole(memory.batches_since(timestamp))
        state = check_segment(path)
        assert (state.fault, state.next_offset, state.batches) == (None, memory.next_offset, len(sizes))


def whole(chunks: Iterable[Chunk]) -> bytes:
    return b"".join(map(bytes, chunks))


def test_reads_from_every_offset(tmp_path: Path) -> None:
    disk, memory = FileSegment(Disk().new_file(tmp_path / f"{BASE:020}.log"), BASE, 0), MemorySegment(BASE, 0)
    for size in (1, 40, 5000, 1, 9000, 1):
        for segment in (disk, memory):
            segment.append(batch(b"x" * size, b"y"), segment.next_offset + 1, 3)
    for offset in range(BASE, memory.next_offset + 1):
        for most in (0, 200, 6000, 50_000):
            for before in ([], [b"earlier"]):
                here: list[Chunk] = [*before]
                there: list[Chunk] = [*before]
                assert disk.read(offset, most, True, here) == memory.read(offset, most, True, there)
                assert whole(here) == whole(there)
