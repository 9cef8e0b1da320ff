"""How a setting of the broker is declared, read from text and refused. The list of them is in broker_settings.py.

Types, and what a text of each type may be, are those of topics' and groups' settings (`storage/config_types.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from kohort.storage.config_types import (
    BOOLEAN,
    INT,
    INT_MAX,
    LIST,
    LONG,
    LONG_MAX,
    SHORT,
    SHORT_MAX,
    STRING,
    parse_boolean,
    parse_number,
    split_list,
)

T = TypeVar("T")


class SettingError(ValueError):
    """A setting that cannot be used. The text is one sentence for the person who wrote the setting."""


class Setting(Generic[T]):
    """A setting: default, type, allowed range, one line of documentation.

    Declared as a class attribute, whose name with dots for underscores is the setting's name. Values live in the
    instance's `__dict__`, so that reading one costs what any attribute costs.
    """

    name: str

    def __init__(self, default: T, kind: int, parse: Callable[[str], T], allowed: str, doc: str) -> None:
        self.default = default
        self.kind = kind
        """The type, as DescribeConfigs numbers it."""
        self.parse = parse
        """Turns text into a value. Raises ValueError for text that is none."""
        self.allowed = allowed
        """The allowed values in words."""
        self.doc = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.replace("_", ".")

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        assert instance is None, "instances hold their own values"
        return self

    def read(self, text: str) -> T:
        """The value that `text` stands for; raises SettingError with the allowed range."""
        try:
            return self.parse(text.strip())
        except ValueError:
            default = self.show(self.default) or "none"
            raise SettingError(
                f"{self.name}={text.strip()} is not allowed: it must be {self.allowed}; the default is {default}"
            ) from None

    def show(self, value: T) -> str:
        """A value as one would write it in a file of settings."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return ",".join(value)
        return "" if value is None else str(value)


def integer(default: int, doc: str, at_least: int | None = None, at_most: int = INT_MAX) -> Setting[int]:
    """A whole number of 32 bits, or of 16 or 64 when `at_most` says so."""
    kind = LONG if at_most > INT_MAX else SHORT if at_most == SHORT_MAX else INT
    lowest = at_least if at_least is not None else -at_most - 1

    def parse(text: str) -> int:
        value = parse_number(kind, text)
        if value is None or not lowest <= value <= at_most:
            raise ValueError(text)
        return int(value)

    return Setting(default, kind, parse, f"a whole number from {lowest} to {at_most}", doc)


def long_integer(default: int, doc: str, at_least: int | None = None) -> Setting[int]:
    """A whole number of 64 bits."""
    return integer(default, doc, at_least, LONG_MAX)


def optional_integer(doc: str, at_least: int | None = None) -> Setting[int | None]:
    """A whole number of 32 bits that has no default: another setting counts while it is not given."""
    number = integer(0, doc, at_least)
    return Setting(None, INT, number.parse, number.allowed, doc)


def optional_long(doc: str, at_least: int | None = None) -> Setting[int | None]:
    """A whole number of 64 bits that has no default: another setting counts while it is not given."""
    number = long_integer(0, doc, at_least)
    return Setting(None, LONG, number.parse, number.allowed, doc)


def boolean(default: bool, doc: str) -> Setting[bool]:
    """True or false, in any case, as in Kafka."""

    def parse(text: str) -> bool:
        value = parse_boolean(text)
        if value is None:
            raise ValueError(text)
        return value

    return Setting(default, BOOLEAN, parse, "true or false", doc)


def text(default: str, doc: str, one_of: tuple[str, ...] = ()) -> Setting[str]:
    """A text, or one of a few words."""

    def parse(value: str) -> str:
        if one_of and value not in one_of:
            raise ValueError(value)
        return value

    return Setting(default, STRING, parse, "one of " + ", ".join(one_of) if one_of else "a text", doc)


def words(default: tuple[str, ...], doc: str, one_of: tuple[str, ...] = ()) -> Setting[tuple[str, ...]]:
    """A list, separated by commas."""

    def parse(value: str) -> tuple[str, ...]:
        found = tuple(filter(None, split_list(value)))
        if one_of and not set(found) <= set(one_of):
            raise ValueError(value)
        return found

    allowed = "a list of " + ", ".join(one_of) if one_of else "a list separated by commas"
    return Setting(default, LIST, parse, allowed, doc)
