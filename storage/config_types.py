"""How a setting of a broker, a topic or a group is declared: its type, the values it may have, its default.

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

BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST = 1, 2, 3, 4, 5, 6, 7
"""Types of a setting as DescribeConfigs numbers them (KIP-569)."""

_NUMBER_NAMES = {INT: "INT", LONG: "LONG", DOUBLE: "DOUBLE"}

Check = Callable[[str, str], str | None]
"""Takes a name and a text; answers what is wrong with it in Kafka's words, or None."""


class SettingError(ValueError):
    """A setting that cannot be used. The text is one sentence for the person who wrote the setting."""


class Values(NamedTuple):
    """The values that a setting may have."""

    kind: int
    """The type, as DescribeConfigs numbers it."""
    check: Check
    allowed: str
    """The allowed values in words, behind "it must be"."""

    def parse(self, text: str) -> Any:
        """The typed value of a text that `check` has nothing against."""
        text = text.strip()
        if self.kind == BOOLEAN:
            return parse_boolean(text)
        if self.kind == LIST:
            return tuple(split_list(text))
        return text if self.kind == STRING else parse_number(self.kind, text)


class Setting(Generic[T]):
    """A setting: its name, the values it may have, its default, one line of documentation.

    A broker's settings are attributes of a class; an attribute's name with dots for underscores is the setting's name.
    Values live in the instance's `__dict__`, so that reading one costs what any attribute costs.
    """

    def __init__(self, name: str, values: Values, default: T, documentation: str, synonym: str | None = None) -> None:
        self.name = name
        """Empty until the attribute is named, for a broker's settings."""
        self.kind = values.kind
        """The type, as DescribeConfigs numbers it."""
        self.values = values
        self.default = default
        self.documentation = documentation
        self.synonym = synonym
        """The broker setting that is the default of a topic's or group's; None: there is none."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.replace("_", ".")

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        assert instance is None, "instances hold their own values"
        return self

    @property
    def is_list(self) -> bool:
        """Whether APPEND and SUBTRACT may be used on it."""
        return self.kind == LIST

    @property
    def default_text(self) -> str:
        """The default, as one would write it."""
        return self.show(self.default)

    def read(self, text: str) -> T:
        """The value that `text` stands for; raises SettingError with the allowed values."""
        if self.problem(text) is not None:
            raise SettingError(
                f"{self.name}={text.strip()} is not allowed: it must be {self.values.allowed}; "
                f"the default is {self.default_text or 'none'}"
            )
        value: T = self.values.parse(text)
        return value

    def problem(self, text: str) -> str | None:
        """What is wrong with a text, in Kafka's words; None: nothing."""
        return self.values.check(self.name, text)

    def show(self, value: T) -> str:
        """A value as one would write it in a file of settings."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return ",".join(value)
        return "" if value is None else str(value)


def bad_value(name: str, value: object, problem: str) -> str:
    """What Kafka says of a value (`ConfigException`)."""
    return f"Invalid value {value} for configuration {name}: {problem}"


def number(kind: int, lowest: float, highest: float | None = None, also: int | None = None) -> Values:
    """A number between two limits; `also` is one more value that is allowed."""

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
    """A number of type SHORT, INT, LONG or DOUBLE; None: it is none."""
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
    """True or false, in any case; None: it is neither."""
    return {"true": True, "false": False}.get(value.strip().lower())


def _boolean(name: str, value: str) -> str | None:
    if parse_boolean(value) is not None:
        return None
    return bad_value(name, value, "Expected value to be either true or false")


TRUE_OR_FALSE = Values(BOOLEAN, _boolean, "true or false")
"""True or false, in any case."""


def one_of(*words: str) -> Values:
    """One of a few words."""

    def check(name: str, value: str) -> str | None:
        if value.strip() in words:
            return None
        return bad_value(name, value, "String must be one of: " + ", ".join(words))

    return Values(STRING, check, "one of " + ", ".join(words))


def list_of(*words: str) -> Values:
    """Any of a few words, separated by commas."""

    def check(name: str, value: str) -> str | None:
        for word in split_list(value):
            if not word:
                return f"Configuration '{name}' values must not be empty."
            if word not in words:
                return bad_value(name, word, "String must be one of: " + ", ".join(words))
        return None

    return Values(LIST, check, "a list of " + ", ".join(words))


def split_list(value: str) -> list[str]:
    """The words of a list setting; an empty text is an empty list."""
    return [word.strip() for word in value.split(",")] if value.strip() else []
