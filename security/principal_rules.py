"""`ssl.principal.mapping.rules`: what makes a user's name of the distinguished name in a client certificate.

Source: Kafka's `SslPrincipalMapper`; logins.md §2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kohort.security.principal import PrincipalError

_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))\s*"
    r"(?P<end>[,\n]|$)"
)


class RulesError(ValueError):
    """Rules that cannot be read. The text is the rest of a sentence that names the setting."""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str] | None
    """None: any name stays as it is."""
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        match = self.pattern.fullmatch(name)
        if match is None:
            return None
        result = _expand(match, self.replacement)
        return {"L": result.lower(), "U": result.upper()}.get(self.case, result)


class PrincipalRules:
    """The rules, in order."""

    def __init__(self, text: str = "DEFAULT") -> None:
        """Raises RulesError."""
        self._rules: list[_Rule] = []
        at = 0
        text = text.strip()
        while at < len(text):
            match = _RULE.match(text, at)
            if match is None:
                raise RulesError(
                    f"has a rule that cannot be read at {text[at : at + 40]!r}; write RULE:PATTERN/REPLACEMENT/, with "
                    "L or U at the end for lower or upper case, or DEFAULT, with commas between"
                )
            self._rules.append(_rule(match))
            at = match.end()

    def name(self, distinguished_name: str) -> str:
        """The name that the first rule that fits makes of it. Raises PrincipalError where none does."""
        for rule in self._rules:
            name = rule.apply(distinguished_name)
            if name is not None:
                return name
        raise PrincipalError(f"no rule of ssl.principal.mapping.rules fits {distinguished_name}")


def _rule(match: re.Match[str]) -> _Rule:
    if match["default"]:
        return _Rule(None)
    try:
        pattern = re.compile(re.sub(r"\(\?<(?![=!])", "(?P<", match["pattern"]))
    except re.error as problem:
        raise RulesError(f"has the pattern {match['pattern']!r}, which is no regular expression: {problem}") from None
    return _Rule(pattern, match["replacement"], match["case"])


def _expand(match: re.Match[str], replacement: str) -> str:
    """Puts groups where `$1` or `${name}` stands. A number without a group stays as it is written."""

    def group(reference: re.Match[str]) -> str:
        escaped, number, name = reference["escaped"], reference["number"], reference["name"]
        if escaped is not None:
            return str(escaped)
        if name is not None and name in match.re.groupindex:
            return match[name] or ""
        if number is not None and int(number) <= match.re.groups:
            return match[int(number)] or ""
        return str(reference[0])

    return re.sub(r"\\(?P<escaped>.)|\$(?P<number>\d)|\$\{(?P<name>\w+)\}", group, replacement)
