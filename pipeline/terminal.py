"""Terminal output of `kohort analyze`: progress and findings, with colors on a terminal only."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

from kohort.base.visible import visible
from kohort.pipeline.rules.finding import several

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kohort.pipeline.analysis.analysis_run import Outcome
    from kohort.pipeline.gold.gold_rows import DataIssueRow, GroupHealthRow
    from kohort.pipeline.report.results import FindingRow
    from kohort.pipeline.rules.readiness import Readiness
    from kohort.pipeline.sources.found import Source

_MARKS = {"critical": "!!", "warning": " !", "info": "  "}
_COLOURS = {"critical": "red", "warning": "yellow"}
_KINDS = {
    "segment": ("segment file", "segment files"),
    "export": ("export", "exports"),
    "dump": ("dump of segments", "dumps of segments"),
    "text_log": ("broker's log", "brokers' logs"),
    "events": ("event log", "event logs"),
    "end_offsets": ("file of log ends", "files of log ends"),
    "topics": ("list of topics", "lists of topics"),
    "wire": ("partition of a running cluster", "partitions of a running cluster"),
    "share_segment": ("segment file of share groups' state", "segment files of share groups' state"),
    "share_wire": ("partition of share groups' state", "partitions of share groups' state"),
}
_WIDEST, _MOST_NAMES, _MOST_REMARKS = 110, 20, 8
_TICK_S = 0.5


def words(kinds: list[Source]) -> str:
    counts: dict[str, int] = {}
    for source in kinds:
        counts[source.kind] = counts.get(source.kind, 0) + 1
    return ", ".join(several(count, *_KINDS.get(kind, (kind, kind))) for kind, count in counts.items())


_apart: list[TextIO] = []


@contextmanager
def speaking_to(stream: TextIO) -> Iterator[None]:
    """Write messages to `stream` instead of stderr during the block."""
    _apart.append(stream)
    try:
        yield
    finally:
        _apart.pop()


def _stderr() -> TextIO:
    return _apart[-1] if _apart else sys.stderr


def say(text: str) -> None:
    """Print a message to stderr, because stdout has findings only; leading line ends are kept."""
    line = text.lstrip("\n")
    click.echo(text[: len(text) - len(line)] + visible(line), file=_stderr(), color=_colour())


def _colour() -> bool | None:
    """Return False if NO_COLOR is set, or None to let click decide. See no-color.org."""
    return False if os.environ.get("NO_COLOR") else None


@contextmanager
def progress(tasks: Callable[[], str] = lambda: "") -> Iterator[Callable[[str], None]]:
    """Return a function that prints lines. On a terminal, a line ending in "…" is followed by a timer until the next.

    Args:
        tasks: Returns more text about the progress, called twice a second.
    """
    if not _stderr().isatty() or os.environ.get("TERM") == "dumb":  # such a terminal can't overwrite a line
        yield say
        return
    clock = _Clock(tasks)
    clock.start()
    try:
        yield clock.say
    finally:
        clock.stop()


class _Clock:
    def __init__(self, tasks: Callable[[], str]) -> None:
        self._tasks = tasks
        self._lock = threading.Lock()
        self._since: float | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._stream = _stderr()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        self._clear()

    def say(self, text: str) -> None:
        with self._lock:
            self._clear()
            say(text)
            self._since = time.monotonic() if text.endswith("…") else None

    def _clear(self) -> None:
        self._stream.write("\r\x1b[K")
        self._stream.flush()

    def _run(self) -> None:
        while not self._over.wait(_TICK_S):
            more = self._tasks() if self._since is not None else ""
            with self._lock:
                if self._since is not None:
                    self._stream.write(f"\r\x1b[K  {time.monotonic() - self._since:.0f} s{more}")
                    self._stream.flush()


def spark_tasks(spark: SparkSession) -> Callable[[], str]:
    """Return a function that describes Spark's completed tasks; its result is empty over Spark Connect."""
    try:
        tracker = spark.sparkContext.statusTracker()
    except Exception:  # Spark Connect raises its own error for this attribute
        return lambda: ""

    def done_of_count() -> str:
        try:
            stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        except Exception:  # Spark is stopping; the caller that waits for the result gets this error
            return ""
        completed = sum(stage.numCompletedTasks for stage in stages if stage)
        count = sum(stage.numTasks for stage in stages if stage)
        return f", {completed} of {count} tasks" if count else ""

    return done_of_count


def print_findings(outcome: Outcome, verbose: bool, accepted: Collection[str] = ()) -> None:
    """Print the findings by severity; those of severity info only with `verbose`.

    Args:
        outcome: Result of an analysis.
        verbose: Print everything.
        accepted: Sources that may be missing.
    """
    from kohort.pipeline.report.words import by_group, worst_severity

    health = {row["group_id"] or "": row for row in outcome.health}
    groups = by_group(outcome.findings, outcome.health)
    _echo()
    well = []
    for group, findings in groups.items():
        serious = worst_severity(findings) in ("warning", "critical")
        if not serious:
            well.append(group)
        if serious or verbose:
            _group(group, findings, health.get(group), verbose)
    _well(well, outcome, accepted)
    if not groups:
        _echo("No groups found: the input has none, or none was active in that time.")
    _readiness(outcome.readiness or ())
    _remarks(outcome.issues, verbose)
    if outcome.report is not None:
        _echo(f"\nreport: {outcome.report}")


def _well(groups: list[str], outcome: Outcome, accepted: Collection[str]) -> None:
    """Print the groups without serious findings, and the groups for which sources are missing."""
    lacking = outcome.missing(accepted)
    unclear = frozenset().union(*(source.groups for source in lacking))
    unknown = [group for group in groups if group in unclear]
    clear = [group for group in groups if group not in unclear]
    if clear:
        _echo("\n" + visible(f"Nothing serious in {_counted(clear)}{_between(outcome.health)}: {_names(clear)}"))
    if unknown:
        sentence = f"Health unknown for {_counted(unknown)}: nothing serious was found{_between(outcome.health)}, but"
        _echo("\n" + visible(sentence))
        for source in lacking:
            if source.groups.intersection(unknown):
                _echo(_wrapped(f"   - {source.text}", "     "))
        _echo(_wrapped(f"   ({_names(unknown)})", "     "))


def _counted(groups: list[str]) -> str:
    return several(len(groups), "group")


def _names(groups: list[str]) -> str:
    return ", ".join(groups[:_MOST_NAMES]) + (" …" if len(groups) > _MOST_NAMES else "")


def _between(health: list[GroupHealthRow]) -> str:
    from kohort.pipeline.report.all_clear import span
    from kohort.pipeline.report.words import moment

    if not health:
        return ""
    first, last = map(moment, span(health))
    return f" from {first} to {last} UTC"


def _group(group: str, findings: list[FindingRow], health: GroupHealthRow | None, verbose: bool) -> None:
    from kohort.pipeline.report.words import headline, how_sure, worst_severity

    worst = worst_severity(findings)
    line = f"{_MARKS.get(worst, '  ')} {headline(group, findings, health)}"
    _echo(_wrapped(line, "   "), bold=True, fg=_COLOURS.get(worst))
    for finding in findings:
        if finding["severity"] == "info" and not verbose:
            continue
        _echo(visible(f"      {finding['rule']} {finding['title']} ({finding['severity']}, {how_sure(finding)})"))
        if finding["text"] not in line:
            _echo(_wrapped(f"         {finding['text']}", "         "))
        _echo(_wrapped(f"         {finding['advice']}", "         "), dim=True)


def _readiness(groups: Collection[Readiness]) -> None:
    if groups:
        _echo("\nReadiness for the consumer protocol (group.protocol=consumer)")
    for group in groups:
        _echo(visible(f"   {group.group}: {group.verdict}"), bold=True)
        for statement in group.statements:
            _echo(_wrapped(f"      {statement.subject:8} {statement.certainty:8} {statement.text}", " " * 24))
            if statement.advice:
                _echo(_wrapped(f"{' ' * 24}{statement.advice}", " " * 24), dim=True)


def _remarks(issues: list[DataIssueRow], verbose: bool) -> None:
    if not issues:
        return
    _echo(f"\nData quality: {several(len(issues), 'issue')}")
    from kohort.pipeline.report.quality import rarest_first

    listed = rarest_first(issues)[: None if verbose else _MOST_REMARKS]
    for issue in listed:
        location = f" {issue['keys'] or issue['group_id'] or ''}".rstrip()
        _echo(_wrapped(f"   {issue['rule']}{location}: {issue['detail']}", "      "))
    if len(listed) < len(issues):
        _echo(f"   and {len(issues) - len(listed)} more: in the report, or with --verbose")


def _echo(text: str = "", **style: Any) -> None:
    click.echo(click.style(text, **style) if style else text, color=_colour())


def _wrapped(text: str, indent: str) -> str:
    """Wrap text to the width of the terminal; without a terminal it stays one line."""
    text = visible(text)
    if not sys.stdout.isatty():
        return text
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    return textwrap.fill(text, max(40, width), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
