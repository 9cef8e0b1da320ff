"""Numbers as records have them, beside a reader that is written another way, and with Kafka's limits."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.protocol.errors import DecodeError
from kohort.protocol.varints import INT_BYTES, LONG_BYTES, read_varint, read_varlong, varint

INTS, LONGS = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
Read = Callable[[bytes, int], tuple[int, int]]
READERS = [(read_varint, INT_BYTES, 32), (read_varlong, LONG_BYTES, 64)]


def by_the_book(data: bytes, longest: int, bits: int) -> tuple[int, int]:
    """All groups of seven bits at once, the last first."""
    size = next(at for at, byte in enumerate(data) if byte < 128) + 1
    if size > longest:
        raise DecodeError("too long")
    digits = "".join(f"{byte & 127:07b}" for byte in reversed(data[:size]))
    raw = int(digits, 2) % 2**bits
    return (raw // 2 if raw % 2 == 0 else -(raw + 1) // 2), size


@given(INTS)
def test_int_roundtrip(number: int) -> None:
    assert read_varint(b"x" + varint(number), 1) == (number, 1 + len(varint(number)))


@given(LONGS)
def test_long_roundtrip(number: int) -> None:
    assert read_varlong(varint(number), 0) == (number, len(varint(number)))


@pytest.mark.parametrize(("read", "longest", "bits"), READERS)
@given(data=st.lists(st.integers(0, 255) | st.just(0x80) | st.just(0xFF), max_size=12).map(bytes))
def test_any_bytes_equal_reference(read: Read, longest: int, bits: int, data: bytes) -> None:
    data += b"\0"
    try:
        expected = by_the_book(data, longest, bits)
    except DecodeError:
        with pytest.raises(DecodeError):
            read(data, 0)
    else:
        assert read(data, 0) == expected


@pytest.mark.parametrize(("read", "longest", "bits"), READERS)
def test_rejects_overlong_varint(read: Read, longest: int, bits: int) -> None:
    class Counted(bytes):
        looks = 0

        def __getitem__(self, at: Any) -> Any:
            Counted.looks += 1
            return super().__getitem__(at)

    with pytest.raises(DecodeError, match=f"more than {longest} bytes"):
        read(Counted(b"\xff" * 1_000_000), 0)
    assert Counted.looks <= longest + 1
