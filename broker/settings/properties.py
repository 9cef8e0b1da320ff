"""Files of settings in Java's format, as Kafka's server.properties."""

import re

_UNICODE = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)", re.DOTALL)
_PAIR = re.compile(r"((?:\\.|[^=:\s\\])*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """Names and values; of a name given twice the last counts. Source: java.util.Properties.load."""
    found = {}
    for line in _logical_lines(text):
        match = _PAIR.fullmatch(line)
        assert match is not None
        name, value = match.groups()
        found[_unescape(name)] = _unescape(value)
    return found


def _logical_lines(text: str) -> list[str]:
    """Lines without comments and blank ones; a backslash at the end joins a line with the next."""
    lines: list[str] = []
    continued = False
    for raw in text.splitlines():
        line = raw.lstrip(" \t\f")
        if continued:
            lines[-1] += line
        elif not line or line[0] in "#!":
            continue
        else:
            lines.append(line)
        backslashes = len(lines[-1]) - len(lines[-1].rstrip("\\"))
        continued = backslashes % 2 == 1
        if continued:
            lines[-1] = lines[-1][:-1]
    return lines


def _unescape(text: str) -> str:
    return _UNICODE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPES.get(m[2], m[2]), text)
