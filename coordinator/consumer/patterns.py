"""Regular expressions of subscriptions, in the RE2 syntax and matched in linear time (consumer-groups §12.1).

Kafka uses RE2/J; reasons for a rejection are translated to its messages. The package google-re2 is optional, because
it has no wheels for the newest releases of Python: without it, every pattern is rejected.
"""

from collections.abc import Callable

MAX_MEMORY = 8 << 20  # bytes for matching one pattern; the default of RE2

WITHOUT_RE2 = "kohort matches patterns with google-re2, which is not installed; run pip install 'kohort[patterns]'"

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
)  # messages of RE2, and of RE2/J


def find_regex_error(regex: str) -> str | None:
    """Return the reason why a pattern is invalid, or None."""
    reason = _compiled(regex)
    return reason if isinstance(reason, str) else None


def matcher(regex: str) -> Callable[[str], object]:
    """Return a function that matches whole names. An invalid pattern matches nothing."""
    matches = _compiled(regex)
    return (lambda name: None) if isinstance(matches, str) else matches


def _compiled(regex: str) -> "Callable[[str], object] | str":
    try:
        import re2  # imported on first use: most groups have no patterns
    except ImportError:
        return WITHOUT_RE2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    try:
        matches: Callable[[str], object] = re2.compile(regex, options).fullmatch
    except re2.error as error:
        raw = error.args[0] if error.args else ""
        error = raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
        return next((message for prefix, message in _REASONS if error.startswith(prefix)), error)
    return matches
