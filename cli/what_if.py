"""`kohort what-if`: predicts what the history of groups would have cost under other settings."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from kohort.base.visible import visible
from kohort.cli.analyze_errors import plain
from kohort.cli.analyze_options import anonymize_option, window_of
from kohort.cli.connecting import config_option, security_of
from kohort.cli.early_end import INTERRUPTED, ends_with_signals
from kohort.cli.output import say
from kohort.pipeline.analysis.worker_processes import WorkerProcesses
from kohort.pipeline.terminal import progress

if TYPE_CHECKING:
    from kohort.client.security import Security
    from kohort.pipeline.sources.found import Source
    from kohort.pipeline.sources.window import Window
    from kohort.whatif.answer import Answer
    from kohort.whatif.question import Question

_PATTERN = "*?["


@click.command("what-if")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option(
    "--group",
    "groups",
    multiple=True,
    required=True,
    metavar="NAME",
    help="The group whose history is played, or the groups of a pattern like 'orders-*'; repeatable. All are played at "
    "the same time, on all cores.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting to change, such as partition.assignment.strategy=cooperative-sticky, group.instance.id=static, "
    "group.protocol=consumer, deploy.order=at-once. Repeatable; all changes together are one variant.",
)
@click.option(
    "--given",
    "given_settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting that the groups have, if the logs do not contain it, such as heartbeat.interval.ms=1000 or "
    "client.library=librdkafka. Repeatable.",
)
@click.option("--suggest", is_flag=True, help="Try a bounded set of changes and print those that no other one beats.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: an object for one NAME, otherwise a list.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the answer to an HTML page, with timelines of owners, stalls and rebalances.",
)
@anonymize_option
@config_option
@click.option("--since", metavar="MOMENT", help="Leave out what ended before: 2026-05-31T14:00, or 14:00 of today.")
@click.option("--until", metavar="MOMENT", help="Leave out what started later.")
@click.option("--last", metavar="LENGTH", help="Only the last 30m, 2h or 1d.")
def what_if(
    sources: tuple[str, ...],
    groups: tuple[str, ...],
    changes: tuple[str, ...],
    given_settings: tuple[str, ...],
    suggest: bool,
    as_json: bool,
    report: Path | None,
    anonymize: bool,
    config: Path | None,
    since: str | None,
    until: str | None,
    last: str | None,
) -> None:
    """Predict what the history of groups would have cost under other settings.

    SOURCE: as for kohort analyze. The members' starts, stops, crashes and pauses and the arrivals of records are read
    from the history. They are played on the broker's own coordinator with model clients, first under the settings that
    the group had. If that does not reproduce the history, nothing is predicted.

    Predictions go to stdout, progress to stderr. Exit code 0: a prediction was printed for each group; 1: for at least
    one group no prediction is possible, for the printed reason; 2: the command line is wrong, or a setting does not
    exist, does not apply to the group, or contradicts another one; 130: interrupted.
    """
    gc.enable()
    requested, own = settings_of(changes, "--set"), settings_of(given_settings, "--given")
    if suggest == bool(requested):
        raise click.UsageError(
            "name changes with --set, or use --suggest" if not suggest else "--suggest cannot be combined with --set"
        )
    window, security = window_of(since, until, last, groups), security_of(config)
    ends_with_signals()
    with _one_line_errors(), WorkerProcesses() as workers, progress(workers.describe_progress) as show:
        outcome = predict(sources, security, window, requested, own, workers, anonymous=anonymize, show_progress=show)
    if report is not None:
        _write_report(report, outcome)
    if as_json:
        is_one = len(groups) == 1 and not any(character in groups[0] for character in _PATTERN)
        _print_json(outcome, as_list=not is_one)
    else:
        _print(outcome.answers)
    if _print_refusals(outcome):
        sys.exit(1)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except click.ClickException:
        raise
    except KeyboardInterrupt:
        say("stopped early; nothing was predicted", err=True)
        sys.exit(INTERRUPTED)
    except Exception as error:  # pyarrow's and the sources' failures have many types
        raise click.ClickException(visible(plain(error, with_spark=False))) from None


class Outcome(NamedTuple):
    answers: list[Answer]
    refusals: list[tuple[str, ValueError]]  # groups that cannot be played


def predict(
    sources: tuple[str, ...],
    security: Security,
    window: Window,
    requested: dict[str, str],
    own: dict[str, str],
    workers: WorkerProcesses,
    *,
    anonymous: bool = False,
    show_progress: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Predict the cost of the requested changes, or of suggested ones if `requested` is empty, for selected groups.

    Raises:
        click.ClickException: No group can be played.
        click.UsageError: A setting is invalid, or does not apply to any of the groups.
    """
    from kohort.pipeline.silver.read_sources import find_expanded
    from kohort.whatif.answer import answer_all
    from kohort.whatif.played_settings import SettingError, check_names

    try:
        check_names([*requested, *own])
    except SettingError as error:
        raise click.UsageError(visible(str(error))) from None
    inputs, issues = find_expanded(sources, security)
    for issue in issues:
        say(f"{issue.keys}: {issue.detail}", err=True)
    if not inputs:
        raise click.ClickException("nothing to read: no source can be read")
    outcome = Outcome([], [])
    show_progress("reading …")
    for answer in answer_all(_questions(inputs, window, requested, own, outcome.refusals, anonymous), workers):
        outcome.answers.append(answer)
        show_progress(f"played group {answer.group} …")
    if not outcome.answers:
        errors = [error for _, error in outcome.refusals]
        is_usage = all(isinstance(error, SettingError) for error in errors)
        raise (click.UsageError if is_usage else click.ClickException)(visible("; ".join(map(str, errors))))
    return outcome


def _questions(
    inputs: list[Source],
    window: Window,
    requested: dict[str, str],
    own: dict[str, str],
    refusals: list[tuple[str, ValueError]],
    anonymous: bool,
) -> Iterator[Question]:
    """Yield what to predict for each selected group, and add the groups that cannot be played to `refusals`."""
    from kohort.pipeline.sources.window import selects
    from kohort.whatif.extract import UnplayableError
    from kohort.whatif.group_history import each_history
    from kohort.whatif.played_settings import SettingError
    from kohort.whatif.question import read_question

    ids: list[str] = []
    for group_id, analysis in each_history(inputs, window, anonymous=anonymous):
        ids.append(group_id)
        try:
            yield read_question(analysis, [requested] if requested else None, own)
        except (UnplayableError, SettingError) as error:
            refusals.append((analysis.group_id, error))
    for pattern in window.groups:
        if not any(selects(pattern, group_id) for group_id in ids):
            refusals.append((pattern, UnplayableError(f"group {pattern} is not in these sources")))


def settings_of(texts: tuple[str, ...], option: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"{option} expects NAME=VALUE, got {text!r}")
        if settings.get(name.strip(), value.strip()) != value.strip():
            raise click.UsageError(
                f"{option} {name.strip()} has two values: {settings[name.strip()]} and {value.strip()}"
            )
        settings[name.strip()] = value.strip()
    return settings


def _write_report(path: Path, outcome: Outcome) -> None:
    from kohort.whatif.html_report import html_report

    page = html_report(outcome.answers, {group: str(error) for group, error in outcome.refusals})
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(visible(f"cannot write {path}: {error.strerror}")) from None
    say(f"wrote {path}", err=True)


def _print_json(outcome: Outcome, *, as_list: bool) -> None:
    rows = [answer.as_json() for answer in outcome.answers]
    rows += [{"group": group, "error": str(error)} for group, error in outcome.refusals]
    rows.sort(key=lambda row: row["group"])
    for line in json.dumps(rows if as_list else rows[0], indent=1).splitlines():
        say(line)


def _print_refusals(outcome: Outcome) -> bool:
    """Print why nothing is predicted for some groups. Return whether there are such groups."""
    from kohort.whatif.played_settings import SettingError

    for group, error in outcome.refusals:
        say(f"Error: {f'group {group}: ' if isinstance(error, SettingError) else ''}{error}", err=True)
    irreproducible = [answer for answer in outcome.answers if not answer.calibration.is_good]
    for answer in irreproducible:
        failures = "; ".join(answer.calibration.failures)
        say(
            f"Error: cannot predict group {answer.group}: the play does not reproduce the history: {failures}", err=True
        )
        if answer.question.additions:
            say(f"add {'; '.join(answer.question.additions)}", err=True)
    return bool(outcome.refusals or irreproducible)


def _print(answers: Sequence[Answer]) -> None:
    for number, answer in enumerate(answers):
        if number:
            say()
        _print_answer(answer)


def _print_answer(answer: Answer) -> None:
    from kohort.whatif.answer import FIGURES, text_timeline

    observed, played = answer.calibration.observed, answer.calibration.played
    verdict = "reproduces the history" if answer.calibration.is_good else "does not reproduce the history"
    say(f"group {answer.group}: the play under its own settings {verdict}")
    for name in observed:
        suffix = "" if name == "rebalances" else " (by commits)"
        say(f"  {FIGURES[name] + suffix:46} observed {observed[name]:8.1f}   played {played[name]:8.1f}")
    say()
    say("read from the history")
    for source in answer.sources:
        rule = f" ({source.rule})" if source.rule else ""
        say(f"  {source.origin:9} {source.element}: {source.value}{rule}")
    if not answer.calibration.is_good:
        return
    end_ms = max(variant.script.end_ms for variant in answer.variants)
    for variant in answer.best_variants():
        effort = f", effort {variant.effort}" if answer.question.is_suggesting else ""
        predicted = answer.predictions[variant.name]
        say()
        say(f"{variant.name}{effort}")
        for name, title in FIGURES.items():
            low, high = predicted.ranges[name]
            say(f"  {title:46} {predicted.figures[name]:8.1f}   range {low:.1f} to {high:.1f}")
        say(f"  {'time to notice a crash, s':46} {variant.settings.crash_notice_s:8.1f}")
        for line in text_timeline(predicted.example, len(answer.script.arrivals), answer.script.begins_ms, end_ms):
            say(f"  {line}")
    say()
    say(f"assumptions: {'; '.join(answer.assumptions())}")
