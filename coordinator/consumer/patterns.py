"""Regular expressions that members subscribe with: RE2's, matched in linear time (consumer-groups §12.1).

Kafka uses RE2/J; the reasons for a refusal are put into its words.
"""

from collections.abc import Callable

MAX_MEMORY = 8 << 20
"""Bytes that matching with one pattern may take; RE2's own default."""

_REASONS = (
    ("missing )", "missing closing )"),
    ("missing ]", "missing closing ]"),
    ("invalid perl operator", "invalid or unsupported Perl syntax"),
    ("invalid escape sequence", "invalid escape sequence"),
    ("bad repetition operator", "invalid nested repetition operator"),
    ("invalid repetition size", "invalid repeat count"),
    ("no argument for repetition operator", "missing argument to repetition operator"),
    ("invalid character class range", "invalid character class range"),
    ("invalid named capture group", "invalid named capture"),
    ("unexpected )", "unmatched closing )"),
    ("trailing \\", "trailing backslash at end of expression"),
)
"""What RE2 says, and what RE2/J says."""


def why_invalid(regex: str) -> str | None:
    """Why a pattern cannot be used; None: it can."""
    reason = _compiled(regex)
    return reason if isinstance(reason, str) else None


def matcher(regex: str) -> Callable[[str], object]:
    """What tells whether a pattern matches a name as a whole. What is no pattern matches nothing."""
    matches = _compiled(regex)
    return (lambda name: None) if isinstance(matches, str) else matches


def _compiled(regex: str) -> "Callable[[str], object] | str":
    import re2  # not for brokers whose groups have no patterns

    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    try:
        matches: Callable[[str], object] = re2.compile(regex, options).fullmatch
    except re2.error as problem:
        raw = problem.args[0] if problem.args else ""
        problem = raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
        return next((words for known, words in _REASONS if problem.startswith(known)), problem)
    return matches
