"""Text of others as a person may be shown it: clients choose group ids, member ids and names as they like.

Everything that people see goes through `visible`: the console log, `watch`, `ctl`, `admin`, `analyze`, the demo.
"""

_NOT_IN_JSON = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """Shows what is no printable character as an escape: controls, line ends, bidirectional marks, lone surrogates.

    So no name can command a terminal, begin a line of its own, or stand in another order than its letters. Escapes are
    those of JSON and Java (`\\u001b`): a line of JSON is still that line. Printable text comes back as it is, also with
    backslashes, so it does no harm to call this twice. What is printable: `str.isprintable`.
    """
    if text.isprintable():
        return text
    return text.translate(_SHOWN)


def visible_lines(text: str) -> str:
    """As `visible`, for our own text of several lines, as a traceback is; quoted names in it may add lines."""
    return "\n".join(visible(line) for line in text.split("\n"))


class _Shown(dict[int, str]):
    """What stands for each letter, remembered for the frequent ones: a name may be 32 KB of them."""

    def __missing__(self, number: int) -> str:
        letter = chr(number)
        shown = letter if letter.isprintable() else _escaped(letter)
        if number < _REMEMBERED:
            self[number] = shown
        return shown


_REMEMBERED = 0x3000
_SHOWN = _Shown()


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return _NOT_IN_JSON.get(letter) or "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
