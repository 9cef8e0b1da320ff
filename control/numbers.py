"""Numbers that a person gives, looked at before anything is done with them: files and requests may hold anything."""

from __future__ import annotations

from kohort.control.control_errors import ControlError

LONGEST_S = 31 * 24 * 3_600
"""The longest delay, and the longest jump of the clock. A jump stops at every timer: a day takes half a second."""


def length_ms(seconds: object, what: str) -> int:
    """Seconds as milliseconds. `what` begins the sentence of the ControlError: "a delay"."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_S:
        raise ControlError(f"{what} is a number of seconds from 0 to {LONGEST_S} (31 days), not {seconds!r}")
    return round(seconds * 1000)


def whole(value: object, what: str, least: int) -> int:
    """A whole number that is at least so much. `what` as above."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ControlError(f"{what} is a whole number, {least} or more, not {value!r}")
    return value


def as_setting(value: object) -> str:
    """A setting as Kafka writes it: `true`, `3`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
