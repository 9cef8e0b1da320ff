"""Summary at the end of the demo, the same in both views: a table of the acts, and the checks."""

from __future__ import annotations

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kohort.demo.acts import Outcome
from kohort.demo.verdict import Check

WIDTH = 118  # columns if the output is not a terminal


def show(console: Console, outcomes: list[Outcome], checks: list[Check], took_s: float) -> None:
    console.print(acts_table(outcomes))
    for check in checks:
        _show_check(console, check)
    console.print(Text(f"{took_s:.0f} s"), style="dim")


def show_analysis(console: Console, checks: list[Check], lines: list[str], report: Path) -> None:
    """Print the result of the analysis of the play's own logs."""
    for text in lines:
        console.print(Text(text), soft_wrap=True)
    for check in checks:
        _show_check(console, check)
    if report.is_file():
        console.print(Text(f"report: {report}"), soft_wrap=True)
        console.print(
            Text(f"look at it in a browser: python3 -m webbrowser {report.resolve().as_uri()}"), soft_wrap=True
        )


def _show_check(console: Console, check: Check) -> None:
    console.print(Text("ok    " if check.holds else "FAIL  ", "green" if check.holds else "bold red"), end="")
    console.print(Text(check.text), soft_wrap=True)


def acts_table(outcomes: list[Outcome]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("act", overflow="fold", ratio=1)
    for heading in ("rebalances", "none read", "a partition unread"):
        table.add_column(heading, justify="right")
    for number, outcome in enumerate(outcomes, 1):
        title = Text(f"{number} {outcome.title}", "bold red" if outcome.problem else "bold")
        table.add_row(
            Text.assemble(title, f"\n  {outcome.headline}"),
            str(outcome.rebalances),
            f"{outcome.nobody_s:.1f} s",
            f"{outcome.partition_s:.1f} s",
        )
    return table
