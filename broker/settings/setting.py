"""How the broker's settings are declared: one function for each type. The list of them is in broker_settings.py."""

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
    "split_principals",
    "text",
    "words",
]


def integer(default: int, doc: str, at_least: int | None = None, at_most: int = INT_MAX) -> Setting[int]:
    """A whole number of 32 bits, or of 16 or 64 when `at_most` says so."""
    return Setting("", _whole(at_least, at_most), default, doc)


def long_integer(default: int, doc: str, at_least: int | None = None) -> Setting[int]:
    """A whole number of 64 bits."""
    return integer(default, doc, at_least, LONG_MAX)


def optional_integer(doc: str, at_least: int | None = None) -> Setting[int | None]:
    """A whole number of 32 bits that has no default: another setting counts while it is not given."""
    return Setting("", _whole(at_least, INT_MAX), None, doc)


def optional_long(doc: str, at_least: int | None = None) -> Setting[int | None]:
    """A whole number of 64 bits that has no default: another setting counts while it is not given."""
    return Setting("", _whole(at_least, LONG_MAX), None, doc)


def _whole(at_least: int | None, at_most: int) -> Values:
    kind = LONG if at_most > INT_MAX else SHORT if at_most == SHORT_MAX else INT
    return number(kind, at_least if at_least is not None else -at_most - 1, at_most)


def boolean(default: bool, doc: str) -> Setting[bool]:
    """True or false, in any case, as in Kafka."""
    return Setting("", TRUE_OR_FALSE, default, doc)


def text(default: str, doc: str, words: tuple[str, ...] = ()) -> Setting[str]:
    """A text, or one of a few words."""
    any_text = Values(STRING, lambda name, value: None, "a text")
    return Setting("", one_of(*words) if words else any_text, default, doc)


def words(default: tuple[str, ...], doc: str, allowed: tuple[str, ...]) -> Setting[tuple[str, ...]]:
    """A list of some of the allowed words, separated by commas."""
    return Setting("", list_of(*allowed), default, doc)


def principals(doc: str) -> Setting[str]:
    """Principals, separated by semicolons: the names of certificates hold commas. See `split_principals`."""
    return Setting("", Values(STRING, _bad_principal, "a list such as User:alice;User:bob"), "", doc)


def split_principals(value: str) -> list[str]:
    """The principals of such a setting."""
    return [each.strip() for each in value.split(";") if each.strip()]


def _bad_principal(name: str, value: str) -> str | None:
    for each in split_principals(value):
        try:
            parse_principal(each)
        except PrincipalError as problem:
            return bad_value(name, each, str(problem))
    return None
