"""What `kohort analyze` was asked for: which stretch of time, which groups, and what counts as a failure."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kohort.pipeline.analysis.analysis_run import Outcome
    from kohort.pipeline.remote_path import Place
    from kohort.pipeline.sources.window import Window

_SCHEME = re.compile(r"^([a-z][a-z0-9]+)://")
FOUND = 3
"""The exit code when --fail-on names a severity that a finding has."""
CANT_TELL = 4
"""The exit code with --fail-on when nothing so grave was found, and not everything was read."""


def window_of(since: str | None, until: str | None, last: str | None, groups: Iterable[str]) -> Window:
    """The window that --since, --until, --last and --group mean. Raises click.UsageError."""
    from kohort.pipeline.sources.window import FOREVER_MS, Window, length_ms, moment_ms

    if last is not None and (since is not None or until is not None):
        raise click.UsageError("--last says where the time begins and ends: it goes with neither --since nor --until")
    now = datetime.now().astimezone()
    try:
        since_ms = moment_ms(since, now) if since is not None else 0
        until_ms = moment_ms(until, now) if until is not None else FOREVER_MS
        if last is not None:
            since_ms = round(time.time() * 1000) - length_ms(last)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if since_ms > until_ms:
        raise click.UsageError("--since is later than --until")
    return Window(since_ms, until_ms, tuple(groups))


def out_place(out: str, following: bool) -> Place:
    """The absolute place of --out. Raises click.UsageError for an address that nobody can write to."""
    from kohort.pipeline.remote_path import SCHEMES, StoredPlace, is_stored, place_of

    if not is_stored(out):
        if scheme := _SCHEME.match(out):
            known = ", ".join(f"{name}://" for name in SCHEMES)
            raise click.UsageError(f"--out {out}: {scheme[1]}:// is no store that is known here; known are {known}")
        return Path(out).absolute()
    place = place_of(out)
    assert isinstance(place, StoredPlace)
    if not place.address.partition("://")[2]:
        raise click.UsageError(f"--out {out}: names no bucket; one looks like {place.scheme}://bucket/incident")
    if following:
        raise click.UsageError(
            f"--out {out}: what --follow collects grows in a folder of this machine (a shared one, with --cluster)"
        )
    return place


@cache
def notes_folder(out: Place) -> Path:
    """Where Spark's log and the whole of an error go: beside the tables; into a new folder if those are in a store."""
    return out if isinstance(out, Path) else Path(tempfile.mkdtemp(prefix="kohort-"))


def webhook_address(url: str | None) -> str | None:
    """The address of --webhook. Raises click.UsageError."""
    from kohort.pipeline.live.webhook import checked_address

    try:
        return None if url is None else checked_address(url)
    except ValueError as error:
        raise click.UsageError(f"--webhook: {error}") from None


def exit_code(outcome: Outcome, fail_on: str | None, accepted: Collection[str]) -> int:
    """FOUND if a finding is as grave as --fail-on says; CANT_TELL if not everything was read that could show one.

    accepted: sources that may be missing.
    """
    from kohort.pipeline.rules.finding import SEVERITIES

    if fail_on is None:
        return 0
    grave = SEVERITIES[SEVERITIES.index(fail_on) :]
    if any(finding["severity"] in grave for finding in outcome.findings):
        return FOUND
    return CANT_TELL if outcome.missing(accepted) or not outcome.health else 0
