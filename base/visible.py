"""Escapes text from clients for display: they choose group ids, member ids and names freely.

All displayed text passes through `visible`: the console log, `watch`, `ctl`, `admin`, `analyze`, the demo.
"""

_NOT_IN_JSON = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    r"""Escape what is not printable: control characters, line breaks, bidirectional marks, unpaired surrogates.

    A name then cannot control a terminal, start a new line, or be displayed in another order. Escapes are those of JSON
    and Java (`\u001b`), so a line of JSON keeps its meaning. Printable text is unchanged, including backslashes, so
    that calling this twice is harmless. Printable means `str.isprintable`.
    """
    if text.isprintable():
        return text
    return text.translate(_VISIBLE_CHARACTERS)


def visible_lines(text: str) -> str:
    """Escape text of several lines, such as a traceback, keeping its line breaks; quoted names in it may add lines."""
    return "\n".join(visible(line) for line in text.split("\n"))


class _VisibleCharacters(dict[int, str]):
    """Replacement of each character, cached for frequent ones, because a name can have 32 KB."""

    def __missing__(self, number: int) -> str:
        letter = chr(number)
        replacement = letter if letter.isprintable() else _escaped(letter)
        if number < _REMEMBERED:
            self[number] = replacement
        return replacement


_REMEMBERED = 0x3000
_VISIBLE_CHARACTERS = _VisibleCharacters()


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return _NOT_IN_JSON.get(letter) or "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
