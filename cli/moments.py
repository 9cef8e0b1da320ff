"""Times on the command line: ISO 8601, a time of today, or milliseconds since 1970."""

from __future__ import annotations

import re
from datetime import datetime

import click

_TIME_OF_TODAY = re.compile(r"\d{1,2}:\d\d(:\d\d)?")
_ISO_DATE_DIGITS = 8  # 20260531 is a date; other numbers are milliseconds


def moment_ms(text: str, option: str, now: datetime | None = None) -> int:
    """Return a time in milliseconds since 1970.

    Args:
        text: Text to parse.
        option: Option that the error message names.
        now: Time whose date and time zone are the defaults, or None for the current local time.

    Raises:
        click.BadParameter: The text is not a time.
    """
    now, stripped = now or datetime.now().astimezone(), text.strip()
    if stripped.isdecimal() and len(stripped) != _ISO_DATE_DIGITS:
        return int(stripped)
    if _TIME_OF_TODAY.fullmatch(stripped):
        hour, _, rest = stripped.partition(":")
        stripped = f"{now.date().isoformat()}T{hour:0>2}:{rest}"
    try:
        moment = datetime.fromisoformat(stripped)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a time; expected 2026-05-31T14:00, 14:00 for today, or milliseconds since 1970",
            param_hint=option,
        ) from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)).timestamp() * 1000)
