"""Records are looked for by time a little at a time, whatever is in a batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.protocol.batches import LOG_APPEND_TIME, iterate_records, read_batch
from kohort.storage.batch_records import SEARCHED_AT_ONCE, SEARCHED_BYTES, find_time
from tests.storage.odd_batches import GZIP, ZSTD, batch, gz, record, zstd

BASE = 1_000_000


def found(data: bytes, timestamp: int, least_offset: int = 0) -> tuple[tuple[int, int] | None, int]:
    """Return the result and the number of steps."""
    search, steps = find_time(data, timestamp, least_offset), 0
    while True:
        steps += 1
        try:
            next(search)
        except StopIteration as end:
            return end.value, steps


@given(
    times=st.lists(st.integers(-100, 10_000), min_size=1, max_size=60),
    timestamp=st.integers(BASE - 200, BASE + 10_100),
    least_offset=st.integers(0, 80),
    attributes=st.sampled_from([0, LOG_APPEND_TIME, GZIP, ZSTD, GZIP | LOG_APPEND_TIME]),
)
def test_finds_first_record_after_both_limits(
    times: list[int], timestamp: int, least_offset: int, attributes: int
) -> None:
    body = b"".join(record(n, time=time) for n, time in enumerate(times))
    packed = {GZIP: gz, ZSTD: zstd}.get(attributes & 7, bytes)(body)
    data = batch(packed, now=BASE, count=len(times), latest=BASE + max(times), attributes=attributes, base=10)
    expected = next(
        (
            (each.timestamp_ms, each.offset)
            for each in iterate_records(data, read_batch(data))
            if each.timestamp_ms >= timestamp and each.offset >= least_offset
        ),
        None,
    )
    assert found(data, timestamp, least_offset)[0] == expected


def test_long_batch_takes_many_steps() -> None:
    count = 5 * SEARCHED_AT_ONCE
    body = b"".join(record(n, None, None, time=n) for n in range(count))
    data = batch(body, now=BASE, count=count, latest=BASE + count - 1)
    assert found(data, BASE + count - 1) == ((BASE + count - 1, count - 1), 5)
    assert found(data, BASE) == ((BASE, 0), 1)
    assert found(data, BASE + count) == (None, 1)


@pytest.mark.parametrize("body", [b"\xff" * 1_000, bytes(1_000), b"\1" * 1_000, record(size_off_by=100)])
def test_unreadable_batch_is_reported_whole(body: bytes) -> None:
    data = batch(body, now=BASE, count=2**31 - 1, delta=6, base=10, latest=BASE + 5)
    assert found(data, BASE + 3) == ((BASE + 5, 10), 1)
    assert found(data, BASE + 3, 12) == ((BASE + 5, 12), 1)
    assert found(data, BASE + 3, 17) == (None, 1)
    assert found(data, BASE + 6) == (None, 1)


def test_oversized_batch_is_reported_whole() -> None:
    body = zstd(record(0, value=bytes(SEARCHED_BYTES)) + record(1, time=5))
    assert len(body) < 10_000
    data = batch(body, now=BASE, count=2, latest=BASE + 5, attributes=ZSTD)
    assert found(data, BASE + 3) == ((BASE + 5, 0), 1)
