"""Validation of numbers from files, requests and tests, before they are used."""

from __future__ import annotations

from datetime import timedelta

from kohort.control.control_errors import ControlError

Seconds = float | timedelta  # A duration in a test: a number of seconds, or a timedelta.

# Longest delay and longest jump of the clock. A jump stops at every timer: a day takes half a second.
MAX_SECONDS = 31 * 24 * 3_600


def as_seconds(value: object, subject: str) -> float:
    """Return a duration in seconds. `subject` names it in the ControlError, as in "a timeout"."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    return number(value, subject, "of seconds or a timedelta")


def number(value: object, subject: str, noun: str = "") -> float:
    """Return a number unchanged, or raise ControlError for any other value, including NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise ControlError(f"{subject} must be a number{noun and ' '}{noun}, got {value!r}")
    return value


def length_ms(duration: object, subject: str) -> int:
    """Return a duration in milliseconds. `subject` names it in the ControlError, as in "a delay"."""
    try:
        seconds = as_seconds(duration, subject)
    except ControlError:
        seconds = -1
    if not 0 <= seconds <= MAX_SECONDS:
        raise ControlError(f"{subject} must be from 0 to {MAX_SECONDS} seconds (31 days), got {duration!r}")
    return round(seconds * 1000)


def whole(value: object, subject: str, least: int) -> int:
    """Return an integer that is at least `least`. `subject` names it in the ControlError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ControlError(f"{subject} must be an integer of at least {least}, got {value!r}")
    return value


def as_setting(value: object) -> str:
    """Return a setting as Kafka writes it: `true`, `3`; a timedelta in milliseconds, as for `….ms`."""
    if isinstance(value, timedelta):
        return str(length_ms(value, "a setting"))
    return str(value).lower() if isinstance(value, bool) else str(value)
