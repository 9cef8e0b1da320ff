"""Options of `kohort analyze`: period, groups, output, and what counts as a failure."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kohort.cli.moments import moment_ms

if TYPE_CHECKING:
    from kohort.pipeline.analysis.analysis_run import Outcome
    from kohort.pipeline.remote_path import Place
    from kohort.pipeline.sources.window import Window

_SCHEME = re.compile(r"^([a-z][a-z0-9]+)://")
FINDINGS = 3  # exit code if a finding has at least the severity of --fail-on
INCONCLUSIVE = 4  # exit code with --fail-on if no finding is that severe, but sources are missing or unread


anonymize_option = click.option(
    "--anonymize",
    is_flag=True,
    help="Replace the names of groups, topics, clients, members and hosts, and leave out free text, to share the "
    "results.",
)


def window_of(since: str | None, until: str | None, last: str | None, groups: Iterable[str]) -> Window:
    """Return the window that --since, --until, --last and --group select.

    Raises:
        click.UsageError: A time is invalid, or options contradict each other.
    """
    from kohort.pipeline.sources.window import FOREVER_MS, Window, length_ms

    if last is not None and (since is not None or until is not None):
        raise click.UsageError("--last cannot be combined with --since or --until")
    since_ms = moment_ms(since, "--since") if since is not None else 0
    until_ms = moment_ms(until, "--until") if until is not None else FOREVER_MS
    if last is not None:
        try:
            since_ms = round(time.time() * 1000) - length_ms(last)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--last") from None
    if since_ms > until_ms:
        raise click.UsageError("--since is later than --until")
    return Window(since_ms, until_ms, tuple(groups))


def out_place(out: str, *, following: bool = False) -> Place:
    """Return the absolute location of --out.

    Raises:
        click.UsageError: The address can't be written to.
    """
    from kohort.pipeline.remote_path import SCHEMES, StoredPlace, is_stored, place_of

    if not is_stored(out):
        if scheme := _SCHEME.match(out):
            schemes = ", ".join(f"{name}://" for name in SCHEMES)
            raise click.UsageError(f"--out {out}: unknown store {scheme[1]}://; expected one of {schemes}")
        return Path(out).absolute()
    place = place_of(out)
    assert isinstance(place, StoredPlace)
    if not place.address.partition("://")[2]:
        raise click.UsageError(
            f"--out {out}: a bucket is missing; expected {place.scheme.rstrip(':')}://bucket/incident"
        )
    if following:
        raise click.UsageError(f"--out {out}: kohort follow requires a folder (with --cluster a shared one)")
    return place


@cache
def notes_folder(out: Place) -> Path:
    """Return the folder for Spark's log and tracebacks: the output folder, or a temporary one for output in a store."""
    return out if isinstance(out, Path) else Path(tempfile.mkdtemp(prefix="kohort-"))


def webhook_address(url: str | None) -> str | None:
    from kohort.pipeline.live.webhook import checked_address

    try:
        return None if url is None else checked_address(url)
    except ValueError as error:
        raise click.UsageError(f"--webhook: {error}") from None


def exit_code(outcome: Outcome, fail_on: str | None, accepted: Collection[str]) -> int:
    """Return FINDINGS, INCONCLUSIVE or 0.

    Args:
        accepted: Sources that may be missing.
    """
    from kohort.pipeline.rules.finding import SEVERITIES

    if fail_on is None:
        return 0
    grave = SEVERITIES[SEVERITIES.index(fail_on) :]
    if any(finding["severity"] in grave for finding in outcome.findings):
        return FINDINGS
    return INCONCLUSIVE if outcome.missing(accepted) or not outcome.health else 0
