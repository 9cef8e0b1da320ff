"""Picture of cost curves: a panel for each cost, a line for each program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

COLUMNS = 3
WIDTH_IN, HEIGHT_IN = 4.0, 2.8  # of one panel


class Curve(NamedTuple):
    """One line of a panel."""

    axis: str  # quantity that grows
    cost: str
    program: str
    points: Sequence[tuple[int, float]]
    right: bool  # False if a response was wrong during the measurement


def draw(curves: Sequence[Curve], to: Path) -> None:
    """Write the picture in the format of the file extension."""
    import matplotlib as mpl  # half a second, which each process of a test run would wait for
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    panels: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        panels.setdefault((curve.axis, curve.cost), []).append(curve)
    rows = -(-len(panels) // COLUMNS)
    # The same values make the same bytes: ids of shapes from a salt, and no date.
    with mpl.rc_context({"font.size": 9, "svg.hashsalt": "kohort", "svg.fonttype": "none"}):
        figure = Figure(figsize=(COLUMNS * WIDTH_IN, rows * HEIGHT_IN), layout="constrained")
        for number, ((axis, cost), lines) in enumerate(panels.items(), 1):
            panel = figure.add_subplot(rows, COLUMNS, number)
            panel.set_title(cost, loc="left")
            panel.set_xlabel(axis)
            panel.set_xscale("log")
            if cost.endswith("ms"):  # cost grows with the quantity: a straight line rises by one decade in each
                panel.set_yscale("log")
                panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                panel.yaxis.set_minor_locator(NullLocator())
            sizes = [size for size, _ in lines[0].points]
            panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
            panel.xaxis.set_minor_locator(NullLocator())
            panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
            for line in lines:
                panel.plot(*zip(*line.points, strict=True), marker="o", label=line.program)
            if panel.get_yscale() == "linear":
                panel.set_ylim(0, 1.1 * max(value for line in lines for _, value in line.points))
            panel.grid(alpha=0.3)
            if len(lines) > 1:
                panel.legend(frameon=False)
        to.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(to, metadata={"Date": None} if to.suffix == ".svg" else None)


def write(curves: Sequence[Curve], to: Path) -> None:
    """Save the values, so that the picture can be drawn again."""
    to.write_text(json.dumps([curve._asdict() for curve in curves], indent=1, ensure_ascii=False) + "\n")


def read(kept: Path) -> list[Curve]:
    return [Curve(**values) for values in json.loads(kept.read_text())]
