"""`python -m benchmarks.curves PICTURE`: draws the cost of one more group, connection or member."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from time import monotonic
from typing import NamedTuple

import click

from benchmarks.__main__ import measure
from benchmarks.bench import Bench
from benchmarks.connection import allow_many_sockets
from benchmarks.curve_picture import Curve, draw, read, write
from benchmarks.measurements import heartbeat, many_groups, rebalance

LIMIT_S = 600  # seconds for one measurement, which may have to create a hundred thousand groups


class Growth(NamedTuple):
    """Quantity that grows."""

    axis: str
    sizes: tuple[int, ...]
    at: Callable[[int], Callable[[Bench], Awaitable[None]]]  # the measurement at a size
    figures: dict[str, str]  # title of a figure: its name in the picture


def _leaving(members: int) -> Callable[[Bench], Awaitable[None]]:
    return partial(rebalance.measure, members=members, times=3)


GROWTHS = (
    Growth(
        "groups of one member",
        (1_000, 3_000, 10_000, 30_000, 100_000),
        lambda size: partial(many_groups.measure, groups=size),
        {
            "memory per group": "memory of a group, KiB",
            "heartbeat, server CPU": "a heartbeat, µs",
            "commit, server CPU": "an OffsetCommit, µs",
        },
    ),
    Growth(
        "connections, one member on each",
        (100, 300, 1_000, 3_000, 10_000),
        lambda size: partial(heartbeat.measure, connections=size, in_flight=1),
        {"server CPU": "a heartbeat, µs"},
    ),
    Growth("members of one group", (100, 300, 1_000, 2_000, 5_000), _leaving, {"leave, server CPU": "one leaves, ms"}),
)


@click.command()
@click.argument("picture", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1), help="How often all is measured.")
@click.option("--quick", is_flag=True, help="The two smallest sizes only: whether all works.")
@click.option(
    "--compiled", type=click.Path(path_type=Path, exists=True), help="A compiled `kohort`, in turn with this one."
)
@click.option("--values", type=click.Path(path_type=Path, dir_okay=False), help="Keeps the medians, as JSON.")
@click.option("--redraw", is_flag=True, help="Draws the values of --values again, and measures nothing.")
def main(picture: Path, rounds: int, quick: bool, compiled: Path | None, values: Path | None, redraw: bool) -> None:
    """Measure what one more group, connection or member costs the server, and draw it.

    Exit code 1: the server returned a wrong response.
    """
    if redraw:
        if values is None:
            raise click.UsageError("--redraw needs --values FILE")
        draw(read(values), picture)
        return
    allow_many_sockets()
    programs = {"plain Python": None} | ({"compiled": compiled} if compiled is not None else {})
    try:
        curves = list(_measured(programs, rounds, quick))
    except KeyboardInterrupt:
        print("\nstopped; nothing is drawn", file=sys.stderr)
        sys.exit(130)
    if values is not None:
        write(curves, values)
    draw(curves, picture)
    sys.exit(0 if all(curve.right for curve in curves) else 1)


def _measured(programs: dict[str, Path | None], rounds: int, quick: bool) -> Iterator[Curve]:
    """Yield a curve for each figure and program. At each size all programs are measured in turn."""
    start = monotonic()
    for growth in GROWTHS:
        figures: dict[tuple[str, str], dict[int, list[float]]] = {}
        right = True
        sizes = growth.sizes[:2] if quick else growth.sizes
        for size, round_, (program, kohort) in product(sizes, range(1, rounds + 1), programs.items()):
            name = f"{size:,} {growth.axis}"
            print(f"{monotonic() - start:4.0f} s  round {round_}/{rounds}  {name}, {program}", file=sys.stderr)
            result = measure(name, round_, Bench(kohort=kohort), growth.at(size), LIMIT_S)
            if result.error or result.failures.counts:
                right = False
                print(f"        {result.error or dict(result.failures.counts)}", file=sys.stderr)
            for figure in result.figures:
                if figure.title in growth.figures:
                    at = figures.setdefault((figure.title, program), {})
                    at.setdefault(size, []).append(figure.value)
        for (title, program), at in figures.items():
            points = [(size, median(values)) for size, values in at.items()]
            yield Curve(growth.axis, growth.figures[title], program, points, right)


if __name__ == "__main__":
    main()
