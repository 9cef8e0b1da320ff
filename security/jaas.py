"""Parses a line of Java's login configuration, as in `sasl.jaas.config`: a module, `required`, and options.

    org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alice-secret" user_bob="…";

Source: Kafka's `JaasConfig`. One module per line; errors never show a value, which may be a password.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?i:required|requisite|sufficient|optional)(?P<options>[^;\"']*(?:(?:\"(?:[^\"\\]|\\.)*\"|"
    r"'(?:[^'\\]|\\.)*')[^;\"']*)*);\s*",
    re.DOTALL,
)
_OPTION = re.compile(
    r"\s*(?P<name>[^\s=\"';]+)\s*=\s*(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s\"';]+)", re.DOTALL
)


class JaasError(ValueError):
    """A malformed line. The text completes a sentence that starts with the name of the setting."""


class JaasLine(NamedTuple):
    """A parsed line."""

    module: str  # Java class
    options: dict[str, str]

    def __repr__(self) -> str:
        return f"JaasLine({self.module})"


def parse_jaas(text: str) -> JaasLine:
    """Parse a line.

    Raises:
        JaasError: The line is malformed.
    """
    match = _LINE.fullmatch(text)
    if match is None:
        raise JaasError('is not a JAAS line; expected MODULE required NAME="VALUE" …; with a semicolon at the end')
    options: dict[str, str] = {}
    rest = match["options"].strip()
    while rest:
        option = _OPTION.match(rest)
        if option is None:
            raise JaasError('has an option that cannot be read; write NAME="VALUE"')
        options[option["name"]] = _unquoted(option["value"])
        rest = rest[option.end() :].strip()
    return JaasLine(match["module"], options)


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL) if value[0] in "\"'" else value
