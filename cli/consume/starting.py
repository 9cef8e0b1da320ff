"""Where consuming begins and where it ends: what `--offset` may say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import click

BEGINNING, END = "beginning", "end"
_NUMBER = re.compile(r"-?\d+")


class Span(NamedTuple):
    """From where to where. Exactly one of the first three counts."""

    where: str = BEGINNING
    offset: int | None = None
    """An offset of the log; below 0: so many records before the end."""
    since_ms: int | None = None
    until_ms: int | None = None
    """Consuming ends before the first record from this moment on, or at the end as it is now."""

    def start(self, low: int, high: int) -> int:
        """The offset to begin at, for `offset`; `low` and `high` are the partition's first and next offset."""
        assert self.offset is not None, "asked only where an offset is named"
        wanted = self.offset if self.offset >= 0 else high + self.offset
        return min(max(wanted, low), high)


def span_of(said: Sequence[str]) -> Span:
    """What the options mean together. Raises click.BadParameter."""
    span = Span()
    begun = False
    for each in said:
        if each.startswith("e@"):
            if span.until_ms is not None:
                raise click.BadParameter("e@ says where to end; it is given twice", param_hint="--offset")
            span = span._replace(until_ms=_moment_ms(each[2:]))
            continue
        if begun:
            raise click.BadParameter(f"{each}: another --offset says where to begin", param_hint="--offset")
        begun = True
        if each in (BEGINNING, END):
            span = span._replace(where=each)
        elif each.startswith("s@"):
            span = span._replace(where="", since_ms=_moment_ms(each[2:]))
        elif _NUMBER.fullmatch(each):
            span = span._replace(where="", offset=int(each))
        else:
            raise click.BadParameter(
                f"{each}: it is {BEGINNING}, {END}, a number, -N for the last N, s@MOMENT or e@MOMENT",
                param_hint="--offset",
            )
    return span


def _moment_ms(text: str) -> int:
    if text.isdecimal():
        return int(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no moment; it is milliseconds since 1970, or as 2026-05-31T14:00:00Z", param_hint="--offset"
        ) from None
    return round(found.timestamp() * 1000)
