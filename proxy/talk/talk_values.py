"""Values of a conversation as text: YAML's flow style, in which only null, true, false and numbers are special.

`{group_id: billing, protocols: {range: subscription(orders)}}`. Ambiguous text is quoted.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

Value = Any  # None, bool, int, str, or lists and dicts of them

PLAIN: Final = re.compile(r'[^\s,{}\[\]"][^,{}\[\]]*?(?=\s*(?:[,{}\[\]]|:\s|$))')
QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
SPACE: Final = re.compile(r"\s*")
NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
# text that would be read as a number or a key, or without its outer spaces
AMBIGUOUS: Final = re.compile(r"^-?(?:0|[1-9][0-9]*)$|:(?:\s|$)|^\s|\s$")

WORDS: Final = {"null": None, "true": True, "false": False}


def read_values(text: str) -> Value:
    """Return the value of a text. Raise ValueError if it is malformed."""
    try:
        value, at = _read(text, 0)
    except RecursionError:
        raise ValueError("too many nested brackets") from None
    if text[at:].strip():
        raise ValueError(f"cannot read {text[at:].strip()!r}")
    return value


def _read(text: str, at: int) -> tuple[Value, int]:
    at = _skip_space(text, at)
    if text.startswith("{", at):
        return _read_mapping(text, at + 1)
    if text.startswith("[", at):
        return _read_list(text, at + 1)
    return _read_scalar(text, at)


def _read_mapping(text: str, at: int) -> tuple[Value, int]:
    mapping: dict[Value, Value] = {}
    at = _skip_space(text, at)
    while not text.startswith("}", at):
        key, at = _read_scalar(text, at)
        mapping[key], at = _read(text, _after(":", text, at))
        at = _skip_space(text, at)
        if not text.startswith("}", at):
            at = _skip_space(text, _after(",", text, at))
    return mapping, at + 1


def _read_list(text: str, at: int) -> tuple[Value, int]:
    items = []
    at = _skip_space(text, at)
    while not text.startswith("]", at):
        value, at = _read(text, at)
        items.append(value)
        at = _skip_space(text, at)
        if not text.startswith("]", at):
            at = _skip_space(text, _after(",", text, at))
    return items, at + 1


def _read_scalar(text: str, at: int) -> tuple[Value, int]:
    quoted = QUOTED.match(text, at)
    if quoted:
        return json.loads(quoted[0]), quoted.end()
    plain = PLAIN.match(text, at)
    if not plain:
        raise ValueError(f"expected a value at {text[at : at + 30]!r}")
    word = plain[0]
    if NUMBER.fullmatch(word):
        return int(word), plain.end()
    return WORDS.get(word, word), plain.end()


def _after(mark: str, text: str, at: int) -> int:
    if not text.startswith(mark, at):
        raise ValueError(f"expected {mark!r} at {text[at : at + 30]!r}")
    return at + 1


def _skip_space(text: str, at: int) -> int:
    space = SPACE.match(text, at)
    assert space, "no space is space"
    return space.end()


def show(value: Value) -> str:
    """Return a value as in a conversation, in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{show(key)}: {show(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(show(item) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = str(value)
    if isinstance(value, str) and not _is_plain(text):
        return json.dumps(text, ensure_ascii=not text.isprintable())
    return text


def _is_plain(text: str) -> bool:
    """Return whether a text needs no quotes."""
    fits = PLAIN.fullmatch(text) is not None and text.isprintable()
    return fits and not AMBIGUOUS.search(text) and text not in WORDS
