"""Output of the command: findings on stdout, progress on stderr, colours on terminals only."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest
from click.testing import CliRunner

from kohort.cli.analyze import analyze
from kohort.cli.analyze_options import exit_code
from kohort.cli.follow import follow as follow_command
from kohort.pipeline import terminal
from kohort.pipeline.analysis.analysis_run import Outcome
from kohort.pipeline.report.all_clear import SOURCES
from kohort.pipeline.sources.found import Source
from tests.pipeline.report_rows import finding, health, issue

SLOW = finding()
SKEW = finding(group="views", rule="R19", severity="warning", text="lag piles up", evidence={})
NOTE = finding(rule="R17", severity="info", text="a slow start", evidence={})
OUTCOME = Outcome([SLOW, NOTE, SKEW], [health("calm", 1)], [], None)

WITH_SPARK = ("--engine", "spark", "127.0.0.1:1", "--metrics-port", "0")


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def printed(outcome: Outcome, capsys: pytest.CaptureFixture[str], *, verbose: bool = False) -> str:
    terminal.print_findings(outcome, verbose)
    return capsys.readouterr().out


def test_findings_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(OUTCOME, capsys)
    assert "!! orders: 2 stops, 61.0 s without consumption, all waiting for client c-1\n" in out
    assert "      R01 One slow member stalled the group (critical, certain)\n" in out
    assert "         Look at what c-1 does.\n" in out
    assert out.count("lag piles up") == 1, "said in the headline, so not again"
    assert "slow start" not in out
    assert "Nothing serious in 1 group from 1970-01-01 00:00:00 to 1970-01-01 23:59:59 UTC: calm\n" in out
    assert "\x1b" not in out


def test_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(OUTCOME, capsys, verbose=True)
    assert "a slow start" in out
    assert "   calm: healthy; 1 rebalance" in out


def test_unread_input_may_hide_findings(capsys: pytest.CaptureFixture[str]) -> None:
    unread = issue("unreadable_line", "3 lines with 'Stabilized' have an unknown format")
    out = printed(Outcome([SKEW], [health("calm", 1)], [unread], None), capsys)
    assert "Health unknown for 1 group: nothing serious was found from 1970-01-01 00:00:00 to" in out
    assert "   - some of the input could not be read" in out
    assert "Nothing serious" not in out


def test_missing_sources_are_named() -> None:
    (option,) = [param for param in analyze.params if param.name == "without"]
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == SOURCES


@pytest.mark.parametrize(
    ("differs", "source", "text"),
    [
        ({"has_records": False}, "offsets-topic", "the offsets topic is missing"),
        ({"sampled_share": 0.2}, "log-ends", "were not sampled for most of the time"),
        ({"has_events": False}, "broker-log", "broker logs and event logs are missing"),
        ({"unknown_members": 2}, None, "in calm members are known by their ids only"),
    ],
)
def test_nothing_serious_needs_every_source(
    capsys: pytest.CaptureFixture[str], differs: dict[str, Any], source: str | None, text: str
) -> None:
    outcome = Outcome([], [health("calm", 1, **differs)], [], None)
    out = printed(outcome, capsys)
    assert "Health unknown for 1 group" in out
    assert text in out
    assert exit_code(outcome, "critical", ()) == 4
    assert exit_code(outcome, "critical", [source or ""]) == (4 if source is None else 0)


def test_ci_prints_empty_result() -> None:
    assert exit_code(Outcome([], [], [], None), "critical", ()) == 4
    assert exit_code(Outcome([], [], [], None), None, ()) == 0


def test_data_problems_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    issues = [issue("clock_step", "back by 5 ms", group=f"g-{n}") for n in range(11)]
    outcome = Outcome([], [], issues, None)
    out = printed(outcome, capsys)
    assert "Data quality: 11 issues\n   clock_step g-0: back by 5 ms\n" in out
    assert "and 3 more: in the report, or with --verbose" in out
    assert "g-10" in printed(outcome, capsys, verbose=True)
    assert "No groups found" in out


def test_common_remark_hides_no_rare_one(capsys: pytest.CaptureFixture[str]) -> None:
    issues = [issue("time_zone", "2:00 h ahead", group=f"g-{n}") for n in range(40)]
    issues.append(issue("unreadable_file", "permission denied", keys="a.log"))
    assert "41 issues\n   unreadable_file a.log: permission denied\n" in printed(Outcome([], [], issues, None), capsys)


def test_names_command_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    nasty = "a\x1b[2J\nb\x9b\u202e"
    found = finding(group=nasty, clients=[nasty], text=f"the group waited for {nasty}")
    calm = health(f"calm {nasty}", 1)
    issues = [issue("clock_step", nasty, keys=nasty)]
    terminal.say(f"\nreading {nasty}\nmore")
    assert capsys.readouterr().err == "\nreading a\\u001b[2J\\nb\\u009b\\u202e\\nmore\n"
    told_all = printed(Outcome([found], [calm], issues, None), capsys)
    assert told_all.count("a\\u001b[2J\\nb\\u009b\\u202e") == 6
    assert not {"\x1b", "\x9b", "\u202e"} & set(told_all)


def test_colours_where_they_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", screen)
    terminal.print_findings(OUTCOME, False)
    assert "\x1b[31m" in screen.getvalue()
    assert max(len(click.unstyle(line)) for line in screen.getvalue().splitlines()) <= 110
    plain = Screen()
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", plain)
    terminal.print_findings(OUTCOME, False)
    assert "\x1b" not in plain.getvalue()


def test_clock_runs_on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(terminal, "_TICK_S", 0.001)
    with terminal.progress(lambda: ", 3 of 7 tasks") as say:
        say("reading …")
        deadline = time.monotonic() + 60
        while " s, 3 of 7 tasks" not in screen.getvalue():
            assert time.monotonic() < deadline
        say("read 5 records")
    assert screen.getvalue().endswith("\r\x1b[Kread 5 records\n\r\x1b[K")


def test_clock_survives_spark() -> None:
    class Tracker:
        def getActiveStageIds(self) -> list[int]:  # noqa: N802  (Spark's name)
            raise ConnectionError("the Java process is gone")

    class Context:
        def statusTracker(self) -> Tracker:  # noqa: N802
            return Tracker()

    class Session:
        sparkContext = Context()  # noqa: N815

    assert terminal.spark_tasks(cast("Any", Session()))() == ""


def test_plain_terminal_has_no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "dumb")
    with terminal.progress() as say:
        say("reading …")
    assert screen.getvalue() == "reading …\n"


def test_no_clock_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.progress(lambda: "never asked") as say:
        say("reading …")
        say("read 5 records")
    assert capsys.readouterr().err == "reading …\nread 5 records\n"


def test_sources_are_counted() -> None:
    found = [Source("segment", "a"), Source("segment", "b"), Source("text_log", "c"), Source("wire", "d:1", 7)]
    assert terminal.words(found) == "2 segment files, 1 broker's log, 1 partition of a running cluster"


def test_help_lists_outputs() -> None:
    result = CliRunner().invoke(analyze, ["--help"])
    assert result.exit_code == 0
    for words in ("--command-config FILE", "Exit code 0", "130: interrupted"):
        assert words in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "Missing argument"),
        (["/nowhere/at/all"], 1, "nothing to analyse"),
        (["--follow", "b:9092"], 2, "kohort follow HOST:9092"),
        (["--command-config", "/nowhere/at/all", "b:9092"], 2, "does not exist"),
        (["--last", "2 weeks", "b:9092"], 2, "invalid duration '2 weeks'"),
        (["--since", "yesterday", "b:9092"], 2, "'yesterday' is not a time"),
        (["--since", "15:00", "--until", "14:00", "b:9092"], 2, "--since is later than --until"),
        (["--last", "2h", "--until", "14:00", "b:9092"], 2, "--last cannot be combined with --since"),
        (["--fail-on", "info", "b:9092"], 2, "is not one of 'warning', 'critical'"),
    ],
)
def test_impossible_options(arguments: list[str], code: int, words: str) -> None:
    result = CliRunner().invoke(analyze, arguments)
    assert result.exit_code == code
    assert words in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["/nowhere/at/all"], "expected one bootstrap address"),
        (["b:9092", "c:9092"], "expected one bootstrap address"),
        (["b:9092", "/nowhere/at/all"], "/nowhere/at/all: no such file"),
        (["--webhook", "h/x", "b:9092"], "'h/x' is not a webhook address"),
        (["--every", "2 weeks", "b:9092"], "--every: invalid duration '2 weeks'"),
        (["--cluster", "local[2]", "b:9092"], "--cluster requires --engine spark"),
        (["--out", "s3://bucket/x", "b:9092"], "kohort follow requires a folder"),
    ],
)
def test_impossible_options_of_follow(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(follow_command, arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output


def test_unrecognized_source_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-11-20 22:17:43,630] INFO [GroupCoordinator id=2]: unheard of (kafka.X)\n")
    remark = issue("nothing_read", "nothing in it was understood; for example: unheard of", keys=str(log))
    outcome = Outcome([], [], [remark], None)
    monkeypatch.setattr("kohort.pipeline.analysis.analysis_run.analyse", lambda *_, **_options: outcome)
    result = CliRunner().invoke(analyze, [str(log), "--out", str(tmp_path / "out")])
    assert result.exit_code == 1, result.output
    assert f"! {log}: nothing in it was understood; for example: unheard of" in result.output


@pytest.mark.parametrize(
    ("severity", "asked", "remark", "code"),
    [
        ("warning", "warning", "time_zone", 3),
        ("critical", "warning", "unreadable_line", 3),
        ("warning", "critical", "time_zone", 0),
        ("info", "warning", "events_only", 0),
        ("info", "warning", "unreadable_line", 4),
        ("warning", "critical", "undecoded_records", 4),
    ],
)
def test_ci_may_fail_on_findings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, severity: str, asked: str, remark: str, code: int
) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-11-20 22:17:43,630] INFO [GroupCoordinator id=2]: unheard of (kafka.X)\n")
    outcome = Outcome([finding(severity=severity)], [health("orders", 1)], [issue(remark, "of the data")], None)
    windows: list[Any] = []

    def analysed(*arguments: Any, **_options: Any) -> Outcome:
        windows.append(arguments[-1])
        return outcome

    monkeypatch.setattr("kohort.pipeline.analysis.analysis_run.analyse", analysed)
    arguments = [str(log), "--out", str(tmp_path / "out"), "--fail-on", asked, "--last", "1h", "--group", "orders-*"]
    result = CliRunner().invoke(analyze, arguments)
    assert result.exit_code == code, result.output
    (window,) = windows
    assert window.groups == ("orders-*",)
    assert abs(window.since_ms - (time.time() - 3_600) * 1000) < 60_000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("java_is_gone", [False, True])
def test_following_ends_on_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: signal.Signals, java_is_gone: bool
) -> None:
    class Spark:
        def stop(self) -> None:
            if java_is_gone:
                raise ConnectionRefusedError(111, "Connection refused")

    def started(_: str | None) -> Spark:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # as PySpark does
        return Spark()

    def follow(*_: Any, until: Callable[[], bool], **__: Any) -> None:
        os.kill(os.getpid(), number)
        assert until()
        if java_is_gone:
            raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr("kohort.pipeline.session.spark_session", started)
    monkeypatch.setattr("kohort.pipeline.job.stream_follower.follow", follow)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    result = CliRunner().invoke(follow_command, [*WITH_SPARK, "--out", str(tmp_path)])
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert result.exit_code == 0, result.output
    assert "refused" not in result.output


def test_asked_again_following_ends_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def follow(*_: Any, **__: Any) -> None:
        for _again in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("it hangs")

    monkeypatch.setattr("kohort.cli.follow.AGAIN_S", 0.0)
    monkeypatch.setattr("kohort.pipeline.session.spark_session", lambda _: SimpleNamespace(stop=lambda: None))
    monkeypatch.setattr("kohort.pipeline.job.stream_follower.follow", follow)
    result = CliRunner().invoke(follow_command, [*WITH_SPARK, "--out", str(tmp_path)])
    assert result.exit_code == 130, result.output


def test_unusable_output_folder(tmp_path: Path) -> None:
    def tried(*arguments: str) -> str:
        result = CliRunner().invoke(analyze, list(arguments))
        assert result.exit_code == 1
        assert "Traceback" not in result.output
        return result.output

    log = tmp_path / "server.log"
    log.write_text("[2026-11-21 10:00:00,000] INFO [GroupCoordinator id=1] (kafka)\n")
    assert f"--out {log}: expected a folder, but a file exists there" in tried(str(log), "--out", str(log))
    assert "a file exists there" in tried(str(log), "--out", str(log / "below"))
    (tmp_path / "followed" / "checkpoints").mkdir(parents=True)
    assert "contains data collected by kohort follow" in tried(str(log), "--out", str(tmp_path / "followed"))
    (tmp_path / "analysed" / "tables" / "silver").mkdir(parents=True)
    result = CliRunner().invoke(follow_command, [*WITH_SPARK, "--out", str(tmp_path / "analysed")])
    assert "contains an analysis, not data of kohort follow" in result.output


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kohort.cli.analyze._run", interrupted)
    result = CliRunner().invoke(analyze, ["/nowhere"])
    assert result.exit_code == 130
    assert "no report was written" in result.output
