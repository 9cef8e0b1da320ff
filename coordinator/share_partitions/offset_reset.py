"""Start offset of a share group without state: `share.auto.offset.reset`."""

import re
from typing import Final

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
BY_DURATION: Final = "by_duration:"

_DURATION: Final = re.compile(
    r"\+?P(?:\+?(\d+)D)?(?:T(?:\+?(\d+)H)?(?:\+?(\d+)M)?(?:\+?(\d+)(?:[.,](\d{0,9}))?S)?)?", re.IGNORECASE
)  # ISO 8601 as in Java's `Duration.parse`; values have been checked when they were set

_DAY_MS, _HOUR_MS, _MINUTE_MS, _SECOND_MS = 86_400_000, 3_600_000, 60_000, 1_000


def duration_ms(reset: str) -> int | None:
    """Return how long ago a group begins, or None if the setting is not a duration."""
    if not reset.startswith(BY_DURATION):
        return None
    match = _DURATION.fullmatch(reset.removeprefix(BY_DURATION))
    assert match is not None, "the setting has been checked"
    days, hours, minutes, seconds, fraction = match.groups()
    whole = int(days or 0) * _DAY_MS + int(hours or 0) * _HOUR_MS + int(minutes or 0) * _MINUTE_MS
    return whole + int(seconds or 0) * _SECOND_MS + int(((fraction or "") + "000")[:3])
