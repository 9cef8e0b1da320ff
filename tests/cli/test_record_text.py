"""Output of `kohort consume` for a record, and the offsets at which it begins and ends."""

from __future__ import annotations

import json
from dataclasses import dataclass

import click
import pytest

from kohort.cli.consume.record_text import UnknownTokenError, as_json, formatted
from kohort.cli.consume.starting import Span, span_of
from kohort.cli.produce.record_lines import LineReader, NewRecord


@dataclass
class Seen:
    """A record as confluent-kafka shows it."""

    its_value: bytes | None = b"1"
    its_key: bytes | None = b"a"
    its_headers: list[tuple[str, bytes | None]] | None = None

    def topic(self) -> str:
        return "orders"

    def partition(self) -> int:
        return 2

    def offset(self) -> int:
        return 7

    def key(self) -> bytes | None:
        return self.its_key

    def value(self) -> bytes | None:
        return self.its_value

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.its_headers

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_700_000_000_000


@pytest.mark.parametrize(
    ("shape", "message", "printed"),
    [
        ("%s\n", Seen(), b"1\n"),
        (r"%t [%p] %o\t%k=%s, %T, 100%%\x00", Seen(), b"orders [2] 7\ta=1, 1700000000000, 100%\0"),
        ("%S %K", Seen(), b"1 1"),
        ("%S %K %s|%k", Seen(None, None), b"-1 -1 NULL|NULL"),
        ("%R", Seen(b"12345"), b"\0\0\0\x05"),
        ("%h", Seen(its_headers=[("a", b"1"), ("b", None)]), b"a=1,b=NULL"),
        ("%h", Seen(), b""),
        ("%s", Seen(b"\xff\x1b[2J"), b"\xff\x1b[2J"),
        ("nothing", Seen(), b"nothing"),
    ],
)
def test_formats(shape: str, message: Seen, printed: bytes) -> None:
    assert formatted(shape, escape=False, null=b"NULL")(message) == printed


def test_no_record_commands_a_terminal() -> None:
    write = formatted("%k: %s\n", escape=True)
    assert write(Seen(b"\x1b[2J\n\xff", "ä".encode())) == "ä: \\u001b[2J\\n\\xff\n".encode()


def test_unknown_token_message() -> None:
    with pytest.raises(UnknownTokenError, match="unknown format %q; expected one of %s, %S, "):
        formatted("%q", escape=False)


@pytest.mark.parametrize(
    "message",
    [Seen(), Seen(None, None), Seen(b"\xff", "ü".encode(), [("a", b"1"), ("a", None), ("b", b"\xfe")])],
)
def test_json_output_can_be_produced(message: Seen) -> None:
    line = as_json(message)
    said = json.loads(line)
    assert (said["topic"], said["offset"], said["tstype"]) == ("orders", 7, "create")
    assert LineReader(as_json=True).record(line) == NewRecord(
        message.its_value, message.its_key, tuple(message.its_headers or ()), 2, 1_700_000_000_000
    )


@pytest.mark.parametrize(
    ("said", "span"),
    [
        ((), Span()),
        (("end",), Span("end")),
        (("17",), Span("", 17)),
        (("-3",), Span("", -3)),
        (("s@1700000000000",), Span("", since_ms=1_700_000_000_000)),
        (("e@2023-11-14T22:13:20Z",), Span(until_ms=1_700_000_000_000)),
        (("s@1", "e@2"), Span("", since_ms=1, until_ms=2)),
        (("e@2", "end"), Span("end", until_ms=2)),
    ],
)
def test_where_to_begin_and_to_end(said: tuple[str, ...], span: Span) -> None:
    assert span_of(said) == span


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (("start",), "start: expected beginning, end, a number, -N for the last N, s@MOMENT or e@MOMENT"),
        (("1", "2"), "2: another --offset already defines the start"),
        (("e@1", "e@2"), "e@ is given twice"),
        (("s@noon",), "'noon' is not a time; expected 2026-05-31T14:00, 14:00 for today, or milliseconds since 1970"),
    ],
)
def test_rejects_malformed_offset(said: tuple[str, ...], why: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        span_of(said)
    assert str(refused.value) == why


@pytest.mark.parametrize(("offset", "start"), [(0, 3), (5, 5), (99, 10), (-2, 8), (-99, 3)])
def test_missing_offset_becomes_nearest(offset: int, start: int) -> None:
    assert Span("", offset).start(low=3, high=10) == start
