"""Bytes as one types them on a command line: `\\n`, `\\t`, `\\0` and `\\x1f` stand for what cannot be typed."""

from __future__ import annotations

import os
import re

import click

_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_MEANT = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0", b"\\": b"\\"}


class UnknownEscapeError(ValueError):
    """A backslash before something that it gives no meaning."""


def unescaped(text: str) -> bytes:
    """The bytes meant; text is UTF-8. Raises UnknownEscapeError."""

    def meant(found: re.Match[bytes]) -> bytes:
        escape = found[1]
        if len(escape) == 3:
            return bytes.fromhex(escape[1:].decode())
        if escape not in _MEANT:
            raise UnknownEscapeError(f"\\{escape.decode(errors='replace')} means nothing; \\n, \\r, \\t, \\0, \\xNN do")
        return _MEANT[escape]

    return _ESCAPE.sub(meant, os.fsencode(text))


def bytes_between(_: click.Context, __: click.Parameter, text: str | None) -> bytes | None:
    """An option's callback: what stands between records, or between key and value."""
    if text is None:
        return None
    try:
        found = unescaped(text)
    except UnknownEscapeError as problem:
        raise click.BadParameter(str(problem)) from None
    if not found:
        raise click.BadParameter("nothing stands between; give at least one character")
    return found
