"""The types of settings, and how a setting of a topic or a group is declared and checked: limits, Kafka's words.

Values of topics' and groups' settings stay text, as clients send and read them; the broker's own have typed values
(`broker/settings/setting.py`). Both read a text in the same way. Source: Kafka's `ConfigDef`.
"""

from collections.abc import Callable
from dataclasses import dataclass

SHORT_MAX = 2**15 - 1
INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST = 1, 2, 3, 4, 5, 6, 7
"""Types of a setting as DescribeConfigs numbers them (KIP-569)."""

_NUMBER_NAMES = {INT: "INT", LONG: "LONG", DOUBLE: "DOUBLE"}

Check = Callable[[str, str], str | None]
"""Takes a name and a value; answers what is wrong with it in Kafka's words, or None."""


@dataclass(frozen=True, slots=True)
class Config:
    """One setting."""

    name: str
    kind: int
    default: str
    synonym: str | None
    """The broker setting that is its default; None: there is none."""
    documentation: str
    check: Check

    @property
    def is_list(self) -> bool:
        """Whether APPEND and SUBTRACT may be used on it."""
        return self.kind == LIST


def bad_value(name: str, value: object, problem: str) -> str:
    """What Kafka says of a value (`ConfigException`)."""
    return f"Invalid value {value} for configuration {name}: {problem}"


def number(kind: int, lowest: float, highest: float | None = None, also: int | None = None) -> Check:
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

    return check


def parse_number(kind: int, value: str) -> float | None:
    """A number of type SHORT, INT, LONG or DOUBLE; None: it is none."""
    try:
        if kind == DOUBLE:
            return float(value)
        number = int(value)
    except ValueError:
        return None
    most = {SHORT: SHORT_MAX, INT: INT_MAX}.get(kind, LONG_MAX)
    return number if -most - 1 <= number <= most and "_" not in value else None


def parse_boolean(value: str) -> bool | None:
    """True or false, in any case; None: it is neither."""
    return {"true": True, "false": False}.get(value.strip().lower())


def boolean(name: str, value: str) -> str | None:
    """True or false, in any case."""
    if parse_boolean(value) is not None:
        return None
    return bad_value(name, value, "Expected value to be either true or false")


def one_of(*words: str) -> Check:
    """One of a few words."""

    def check(name: str, value: str) -> str | None:
        if value.strip() in words:
            return None
        return bad_value(name, value, "String must be one of: " + ", ".join(words))

    return check


def list_of(*words: str) -> Check:
    """Any of a few words, separated by commas."""

    def check(name: str, value: str) -> str | None:
        for word in split_list(value):
            if not word:
                return f"Configuration '{name}' values must not be empty."
            if word not in words:
                return bad_value(name, word, "String must be one of: " + ", ".join(words))
        return None

    return check


def split_list(value: str) -> list[str]:
    """The words of a list setting; an empty text is an empty list."""
    return [word.strip() for word in value.split(",")] if value.strip() else []
