"""The log against a list of batches: whatever is appended and dropped, reading and looking up give the same.

So in memory, and on disk, where the broker is stopped or dies in between.
"""

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from kohort.storage.log import PartitionLog
from kohort.storage.topic_configs import LogConfig
from tests.storage.on_disk import OnDisk
from tests.support.batches import batch, contents, found_at, offsets
from tests.support.effort import examples


@dataclass
class Model:
    """A log as a list of (base offset, times, size)."""

    batches: list[tuple[int, list[int], int]] = field(default_factory=list)
    start: int = 0
    end: int = 0

    def append(self, times: list[int], size: int) -> None:
        self.batches.append((self.end, times, size))
        self.end += len(times)

    def visible(self) -> list[tuple[int, list[int], int]]:
        return [each for each in self.batches if each[0] + len(each[1]) > self.start]

    def read(self, offset: int, max_bytes: int, at_least_one: bool) -> list[int]:
        found: list[int] = []
        for base, times, size in self.batches:
            if base + len(times) <= offset:
                continue
            if size > max_bytes and not (at_least_one and not found):
                break
            max_bytes -= size
            found.append(base)
        return found

    def offset_for_timestamp(self, timestamp: int) -> tuple[int, int] | None:
        for base, times, _ in self.batches:
            for n, time in enumerate(times):
                if time >= timestamp and base + n >= self.start:
                    return time, base + n
        return None


appends = st.tuples(
    st.just("append"),
    st.lists(st.integers(0, 50), min_size=1, max_size=4),
    st.sampled_from([1, 50, 3_000, 9_000, 40_000]),
)
reads = st.tuples(st.just("read"), st.floats(0, 1), st.sampled_from([0, 100, 5_000, 60_000, 1 << 30]), st.booleans())
times = st.tuples(st.just("time"), st.integers(-1, 60))
deletes = st.tuples(st.just("delete"), st.floats(0, 1))


comebacks = st.tuples(st.just("back"), st.booleans())

Steps = list[tuple]  # type: ignore[type-arg]


@examples(1.5)
@given(
    steps=st.lists(st.one_of(appends, appends, reads, times, deletes), max_size=40),
    segment_bytes=st.sampled_from([10_000, 50_000, 1 << 30]),
)
def test_log_equals_list_of_batches(steps: Steps, segment_bytes: int) -> None:
    log, model = PartitionLog(LogConfig(segment_bytes=segment_bytes)), Model()
    for step in steps:
        _take(step, log, model)


@given(
    steps=st.lists(st.one_of(appends, appends, reads, times, deletes, comebacks), max_size=30),
    segment_bytes=st.sampled_from([10_000, 50_000, 1 << 30]),
)
def test_on_disk_too(steps: Steps, segment_bytes: int) -> None:
    with TemporaryDirectory() as path:
        there, model = OnDisk(Path(path), segment_bytes=segment_bytes), Model()
        for step in steps:
            if step[0] == "back":
                assert (there.stops_and_comes_back() if step[1] else there.dies_and_comes_back()) == []
            _take(step, there.log, model)
        there.directory.close()


def _take(step: tuple, log: PartitionLog, model: Model) -> None:  # type: ignore[type-arg]
    what, *values = step
    if what == "append":
        stamps, size = values
        data = batch(*[b"x" * size for _ in stamps], at=stamps)
        assert log.append(data, wall_ms=0) == model.end
        model.append(stamps, len(data))
    elif what == "read":
        share, max_bytes, at_least_one = values
        offset = model.start + round(share * (model.end - model.start))
        read = log.read(offset, max_bytes, at_least_one=at_least_one)
        assert offsets(read) == model.read(offset, max_bytes, at_least_one)
        contents(read)
    elif what == "time":
        assert found_at(log, values[0]) == model.offset_for_timestamp(values[0])
    elif what == "delete":
        model.start += round(values[0] * (model.end - model.start))
        log.delete_before(model.start)
    assert (log.log_start_offset, log.log_end_offset) == (model.start, model.end)
    assert log.size_bytes >= sum(size for *_, size in model.visible())
