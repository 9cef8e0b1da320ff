"""Declarations of settings of a broker, a topic or a group: type, valid values, default.

A broker's settings have typed values (`broker/settings/broker_settings.py`). Those of topics and groups stay text, as
clients send and read them. Source: Kafka's `ConfigDef`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar, overload

T = TypeVar("T")

SHORT_MAX = 2**15 - 1
INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST = 1, 2, 3, 4, 5, 6, 7  # type numbers of DescribeConfigs (KIP-569)

_NUMBER_NAMES = {INT: "INT", LONG: "LONG", DOUBLE: "DOUBLE"}

Check = Callable[[str, str], str | None]  # Validates a text for a setting name; returns Kafka's error message, or None.


class SettingError(ValueError):
    """A setting with an invalid value. The text is one sentence for the user."""


class Values(NamedTuple):
    """The valid values of a setting."""

    kind: int  # type number of DescribeConfigs
    check: Check
    allowed: str  # valid values in words, after "it must be"

    def parse(self, text: str) -> Any:
        """Return the typed value of a text that has passed `check`."""
        text = text.strip()
        if self.kind == BOOLEAN:
            return parse_boolean(text)
        if self.kind == LIST:
            return tuple(split_list(text))
        return text if self.kind == STRING else parse_number(self.kind, text)


class Setting(Generic[T]):
    """A setting: name, valid values, default, one line of documentation.

    A broker's settings are attributes of a class; the attribute's name with dots instead of underscores is the
    setting's name. Values are stored in the instance's `__dict__`, so that reading one costs as much as a plain
    attribute.
    """

    def __init__(
        self,
        name: str,
        values: Values,
        default: T,
        documentation: str,
        synonym: str | None = None,
        *,
        since: str = "",
        is_described: bool = True,
    ) -> None:
        self.name = name  # for a broker's settings, empty until the attribute is bound
        self.kind = values.kind  # type number of DescribeConfigs
        self.values = values
        self.default = default
        self.documentation = documentation
        self.synonym = synonym  # broker setting that is the default of a topic or group setting, or None
        self.since = since  # first release that has the setting; empty means that all supported ones have it
        self.is_described = is_described  # whether DescribeConfigs lists it if it is not set

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.replace("_", ".")

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        assert instance is None, "instances hold their own values"
        return self

    def exists_in(self, release: str) -> bool:
        return not self.since or _version(release) >= _version(self.since)

    @property
    def is_list(self) -> bool:
        """Whether the setting supports APPEND and SUBTRACT."""
        return self.kind == LIST

    @property
    def default_text(self) -> str:
        """The default as text."""
        return self.show(self.default)

    def read(self, text: str) -> T:
        """Parse `text`.

        Raises:
            SettingError: The text is invalid; the message lists the valid values.
        """
        if self.problem(text) is not None:
            raise SettingError(
                f"{self.name}={text.strip()} is not allowed: it must be {self.values.allowed}; "
                f"the default is {self.default_text or 'none'}"
            )
        value: T = self.values.parse(text)
        return value

    def problem(self, text: str) -> str | None:
        """Return Kafka's error message for a text, or None if it is valid."""
        return self.values.check(self.name, text)

    def show(self, value: T) -> str:
        """Format a value for a properties file."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return ",".join(value)
        return "" if value is None else str(value)


def bad_value(name: str, value: object, reason: str) -> str:
    """Return the message of Kafka's `ConfigException`."""
    return f"Invalid value {value} for configuration {name}: {reason}"


def number(kind: int, lowest: float, highest: float | None = None, also: int | None = None) -> Values:
    """Return the values of a number type between two limits; `also` is one additional value."""

    def check(name: str, value: str) -> str | None:
        parsed = parse_number(kind, value)
        if parsed is None:
            return bad_value(name, value, f"Not a number of type {_NUMBER_NAMES[kind]}")
        if also is not None:
            if parsed != also and not lowest <= parsed <= (highest or INT_MAX):
                return bad_value(name, parsed, f"Value must be between {lowest} and {highest} or equal to {also}")
        elif parsed < lowest:
            return bad_value(name, parsed, f"Value must be at least {lowest}")
        elif highest is not None and parsed > highest:
            return bad_value(name, parsed, f"Value must be no more than {highest}")
        return None

    most = _most(kind) if highest is None else highest
    return Values(kind, check, f"a {'whole ' * (kind != DOUBLE)}number from {lowest} to {most}")


def parse_number(kind: int, value: str) -> float | None:
    """Parse a number of type SHORT, INT, LONG or DOUBLE; return None if it is invalid."""
    try:
        if kind == DOUBLE:
            return float(value)
        number = int(value)
    except ValueError:
        return None
    return number if -_most(kind) - 1 <= number <= _most(kind) and "_" not in value else None


def _most(kind: int) -> int:
    return {SHORT: SHORT_MAX, INT: INT_MAX}.get(kind, LONG_MAX)


def parse_boolean(value: str) -> bool | None:
    """Parse true or false in any case; return None if it is invalid."""
    return {"true": True, "false": False}.get(value.strip().lower())


def _boolean(name: str, value: str) -> str | None:
    if parse_boolean(value) is not None:
        return None
    return bad_value(name, value, "Expected value to be either true or false")


TRUE_OR_FALSE = Values(BOOLEAN, _boolean, "true or false")  # true or false, in any case


def one_of(*choices: str) -> Values:
    def check(name: str, value: str) -> str | None:
        if value.strip() in choices:
            return None
        return bad_value(name, value, "String must be one of: " + ", ".join(choices))

    return Values(STRING, check, "one of " + ", ".join(choices))


def list_of(*choices: str) -> Values:
    """Return the values of a comma-separated list of the given words."""

    def check(name: str, value: str) -> str | None:
        for word in split_list(value):
            if not word:
                return f"Configuration '{name}' values must not be empty."
            if word not in choices:
                return bad_value(name, word, "String must be one of: " + ", ".join(choices))
        return None

    return Values(LIST, check, "a list of " + ", ".join(choices))


def split_list(value: str) -> list[str]:
    """Split a list setting; an empty text is an empty list."""
    return [word.strip() for word in value.split(",")] if value.strip() else []


def _version(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
