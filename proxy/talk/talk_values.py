"""The values of a conversation as text: the flow style of YAML, with nothing special but null, true, false and numbers.

`{group_id: billing, protocols: {range: subscription(orders)}}`. Whatever could be read as something else is in quotes.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

Value = Any
"""None, bool, int, str, or lists and dicts of them."""

PLAIN: Final = re.compile(r'[^\s,{}\[\]"][^,{}\[\]]*?(?=\s*(?:[,{}\[\]]|:\s|$))')
QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
SPACE: Final = re.compile(r"\s*")
NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
AMBIGUOUS: Final = re.compile(r"^-?(?:0|[1-9][0-9]*)$|:(?:\s|$)|^\s|\s$")
"""Text that would be read as a number, as a key, or without the space around it."""

WORDS: Final = {"null": None, "true": True, "false": False}


def read_values(text: str) -> Value:
    """The value that a text stands for. Raises ValueError."""
    try:
        value, at = _read(text, 0)
    except RecursionError:
        raise ValueError("more brackets within each other than anybody needs") from None
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
    found: dict[Value, Value] = {}
    at = _skip_space(text, at)
    while not text.startswith("}", at):
        key, at = _read_scalar(text, at)
        found[key], at = _read(text, _after(":", text, at))
        at = _skip_space(text, at)
        if not text.startswith("}", at):
            at = _skip_space(text, _after(",", text, at))
    return found, at + 1


def _read_list(text: str, at: int) -> tuple[Value, int]:
    found = []
    at = _skip_space(text, at)
    while not text.startswith("]", at):
        value, at = _read(text, at)
        found.append(value)
        at = _skip_space(text, at)
        if not text.startswith("]", at):
            at = _skip_space(text, _after(",", text, at))
    return found, at + 1


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
    """A value as it would stand in a conversation: in one line."""
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
    """Whether a text is read as it is, without quotes."""
    fits = PLAIN.fullmatch(text) is not None and text.isprintable()
    return fits and not AMBIGUOUS.search(text) and text not in WORDS
