"""The header of requests, in its two forms."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.protocol.api_keys import API_BY_KEY
from kohort.protocol.errors import DecodeError
from kohort.protocol.headers import RequestHeader, read_header


@pytest.mark.parametrize(
    ("frame", "header"),
    [
        ("000c 0000 00000004 0003 616461", RequestHeader(12, 0, 4, "ada", 13)),
        ("000c 0004 00000004 0003 616461 00", RequestHeader(12, 4, 4, "ada", 14)),
        ("000c 0003 ffffffff ffff", RequestHeader(12, 3, -1, None, 10)),
        ("000c 0004 ffffffff ffff 00", RequestHeader(12, 4, -1, None, 11)),
        ("000c 0004 00000001 0000 01 05 02 aabb", RequestHeader(12, 4, 1, "", 15)),  # a tagged field nobody knows
        ("000c 0000 00000004 fffe", RequestHeader(12, 0, 4, None, 10)),
        ("000c 0000 00000004 0002 61ff", RequestHeader(12, 0, 4, "a\ufffd", 12)),  # no UTF-8
        ("0012 ffff 00000001 0000", RequestHeader(18, -1, 1, "", 10)),  # a version that there cannot be
        ("0012 0063 00000001 0000 00 02 61", RequestHeader(18, 99, 1, "", 11)),  # a version that will be refused
        ("03e7 0000 00000001 0000", RequestHeader(999, 0, 1, "", 10)),  # an API that will be refused
    ],
)
def test_header(frame: str, header: RequestHeader) -> None:
    assert read_header(bytes.fromhex(frame)) == header


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "000b00",
        "000c 0000 00000004 0003 6164",  # the client id is cut short
        "000c 0004 00000004 0000",  # no tagged fields
        "000c 0004 00000004 0000 01 05 02 aa",
        "000c 0004 00000004 0000 ffffffffffff",
        "000c 0004 00000004 0000 ffffffff0f 0000",
        "000c 0004 00000004 0000 e907" + "0000" * 1001,  # more tagged fields than anybody needs
        "474554202f20485454502f312e310d0a0d0a",
    ],
)
def test_no_header(frame: str) -> None:
    with pytest.raises(DecodeError):
        read_header(bytes.fromhex(frame))


@given(st.sampled_from(sorted(API_BY_KEY)), st.integers(0, 20), st.binary(max_size=30))
def test_random_bytes(key: int, version: int, rest: bytes) -> None:
    frame = key.to_bytes(2, "big") + version.to_bytes(2, "big") + rest
    with contextlib.suppress(DecodeError):
        assert read_header(frame).body_offset <= len(frame)
