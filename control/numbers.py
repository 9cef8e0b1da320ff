"""Numbers that a person gives, looked at before anything is done with them: files and requests may hold anything."""

from __future__ import annotations

from datetime import timedelta

from kohort.control.control_errors import ControlError

Seconds = float | timedelta
"""A duration as a test gives it: a number of seconds, or a timedelta."""

LONGEST_S = 31 * 24 * 3_600
"""The longest delay, and the longest jump of the clock. A jump stops at every timer: a day takes half a second."""


def as_seconds(value: object, subject: str) -> float:
    """Return a duration in seconds. `subject` names it in the ControlError, as in "a timeout"."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    return number(value, subject, "of seconds or a timedelta")


def number(value: object, subject: str, noun: str = "") -> float:
    """Return a number as it was given. Raises ControlError for anything else, also for NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise ControlError(f"{subject} must be a number{noun and ' '}{noun}, got {value!r}")
    return value


def length_ms(duration: object, subject: str) -> int:
    """Return a duration in milliseconds. `subject` begins the sentence of the ControlError: "a delay"."""
    try:
        seconds = as_seconds(duration, subject)
    except ControlError:
        seconds = -1
    if not 0 <= seconds <= LONGEST_S:
        raise ControlError(f"{subject} is a number of seconds from 0 to {LONGEST_S} (31 days), not {duration!r}")
    return round(seconds * 1000)


def whole(value: object, what: str, least: int) -> int:
    """A whole number that is at least so much. `what` begins the sentence."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ControlError(f"{what} is a whole number, {least} or more, not {value!r}")
    return value


def as_setting(value: object) -> str:
    """Return a setting as Kafka writes it: `true`, `3`; a timedelta in milliseconds, as for `….ms`."""
    if isinstance(value, timedelta):
        return str(length_ms(value, "a setting"))
    return str(value).lower() if isinstance(value, bool) else str(value)
