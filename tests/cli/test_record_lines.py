"""Parsing of the input of `kohort produce`."""

from __future__ import annotations

import pytest

from kohort.cli.delimiters import UnknownEscapeError, unescaped
from kohort.cli.produce.record_lines import MAX_LINE_BYTES, LineError, LineReader, NewRecord, lines


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_are_split_at_delimiters(size: int) -> None:
    said = b"one<>two<><>three<"
    chunks = [said[at : at + size] for at in range(0, len(said), size)]
    assert list(lines(chunks, b"<>")) == [b"one", b"two", b"", b"three<"]
    assert list(lines([b"one\n", b"", b"two"], b"\n")) == [b"one", None, b"two"]
    assert list(lines([b"one\n"], b"\n")) == [b"one"]


def test_unterminated_line_is_bounded() -> None:
    chunk = bytes(10 << 20)
    chunks = (chunk for _ in range(1_000))
    with pytest.raises(LineError, match="is longer than 100 MiB; is --delimiter right"):
        list(lines(chunks, b"\n"))
    assert sum(1 for _ in chunks) >= 1_000 - MAX_LINE_BYTES // len(chunk) - 2, "no more of it was read"


@pytest.mark.parametrize(
    ("reader", "line", "record"),
    [
        (LineReader(), b"a:1", NewRecord(b"a:1")),
        (LineReader(b":"), b"a:1:2", NewRecord(b"1:2", b"a")),
        (LineReader(b":"), b"1", NewRecord(b"1")),
        (LineReader(b":"), b"a:", NewRecord(b"", b"a")),
        (LineReader(b":", empty_is_null=True), b"a:", NewRecord(None, b"a")),
        (LineReader(b":", empty_is_null=True), b":1", NewRecord(b"1", None)),
        (LineReader(b":", key=b"k"), b"1", NewRecord(b"1", b"k")),
        (LineReader(headers=(("h", b"1"),), partition=3), b"\xff", NewRecord(b"\xff", None, (("h", b"1"),), 3)),
        (LineReader(as_json=True), b'{"payload": "1"}', NewRecord(b"1")),
        (LineReader(as_json=True, key=b"k"), b"{}", NewRecord(None, b"k")),
        (
            LineReader(as_json=True, headers=(("all", b"1"),)),
            b'{"topic": "t", "offset": 7, "tstype": "create", "broker": 1, "ts": 5, "partition": 2, "key": "k",'
            b' "headers": ["a", null, "a", {"base64": "/w=="}]}',
            NewRecord(None, b"k", (("all", b"1"), ("a", None), ("a", b"\xff")), 2, 5),
        ),
        (LineReader(as_json=True, partition=0), b'{"partition": 2, "headers": {"a": "1"}}', NewRecord(
            None, None, (("a", b"1"),), 0
        )),
    ],
)  # fmt: skip
def test_line_to_record(reader: LineReader, line: bytes, record: NewRecord) -> None:
    assert reader.record(line) == record


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "is not JSON: "),
        ("[1]", "is not a JSON object"),
        ('{"keys": 1}', "has an unknown field 'keys'; did you mean key?"),
        ('{"zzz": 1}', "has an unknown field 'zzz'; expected one of payload, key, headers, partition, ts"),
        ('{"payload": 1}', 'has a payload that is not text, null or {"base64": "…"}'),
        ('{"payload": {"base64": "?"}}', "has a payload that is not base64"),
        ('{"payload": "\\ud800"}', "has a lone surrogate in payload; write bytes that are not text as base64"),
        ('{"headers": ["a"]}', "has headers that are not an object or alternating names and values"),
        ('{"headers": "ab"}', "has headers that are not an object or alternating names and values"),
        ('{"headers": [1, "a"]}', "has headers that are not an object or alternating names and values"),
        ('{"partition": -1}', "has a partition that is not a non-negative integer"),
        ('{"ts": true}', "has a ts that is not a non-negative integer"),
        ('{"ts": "now"}', "has a ts that is not a non-negative integer"),
    ],
)
def test_malformed_record_message(line: str, why: str) -> None:
    with pytest.raises(LineError) as refused:
        LineReader(as_json=True).record(line.encode())
    assert str(refused.value).startswith(why)


def test_escapes_for_untypeable_characters() -> None:
    assert unescaped(r"a\n\t\x1f\\n\0ü") == b"a\n\t\x1f\\n\0" + "ü".encode()
    with pytest.raises(UnknownEscapeError, match=r"\\q is unknown; expected \\n, \\r, \\t, \\0 or \\xNN"):
        unescaped(r"\q")
