"""Java's properties files, as Kafka's own tools take them with `--command-config`."""

from __future__ import annotations

import re
from pathlib import Path

_SEPARATOR = re.compile(r"(?<!\\)(?:\\\\)*([ \t\f]*[=:][ \t\f]*|[ \t\f]+)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PLAIN = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(path: Path) -> dict[str, str]:
    """Names and values; the last of a name counts. Raises ValueError when the file isn't text, OSError as usual.

    Source: the rules of java.util.Properties.load. Values are read as UTF-8, which Java's tools take as Latin-1 or
    UTF-8 by version; only passwords with such letters can tell.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no properties file: it isn't text in UTF-8") from None
    return dict(_pair(line) for line in _logical_lines(text))


def _logical_lines(text: str) -> list[str]:
    """Lines joined where one ends in a single backslash; without comments and blank lines."""
    lines: list[str] = []
    open_line: str | None = None
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if open_line is None and (not line or line[0] in "#!"):
            continue
        line = (open_line or "") + line
        trailing = len(line) - len(line.rstrip("\\"))
        if trailing % 2:
            open_line = line[:-1]
        else:
            lines.append(line)
            open_line = None
    if open_line:
        lines.append(open_line)
    return lines


def _pair(line: str) -> tuple[str, str]:
    found = _SEPARATOR.search(line)
    if found is None:
        return _unescaped(line), ""
    return _unescaped(line[: found.start(1)]), _unescaped(line[found.end() :])


def _unescaped(text: str) -> str:
    def letter(found: re.Match[str]) -> str:
        what = found[1]
        return chr(int(what[1:], 16)) if len(what) == 5 else _PLAIN.get(what, what)

    return _ESCAPE.sub(letter, text)
