"""Values of `--offset`: where consuming begins and ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import click

from kohort.cli.moments import moment_ms

BEGINNING, END = "beginning", "end"
_NUMBER = re.compile(r"-?\d+")


class Span(NamedTuple):
    """Range of records. Exactly one of the first three fields is set."""

    position: str = BEGINNING
    offset: int | None = None  # offset in the log; -N: the last N records
    since_ms: int | None = None
    until_ms: int | None = None  # stop before the first record at or after this time, or at the current end

    def start(self, low: int, high: int) -> int:
        """Return the offset to begin at. `low` and `high` are the partition's first and next offset."""
        assert self.offset is not None, "only called for a numeric offset"
        offset = self.offset if self.offset >= 0 else high + self.offset
        return min(max(offset, low), high)


def span_of(values: Sequence[str]) -> Span:
    """Combine the values of all --offset options.

    Raises:
        click.BadParameter: A value is invalid, or there are several starts or ends.
    """
    span = Span()
    has_start = False
    for value in values:
        if value.startswith("e@"):
            if span.until_ms is not None:
                raise click.BadParameter("e@ is given twice", param_hint="--offset")
            span = span._replace(until_ms=moment_ms(value[2:], "--offset"))
            continue
        if has_start:
            raise click.BadParameter(f"{value}: another --offset already defines the start", param_hint="--offset")
        has_start = True
        if value in (BEGINNING, END):
            span = span._replace(position=value)
        elif value.startswith("s@"):
            span = span._replace(position="", since_ms=moment_ms(value[2:], "--offset"))
        elif _NUMBER.fullmatch(value):
            span = span._replace(position="", offset=int(value))
        else:
            raise click.BadParameter(
                f"{value}: expected {BEGINNING}, {END}, a number, -N for the last N, s@MOMENT or e@MOMENT",
                param_hint="--offset",
            )
    return span
