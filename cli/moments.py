"""Times on the command line: milliseconds since 1970, or ISO 8601."""

from __future__ import annotations

from datetime import datetime

import click


def moment_ms(text: str, option: str) -> int:
    """Return a time in milliseconds since 1970; without a zone it is local.

    Raises:
        click.BadParameter: The text is not a time.
    """
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a time; expected milliseconds since 1970, or 2026-05-31T14:00:00Z", param_hint=option
        ) from None
    return round(moment.timestamp() * 1000)
