"""`kohort what-if`: predicts what the history of a group would have cost under other settings."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kohort.base.visible import visible
from kohort.cli.analyze_errors import plain
from kohort.cli.analyze_options import anonymize_option, window_of
from kohort.cli.connecting import config_option, security_of
from kohort.cli.output import say

if TYPE_CHECKING:
    from kohort.client.security import Security
    from kohort.pipeline.history.group_analysis import GroupAnalysis
    from kohort.pipeline.sources.window import Window
    from kohort.whatif.suggest import Prediction


@click.command("what-if")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option("--group", required=True, metavar="NAME", help="The group whose history is played.")
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
    help="A setting that the group has, if the logs do not contain it, such as heartbeat.interval.ms=1000 or "
    "client.library=librdkafka. Repeatable.",
)
@click.option("--suggest", is_flag=True, help="Try a bounded set of changes and print those that no other one beats.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
    group: str,
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
    """Predict what the history of a group would have cost under other settings.

    SOURCE: as for kohort analyze. The members' starts, stops, crashes and pauses and the arrivals of records are read
    from the history. They are played on the broker's own coordinator with model clients, first under the settings that
    the group had. If that does not reproduce the history, nothing is predicted.

    Exit code 0: a prediction was printed; 1: no prediction is possible, for the printed reason; 2: the command line is
    wrong, or a setting does not exist, does not apply to the group, or contradicts another one.
    """
    gc.enable()
    requested, own = settings_of(changes, "--set"), settings_of(given_settings, "--given")
    if suggest == bool(requested):
        raise click.UsageError(
            "name changes with --set, or use --suggest" if not suggest else "--suggest cannot be combined with --set"
        )
    window, security = window_of(since, until, last, (group,)), security_of(config)
    try:
        analysis = read_one_history(sources, group, security, window, anonymous=anonymize)
        prediction = predict(analysis, requested, own)
    except click.ClickException:
        raise
    except Exception as error:  # pyarrow's and the sources' failures have many types
        raise click.ClickException(visible(plain(error, with_spark=False))) from None
    if report is not None:
        _write_report(report, prediction)
    if as_json:
        for line in json.dumps(prediction.as_json(), indent=1).splitlines():
            say(line)
    else:
        _print(prediction)
    calibration = prediction.answer.calibration
    if not calibration.is_good:
        failures = "; ".join(calibration.failures)
        say(f"Error: cannot predict: the play does not reproduce the history: {failures}", err=True)
        if additions := prediction.answer.additions:
            say(f"add {'; '.join(additions)}", err=True)
        sys.exit(1)


def predict(analysis: GroupAnalysis, requested: dict[str, str], own: dict[str, str]) -> Prediction:
    """Predict the cost of the requested changes, or of suggested ones if `requested` is empty.

    Raises:
        click.ClickException: The history cannot be played.
        click.UsageError: A setting is invalid.
    """
    from kohort.whatif import suggest
    from kohort.whatif.extract import UnplayableError
    from kohort.whatif.played_settings import SettingError

    try:
        return suggest.predict(analysis, requested, own)
    except UnplayableError as error:
        raise click.ClickException(visible(str(error))) from None
    except SettingError as error:
        raise click.UsageError(visible(str(error))) from None


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


def read_one_history(
    sources: tuple[str, ...], group: str, security: Security, window: Window, *, anonymous: bool = False
) -> GroupAnalysis:
    """Return the history of a group. Raise ClickException if the sources do not contain it."""
    from kohort.pipeline.silver.read_sources import find_expanded
    from kohort.whatif.group_history import read_history

    inputs, issues = find_expanded(sources, security)
    for issue in issues:
        say(f"{issue.keys}: {issue.detail}", err=True)
    if not inputs:
        raise click.ClickException("nothing to read: no source can be read")
    histories = read_history(inputs, {group}, window, anonymous=anonymous)
    if group not in histories:
        raise click.ClickException(visible(f"group {group} is not in these sources"))
    return histories[group]


def _write_report(path: Path, prediction: Prediction) -> None:
    from kohort.whatif.html_report import html_report

    try:
        path.write_text(html_report(prediction.answer, prediction.variant_names, prediction.efforts), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(visible(f"cannot write {path}: {error.strerror}")) from None
    say(f"wrote {path}", err=True)


def _print(prediction: Prediction) -> None:
    from kohort.whatif.answer import ASSUMPTIONS, FIGURES, crash_notice_s, text_timeline

    answer = prediction.answer
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
    for variant in answer.variants:
        if variant.name not in prediction.variant_names:
            continue
        effort = f", effort {prediction.efforts[variant.name]}" if variant.name in prediction.efforts else ""
        predicted = answer.predictions[variant.name]
        say()
        say(f"{variant.name}{effort}")
        for name, title in FIGURES.items():
            low, high = predicted.ranges[name]
            say(f"  {title:46} {predicted.figures[name]:8.1f}   range {low:.1f} to {high:.1f}")
        say(f"  {'time to notice a crash, s':46} {crash_notice_s(variant.settings):8.1f}")
        for line in text_timeline(predicted.example, len(answer.script.arrivals), answer.script.begins_ms, end_ms):
            say(f"  {line}")
    say()
    say(f"assumptions: {ASSUMPTIONS}")
