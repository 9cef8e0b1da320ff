"""`python -m benchmarks`: measures speed and size of kohort on this machine, and checks every response."""

import asyncio
import gc
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from itertools import product
from pathlib import Path
from time import monotonic

import click
import uvloop
from rich.console import Console

from benchmarks.bench import Bench
from benchmarks.connection import LOST, allow_many_sockets
from benchmarks.failures import UnmeasurableError
from benchmarks.measurements import MEASUREMENTS, chosen
from benchmarks.report import Result, as_json, number, right, show

OTHER = ", other"  # added to the names of measurements of the program given by --with

LIMIT_S = 120  # seconds for one measurement in one round


@click.command(epilog="Names: " + ", ".join(MEASUREMENTS) + ". A first word selects all that begin with it.")
@click.argument("names", nargs=-1)
@click.option("--rounds", default=None, type=click.IntRange(1), help="Number of rounds (3; with --quick 1).")
@click.option("--quick", is_flag=True, help="Shorter and smaller: a test of the benchmarks rather than figures.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the figures of every round there.")
@click.option(
    "--with",
    "other",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Another `kohort`, such as that of an older checkout's environment, measured in turns with this one.",
)
@click.option("--serve", "arguments", default="", metavar="ARGUMENTS", help="Further arguments of `kohort serve`.")
def main(
    names: tuple[str, ...], rounds: int | None, quick: bool, json_file: Path | None, other: Path | None, arguments: str
) -> None:
    """Measure kohort with a load generator that checks every response.

    Server and load generator share the machine. Exit code 1: the server returned a wrong response.
    """
    try:
        selection = chosen(names)
    except KeyError as unknown:
        raise click.UsageError(f"unknown measurement {unknown}; expected one of: {', '.join(MEASUREMENTS)}") from None
    allow_many_sockets()
    # SIGINT may be ignored in a background job, and SIGTERM must stop the servers, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    results: list[Result] = []
    stopped = False
    try:
        measure_all(selection, rounds or (1 if quick else 3), quick, shlex.split(arguments), other, results)
    except KeyboardInterrupt:
        stopped = True
        print("\nstopped", file=sys.stderr)
    if results:
        show(results, Console())
        if json_file is not None:
            json_file.write_text(as_json(results) + "\n", encoding="utf-8")
    sys.exit(130 if stopped else 0 if right(results) else 1)


def measure_all(
    selection: list[str], rounds: int, quick: bool, arguments: list[str], other: Path | None, results: list[Result]
) -> None:
    """Run all measurements in turns in each round, so that noise affects all alike."""
    start = monotonic()
    programs = [None] if other is None else [None, other]
    for round_, name, program in product(range(1, rounds + 1), selection, programs):
        console = name if program is None else f"{name}{OTHER}"
        print(
            f"{monotonic() - start:4.0f} s  round {round_}/{rounds}  {console:17}", end="", file=sys.stderr, flush=True
        )
        bench = Bench(quick=quick, arguments=arguments, kohort=program)
        result = measure(name, round_, bench, MEASUREMENTS[name])
        result.name = console
        results.append(result)
        print(summary(result), file=sys.stderr, flush=True)


def measure(
    name: str, round_: int, bench: Bench, measurement: Callable[[Bench], Awaitable[None]], limit_s: float = LIMIT_S
) -> Result:
    """Run one measurement in an event loop of its own."""
    result = Result(name, round_, bench.figures, bench.failures)

    async def limited() -> None:
        await asyncio.wait_for(measurement(bench), limit_s)

    gc.collect()
    gc.freeze()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(limited())
    except UnmeasurableError as problem:
        result.error = str(problem)
    except asyncio.CancelledError:
        result.error = LOST
    except TimeoutError:
        result.error = f"it took longer than {limit_s:g} s"
    result.others_percent = bench.others_percent
    return result


def summary(result: Result) -> str:
    if result.error:
        return f"not measured: {result.error}"
    parts = ", ".join(f"{f.title} {number(f.value)} {f.unit}".strip() for f in result.figures[:3])
    wrong = sum(result.failures.counts.values())
    return parts + (f"; {wrong} FAILURES" if wrong else "")


if __name__ == "__main__":
    main()
