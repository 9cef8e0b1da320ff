"""Times on the command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import click
import pytest

from kohort.cli.analyze_options import window_of
from kohort.cli.consume.starting import span_of
from kohort.cli.moments import moment_ms

NOW = datetime(2026, 5, 31, 15, 30, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-05-31T14:00", datetime(2026, 5, 31, 12, tzinfo=UTC)),
        ("2026-05-31 14:00:30", datetime(2026, 5, 31, 12, 0, 30, tzinfo=UTC)),
        ("2026-05-31T14:00:00Z", datetime(2026, 5, 31, 14, tzinfo=UTC)),
        ("9:05", datetime(2026, 5, 31, 7, 5, tzinfo=UTC)),
        ("14:00", datetime(2026, 5, 31, 12, tzinfo=UTC)),
        ("20260531", datetime(2026, 5, 30, 22, tzinfo=UTC)),
        ("1780228800000", datetime(2026, 5, 31, 12, tzinfo=UTC)),
    ],
)
def test_time_is_parsed(text: str, moment: datetime) -> None:
    assert moment_ms(text, "--since", NOW) == round(moment.timestamp() * 1000)


@pytest.mark.parametrize("text", ["", "2x", "yesterday", "25:00", "-3h"])
def test_invalid_time_names_option(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a time; expected 2026-05-31T14:00") as raised:
        moment_ms(text, "--since", NOW)
    assert raised.value.param_hint == "--since"


def test_commands_read_times_alike() -> None:
    at_ms = moment_ms("14:00", "--since")
    assert window_of("14:00", None, None, ()).since_ms == at_ms
    assert span_of(["s@14:00"]).since_ms == at_ms
