"""Errors of the laboratory, and the suggestion of valid names."""

from collections.abc import Iterable
from difflib import get_close_matches


class ControlError(ValueError):
    """Impossible action, or a condition that can't match. The message is one sentence that also names a solution."""


class NotFoundError(ControlError):
    """Group, node, member, rule or gate that does not exist."""


def unknown(kind: str, name: object, valid: Iterable[str]) -> ControlError:
    """Return an error that suggests the nearest valid name, or lists all if none is similar."""
    words = sorted(valid)
    lower = {word.lower(): word for word in words}
    near = get_close_matches(str(name).lower(), lower, n=1)
    advice = f"did you mean {lower[near[0]]}?" if near else "valid values: " + ", ".join(words)
    return ControlError(f"unknown {kind} {name!r}; {advice}")
