r"""Delimiters on a command line, with the escapes `\n`, `\t`, `\0` and `\x1f`."""

from __future__ import annotations

import os
import re

import click

_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_MEANT = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0", b"\\": b"\\"}


class UnknownEscapeError(ValueError):
    """A backslash before a character that it gives no meaning."""


def unescaped(text: str) -> bytes:
    """Return the bytes of a text in UTF-8 with its escapes replaced.

    Raises:
        UnknownEscapeError: An escape has no meaning.
    """

    def replace(match: re.Match[bytes]) -> bytes:
        escape = match[1]
        if len(escape) == 3:
            return bytes.fromhex(escape[1:].decode())
        if escape not in _MEANT:
            raise UnknownEscapeError(
                f"\\{escape.decode(errors='replace')} is unknown; expected \\n, \\r, \\t, \\0 or \\xNN"
            )
        return _MEANT[escape]

    return _ESCAPE.sub(replace, os.fsencode(text))


def bytes_between(_: click.Context, __: click.Parameter, text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        delimiter = unescaped(text)
    except UnknownEscapeError as error:
        raise click.BadParameter(str(error)) from None
    if not delimiter:
        raise click.BadParameter("must not be empty")
    return delimiter
