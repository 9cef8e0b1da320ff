"""Record checks of a batch, compared with a reader of single bytes, and in linear time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.storage.batch_records import Newest
from kohort.storage.record_checks import BadRecordsError, Survey, records_in_short, survey
from tests.storage.odd_batches import header, record
from tests.support.batches import result_of, varint

NONE_AT_ALL = Survey(0, 0, keyless=False, ordered=True)


class Reader:
    """Kafka's `DefaultRecord.readFrom`, as plainly as it can be written."""

    def __init__(self, body: bytes) -> None:
        self.bytes: deque[int] = deque(body)

    def number(self, longest: int = 5, bits: int = 32) -> int:
        value: int = 0
        for place in range(longest):
            if not self.bytes:
                raise EOFError
            byte = self.bytes.popleft()
            value |= (byte & 127) << 7 * place
            if byte < 128:
                value = value & (1 << bits) - 1
                return value // 2 if value % 2 == 0 else -(value + 1) // 2
        raise OverflowError

    def skip(self, size: int) -> None:
        if size > len(self.bytes):
            raise EOFError
        for _ in range(size):
            self.bytes.popleft()

    def record(self, compressed: bool) -> tuple[int, int, bool]:
        size = self.number()
        remaining = len(self.bytes)
        self.skip(1)
        time, offset, key = self.number(10, 64), self.number(), self.number()
        self.skip(key)
        self.skip(self.number())
        headers = self.number()
        if headers < 0:
            raise ValueError
        for _ in range(headers):
            name = self.number()
            if name < 0:
                raise ValueError
            self.skip(name)
            self.skip(self.number())
        if not compressed and remaining - len(self.bytes) != size:
            raise ValueError
        return time, offset, key >= 0


def by_the_book(body: bytes, count: int, compressed: bool) -> Survey:
    reader = Reader(body)
    found = [reader.record(compressed) for _ in range(count)]
    if reader.bytes:
        raise ValueError
    times = [time for time, _, _ in found]
    return Survey(
        max((time for time in times if time >= 0), default=None),
        min(0, *times),
        keyless=not all(key for _, _, key in found),
        ordered=[offset for _, offset, _ in found] == list(range(count)),
    )


PARTS = st.none() | st.sampled_from([0, 1, 5, 50, 54, 55, 62, 63, 64, 65]).map(bytes)
LARGE = st.sampled_from([8_000, 8_191, 8_192]).map(bytes)
TIMES = st.sampled_from([0, 0, 0, 1, 63, 64, -1, -64, -65, 8_191, 8_192, 2**40, -(2**40), 2**63 - 1, -(2**63)])
STEPS = st.sampled_from([0, 1, 1, 7, 700, -1])
SIZES = st.sampled_from([[100], range(30, 90), range(40, 50), range(100, 1_000), range(50, 5_000), range(8_100, 8_300)])
KEYS = st.sampled_from(
    [[None], [b"k"], [b"", b"key", b"a longer key"], [None, b"k"], [bytes(62), bytes(63), bytes(64)]]
)
TOMBSTONES = st.sampled_from([0, 0, 11])
HEADERS = st.just(b"\0") | st.lists(
    st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=3)), max_size=3
).map(lambda pairs: varint(len(pairs)) + b"".join(header(*pair) for pair in pairs))


@st.composite
def bodies(draw: Callable[[Any], Any]) -> tuple[bytes, int]:
    parts: list[bytes] = []
    for _ in range(draw(st.integers(1, 4))):
        key, value, time, headers = draw(PARTS), draw(PARTS), draw(TIMES), draw(HEADERS)
        if draw(st.sampled_from([False, False, False, True])):
            parts.append(record(len(parts), key, draw(LARGE), time=time, headers=headers))
        for _ in range(draw(st.sampled_from([1, 2, 7, 8, 9, 70]))):
            parts.append(record(len(parts), key, value, time=time, headers=headers))
        step, sizes, keys, tombstones = draw(STEPS), draw(SIZES), draw(KEYS), draw(TOMBSTONES)
        for number in range(draw(st.sampled_from([0, 0, 9, 40, 130]))):
            varied = None if tombstones and number % tombstones == 5 else bytes(sizes[number * 7 % len(sizes)])
            key = keys[number % len(keys)]
            parts.append(record(len(parts), key, varied, time=abs(time) % 100 + number * step, headers=headers))
    return b"".join(parts), len(parts)


@st.composite
def spoiled(draw: Callable[[Any], Any]) -> tuple[bytes, int]:
    body, count = draw(bodies())
    data = bytearray(body)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, min(len(data) - 1, 400)) | st.integers(0, len(data) - 1))
        data[at] = draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF]) | st.integers(0, 255))
    cut = draw(st.sampled_from([0, 0, 0, 1, 2]))
    return bytes(data[: len(data) - cut]), count + draw(st.sampled_from([0, 0, 0, -1, 1]))


@given(bodies(), st.booleans())
@example((b"".join(record(n, None, b"1234") for n in range(8_300)), 8_300), False)
def test_valid_records_equal_reference(of: tuple[bytes, int], compressed: bool) -> None:
    body, count = of
    assert survey(body, count, compressed=compressed) == by_the_book(body, count, compressed)


@given(spoiled(), st.booleans())
def test_damaged_records_equal_reference(of: tuple[bytes, int], compressed: bool) -> None:
    body, count = of
    if count < 1:
        return
    try:
        expected = by_the_book(body, count, compressed)
    except (EOFError, OverflowError, ValueError):
        with pytest.raises(BadRecordsError):
            survey(body, count, compressed=compressed)
    else:
        assert survey(body, count, compressed=compressed) == expected


@given(bodies())
def test_summaries_equal_reference(of: tuple[bytes, int]) -> None:
    body, count = of
    reader = Reader(body)
    for each in records_in_short(body, count):
        assert (each.time_delta, each.offset_delta, each.key_size >= 0) == reader.record(compressed=False)


@pytest.mark.parametrize("change", ["value", "time", "offset", "header"])
def test_single_different_record_is_found(change: str) -> None:
    records = [record(n, b"k", b"value") for n in range(60)]
    assert survey(b"".join(records), 60, compressed=False) == NONE_AT_ALL
    good = records[40]
    records[40] = {
        "value": record(40, b"k", b"value", value_size=varint(6)),
        "time": record(40, b"k", b"value", time=-7),
        "offset": record(41, b"k", b"value"),
        "header": good[:-1] + b"\2",
    }[change]
    if change in ("value", "header"):
        with pytest.raises(BadRecordsError):
            survey(b"".join(records), 60, compressed=False)
    else:
        found = survey(b"".join(records), 60, compressed=False)
        assert found == (0, -7, False, True) if change == "time" else found == (0, 0, False, False)


def test_unforeseen_size_error_code() -> None:
    for compressed, code in ((False, ErrorCode.unknown_server_error), (True, ErrorCode.invalid_record)):
        with pytest.raises(BadRecordsError) as raised:
            survey(b"\xff" * 40, 1, compressed=compressed)
        assert raised.value.error_code == code


class Counted(bytes):
    """Bytes that count how often and how much of them is read."""

    looks = 0

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        Counted.looks += 1 if isinstance(found, int) else len(found)
        return found


HOSTILE = {
    "ff": b"\xff" * 100_000,
    "80": b"\x80" * 100_000,
    "zeros": bytes(100_000),
    "a thousand headers in each": record(headers=varint(1_000) + header(b"", None) * 1_000) * 48,
    "one record of headers": record(headers=varint(33_000) + header(b"", None) * 33_000),
    "alike but for the last byte": b"".join(record(n % 60) for n in range(10_000))[:-1] + b"\2",
    "sizes of five bytes": record(size=b"\x90\x80\x80\x80\x00") * 8_000,
    "sizes that alternate": b"".join(record(n, None, bytes(40 + 40 * (n % 2))) for n in range(4_000)),
    "headers that alternate": b"".join(
        record(n, None, bytes(n % 100), headers=varint(n % 2) + header(b"h", None) * (n % 2)) for n in range(4_000)
    ),
    "overlong times": record(time=b"\x80" * 9 + b"\0") * 4_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("compressed", [False, True])
def test_nothing_takes_longer_than_its_length(name: str, compressed: bool) -> None:
    Counted.looks = 0
    body = Counted(HOSTILE[name])
    with suppress(BadRecordsError):
        survey(body, 2**31 - 1, compressed=compressed)
    assert Counted.looks <= 3 * len(body)
    Counted.looks = 0
    with suppress(DecodeError):
        result_of(Newest(body, ()).find())
    assert Counted.looks <= 3 * len(body)
