"""Report: the printed table, and the JSON of `--json`."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.bench import Figure
from benchmarks.failures import Failures
from benchmarks.server import machine_s

NOISY_PERCENT = 10


@dataclass
class Result:
    """One measurement in one round."""

    name: str
    round: int
    figures: list[Figure]
    failures: Failures = field(default_factory=Failures)
    others_percent: float = 0.0
    error: str = ""  # reason for missing figures


def right(results: Sequence[Result]) -> bool:
    """Return whether all measurements succeeded without failures."""
    return not any(result.failures.counts or result.error for result in results)


def rows(results: Sequence[Result]) -> list[tuple[str, str, str, list[float]]]:
    """Return measurement, figure, unit and the values of all rounds, in the order of the first measurement."""
    figures: dict[tuple[str, str, str], list[float]] = {}
    for result in results:
        for figure in result.figures:
            figures.setdefault((result.name, figure.title, figure.unit), []).append(figure.value)
    order = {name: number for number, name in enumerate(dict.fromkeys(result.name for result in results))}
    return [(*key, values) for key, values in sorted(figures.items(), key=lambda item: order[item[0][0]])]


def show(results: Sequence[Result], console: Console) -> None:
    """Print the table, the failures and the noise."""
    rounds = len({result.round for result in results})
    title = f"kohort, {rounds} round{'s' if rounds > 1 else ''}, {machine()}"
    table = Table(title=title, title_justify="left", title_style="", box=None, pad_edge=False)
    for heading in ("measurement", "figure"):
        table.add_column(heading)
    for heading in ("median", "lowest", "highest"):
        table.add_column(heading, justify="right")
    table.add_column("")
    last = ""
    for name, figure, unit, values in rows(results):
        if last and name != last:
            table.add_row()
        result_table = [number(value) for value in (median(values), min(values), max(values))]
        table.add_row("" if name == last else name, figure, f"[bold]{result_table[0]}[/]", *result_table[1:], unit)
        last = name
    console.print(table)
    show_failures(results, console)
    noisiest = max((result.others_percent for result in results), default=0)
    if noisiest >= NOISY_PERCENT:
        console.print(
            f"[yellow]Other work took up to {noisiest:.0f} % of the machine meanwhile: distrust these figures.[/]"
        )
    if machine_s() is None:
        console.print("Memory, processor time and noise are only measured where there is a /proc.")


def show_failures(results: Sequence[Result], console: Console) -> None:
    for name in dict.fromkeys(result.name for result in results):
        failures = Failures()
        for result in results:
            if result.name == name:
                failures.include(result.failures)
                if result.error:
                    console.print(f"[red]{name}: not measured: {escape(result.error)}[/]", soft_wrap=True)
        for kind, count in failures.counts.items():
            example = failures.examples[kind]
            failure_table = f" ({escape(example)})" if example else ""
            console.print(f"[red]{name}: {count} x {escape(kind)}[/]{failure_table}", soft_wrap=True)
    if right(results):
        console.print("No failure: every reply was right.")


def as_json(results: Sequence[Result]) -> str:
    return json.dumps(
        {
            "machine": machine(),
            "results": [
                {
                    "name": result.name,
                    "round": result.round,
                    "figures": [vars(figure) for figure in result.figures],
                    "failures": dict(result.failures.counts),
                    "examples": result.failures.examples,
                    "others_percent": round(result.others_percent, 1),
                    "error": result.error,
                }
                for result in results
            ],
        },
        indent=1,
    )


def machine() -> str:
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        model = next((line.partition(":")[2] for line in cpuinfo.read_text().splitlines() if "model name" in line), "")
    name = model.strip() or platform.machine()
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {name}, {platform.system()}"


def number(value: float) -> str:
    """Format a value with at most three significant digits."""
    if value >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.3g}"
