"""Where a share group begins that nothing is known of: `share.auto.offset.reset`."""

import re
from typing import Final

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
BY_DURATION: Final = "by_duration:"

_DURATION: Final = re.compile(
    r"\+?P(?:\+?(\d+)D)?(?:T(?:\+?(\d+)H)?(?:\+?(\d+)M)?(?:\+?(\d+)(?:[.,](\d{0,9}))?S)?)?", re.IGNORECASE
)
"""ISO 8601 as Java reads it (`Duration.parse`); what may be set has been checked."""

_DAY_MS, _HOUR_MS, _MINUTE_MS, _SECOND_MS = 86_400_000, 3_600_000, 60_000, 1_000


def duration_ms(reset: str) -> int | None:
    """How long ago a group begins, in milliseconds; None: it does not begin by time."""
    if not reset.startswith(BY_DURATION):
        return None
    found = _DURATION.fullmatch(reset.removeprefix(BY_DURATION))
    assert found is not None, "it could not have been set"
    days, hours, minutes, seconds, fraction = found.groups()
    whole = int(days or 0) * _DAY_MS + int(hours or 0) * _HOUR_MS + int(minutes or 0) * _MINUTE_MS
    return whole + int(seconds or 0) * _SECOND_MS + int(((fraction or "") + "000")[:3])
