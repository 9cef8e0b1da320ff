"""`ssl.principal.mapping.rules`: maps the distinguished name of a client certificate to a user name.

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
    """Malformed rules. The text completes a sentence that starts with the name of the setting."""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str] | None  # None keeps the name unchanged
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
        """Parse rules.

        Raises:
            RulesError: The text is malformed.
        """
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
        """Return the result of the first matching rule.

        Raises:
            PrincipalError: No rule matches.
        """
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
        raise RulesError(
            f"has the pattern {match['pattern']!r}, which is not a valid regular expression: {problem}"
        ) from None
    return _Rule(pattern, match["replacement"], match["case"])


def _expand(match: re.Match[str], replacement: str) -> str:
    """Replace `$1` or `${name}` by groups. A number without a group is kept as it is."""

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
