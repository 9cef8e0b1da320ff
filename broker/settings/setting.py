"""Declarations of broker settings, one function per type. The settings are in broker_settings.py."""

from typing import TypeVar

from kohort.security.principal import PrincipalError, parse_principal
from kohort.storage.config_types import (
    INT,
    INT_MAX,
    LONG,
    LONG_MAX,
    SHORT,
    SHORT_MAX,
    STRING,
    TRUE_OR_FALSE,
    Setting,
    SettingError,
    Values,
    bad_value,
    list_of,
    number,
    one_of,
)

__all__ = [
    "Setting",
    "SettingError",
    "boolean",
    "integer",
    "long_integer",
    "optional_integer",
    "optional_long",
    "principals",
    "since",
    "split_principals",
    "text",
    "words",
]


T = TypeVar("T")


def since(release: str, setting: Setting[T]) -> Setting[T]:
    """Declare that a setting exists from a release on."""
    setting.since = release
    return setting


def integer(default: int, doc: str, at_least: int | None = None, at_most: int = INT_MAX) -> Setting[int]:
    """Declare a 32-bit integer, or one of 16 or 64 bits according to `at_most`."""
    return Setting("", _whole(at_least, at_most), default, doc)


def long_integer(default: int, doc: str, at_least: int | None = None) -> Setting[int]:
    return integer(default, doc, at_least, LONG_MAX)


def optional_integer(doc: str, at_least: int | None = None) -> Setting[int | None]:
    """Declare a 32-bit integer without a default: another setting is used unless it is set."""
    return Setting("", _whole(at_least, INT_MAX), None, doc)


def optional_long(doc: str, at_least: int | None = None) -> Setting[int | None]:
    return Setting("", _whole(at_least, LONG_MAX), None, doc)


def _whole(at_least: int | None, at_most: int) -> Values:
    kind = LONG if at_most > INT_MAX else SHORT if at_most == SHORT_MAX else INT
    return number(kind, at_least if at_least is not None else -at_most - 1, at_most)


def boolean(default: bool, doc: str) -> Setting[bool]:
    return Setting("", TRUE_OR_FALSE, default, doc)


def text(default: str, doc: str, words: tuple[str, ...] = ()) -> Setting[str]:
    any_text = Values(STRING, lambda name, value: None, "a text")
    return Setting("", one_of(*words) if words else any_text, default, doc)


def words(default: tuple[str, ...], doc: str, allowed: tuple[str, ...]) -> Setting[tuple[str, ...]]:
    return Setting("", list_of(*allowed), default, doc)


def principals(doc: str) -> Setting[str]:
    """Declare a list of principals, separated by semicolons because names of certificates contain commas."""
    return Setting("", Values(STRING, _bad_principal, "a list such as User:alice;User:bob"), "", doc)


def split_principals(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


def _bad_principal(name: str, value: str) -> str | None:
    for principal in split_principals(value):
        try:
            parse_principal(principal)
        except PrincipalError as error:
            return bad_value(name, principal, str(error))
    return None
