"""What the laboratory refuses."""

from collections.abc import Iterable
from difflib import get_close_matches


class ControlError(ValueError):
    """Something that cannot be done or cannot match. The text is one sentence that says what to do."""


class NotFoundError(ControlError):
    """A group, node, member, rule or gate that is not there."""


def unknown(kind: str, given: object, valid: Iterable[str]) -> ControlError:
    """Names the nearest valid word, or all of them when none is near."""
    words = sorted(valid)
    lower = {word.lower(): word for word in words}
    near = get_close_matches(str(given).lower(), lower, n=1)
    advice = f"did you mean {lower[near[0]]}?" if near else "there are " + ", ".join(words)
    return ControlError(f"there is no {kind} {given!r}; {advice}")
