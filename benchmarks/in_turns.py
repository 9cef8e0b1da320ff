"""`python -m benchmarks.in_turns`: kohort beside kfake, each for less than a second at a time, again and again.

A machine that others share changes its speed from one second to the next: what is measured a minute apart can't be
compared. Here servers stay up, all but one of them stopped (SIGSTOP), and take turns in another order each round. What
counts is the median of the ratios within a round. The load is that of `groupload`, which is in `../shared/bench`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from random import Random
from shlex import split
from statistics import median, quantiles
from time import sleep
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from benchmarks.connection import allow_many_sockets
from benchmarks.failures import Failures, UnmeasurableError
from benchmarks.kfake_peer import kfake
from benchmarks.report import number
from benchmarks.server import Server, command
from tests.clients.libraries import Missing, fresh_folder, run

SETTINGS = (
    "--set group.initial.rebalance.delay.ms=0 --set group.min.session.timeout.ms=100 --set num.partitions=4 "
    "--log-level warning"
)
PEER = "kfake"
WAKES_S = 0.15
"""Until a server that was stopped has done what is due."""

COMMITS = ("commit_1", "commit_20", "fetch_1", "fetch_20")
LOADS: dict[str, tuple[str, dict[str, str]]] = {
    "heartbeat 64x1": ("heartbeat -conns 64 -duration 700ms -warmup 200ms", {"requests_per_s": "requests, /s"}),
    "heartbeat 64x16": (
        "heartbeat -conns 64 -pipeline 16 -duration 600ms -warmup 200ms",
        {"requests_per_s": "requests, /s"},
    ),
    "heartbeat 1000x1": ("heartbeat -conns 1000 -duration 900ms -warmup 300ms", {"requests_per_s": "requests, /s"}),
    "commit 16": (
        "commit -conns 16 -duration 600ms -warmup 200ms",
        {f"{phase}.requests_per_s": f"{phase}, /s" for phase in COMMITS}
        | {f"{phase}.use.server_us_per_request": f"{phase}, CPU, us" for phase in COMMITS},
    ),
    "rebalance 100": ("rebalance -members 100 -rounds 8", {"leave_ms.median": "leave, ms"}),
    "rebalance 1000": ("rebalance -members 1000 -rounds 3", {"leave_ms.median": "leave, ms"}),
    "rebalance 2000": ("rebalance -members 2000 -rounds 2", {"leave_ms.median": "leave, ms"}),
    "mixed": (
        "mixed -duration 5s",
        {
            "heartbeat_while_rebalancing_us.p50": "quiet heartbeat, p50, us",
            "heartbeat_while_rebalancing_us.p90": "… p90, us",
            "heartbeat_while_rebalancing_us.p99": "… p99, us",
        },
    ),
    "data 100": (
        "data -batch 100 -max-mib 256 -duration 1s",
        {"produce.mb_per_s": "produce, MB/s", "fetch.mb_per_s": "fetch, MB/s"},
    ),
}
"""What is done: the words for `groupload`, and what is shown of its results, by path."""


class Peer:
    """A server that stands still while it is not its turn."""

    def __init__(self, name: str, words: Sequence[str], failures: Failures) -> None:
        """Starts it, and waits until it is ready. Raises UnmeasurableError."""
        self.name = name
        self._server = Server(words, failures)
        try:
            asyncio.run(self._server.ready())
        except UnmeasurableError:
            self._server.stop()
            raise
        self._tell(signal.SIGSTOP)

    def load(self, groupload: str, words: str) -> dict[str, Any]:
        """What `groupload` says of one load. Raises UnmeasurableError."""
        self._tell(signal.SIGCONT)
        sleep(WAKES_S)
        place = ["-bootstrap", f"127.0.0.1:{self._server.port}", "-pid", str(self._server.process.pid), "-json"]
        done = subprocess.run([groupload, *split(words), *place], capture_output=True, text=True, check=False)
        self._tell(signal.SIGSTOP)
        if done.returncode not in (0, 1):
            raise UnmeasurableError(f"{self.name}: {done.stderr.strip() or 'groupload said nothing'}")
        said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return said

    def stop(self) -> None:
        """Ends it."""
        self._tell(signal.SIGCONT)
        self._server.stop()

    def _tell(self, what: signal.Signals) -> None:
        os.killpg(self._server.process.pid, what)


class Turns:
    """What was measured, of each server in each round."""

    def __init__(self, names: Sequence[str]) -> None:
        """`names`: of the servers. The others' figures are shown as multiples of the first one's."""
        self.names = names
        self.rounds: dict[tuple[str, str], list[dict[str, float]]] = {}
        """By load and figure: each server's value in each round."""

    def add(self, load: str, said: dict[str, dict[str, Any]]) -> None:
        """One round of one load, by server."""
        for path, title in LOADS[load][1].items():
            values = {name: at(each["results"], path) for name, each in said.items()}
            if None not in values.values():
                self.rounds.setdefault((load, title), []).append({n: v for n, v in values.items() if v is not None})

    def ratios(self, load: str, title: str, name: str) -> list[float]:
        """A server's figure as a multiple of the first one's, round by round."""
        return [each[name] / each[self.names[0]] for each in self.rounds[load, title]]


def at(results: object, path: str) -> float | None:
    """The number that stands there; None: there is none, or it is 0."""
    for key in path.split("."):
        results = results.get(key) if isinstance(results, dict) else None
    return float(results) if isinstance(results, int | float) and results else None


def table(turns: Turns) -> Table:
    """Medians of all rounds; of the ratios the middle half, too."""
    first, *others = turns.names
    shown = Table(box=None, pad_edge=False)
    shown.add_column("", no_wrap=True)
    shown.add_column(first, justify="right")
    for name in others:
        shown.add_column(name, justify="right")
        shown.add_column(f"x {first}", justify="right", no_wrap=True)
    last = ""
    for (load, title), rounds in turns.rounds.items():
        if load != last:
            shown.add_row(f"[bold]{load}[/]")
            last = load
        row = [f"  {title}", number(median(each[first] for each in rounds))]
        for name in others:
            ratios = turns.ratios(load, title, name)
            low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
            row.append(number(median(each[name] for each in rounds)))
            row.append(f"[bold]{median(ratios):.2f}[/] [dim]{low:.2f}-{high:.2f}[/]")
        shown.add_row(*row)
    return shown


def built(shared: Path) -> str:
    """`groupload`. Raises Missing."""
    source = shared / "bench"
    if not (source / "go.mod").exists():
        raise Missing(f"there is no load generator in {source}; say with --shared where the folder of `bench/` is")
    program = (
        fresh_folder("bench-groupload", source, ("go.mod", *(path.name for path in source.glob("*.go")))) / "groupload"
    )
    if not program.exists():
        run(["go", "build", "-o", str(program), "."], source)
    return str(program)


def measure(
    peers: Sequence[Peer], loads: Sequence[str], rounds: int, groupload: str, turns: Turns, failures: Failures
) -> None:
    """Lets all have their turns."""
    chance = Random(rounds)
    for round_, load in product(range(1, rounds + 1), loads):
        print(f"round {round_}/{rounds}  {load}", file=sys.stderr)
        said = {peer.name: peer.load(groupload, LOADS[load][0]) for peer in chance.sample(peers, len(peers))}
        turns.add(load, said)
        for name, each in said.items():
            if name != PEER:  # whose mistakes are its own
                for what, count in each["failures"].items():
                    failures.add(f"{name}: {what}", load, count)


@click.command(epilog="Loads: " + ", ".join(LOADS) + ".")
@click.argument("loads", nargs=-1)
@click.option("--rounds", default=10, type=click.IntRange(1), show_default=True, help="How often all is measured.")
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="NAME=PROGRAM",
    help="Another `kohort`, as compiled=build/compiled/venv/bin/kohort. May be given several times.",
)
@click.option("--shared", default="../shared", type=click.Path(path_type=Path), help="Where `bench/` is.")
def main(loads: tuple[str, ...], rounds: int, others: tuple[str, ...], shared: Path) -> None:
    """Measure kfake and kohort in turns of less than a second.

    Ends with 1 when kohort answered something wrong. After Ctrl-C the rounds so far are shown.
    """
    for unknown in set(loads) - LOADS.keys():
        raise click.UsageError(f"there is no load {unknown}; there are: {', '.join(LOADS)}")
    programs = {"kohort": None} | dict(_named(each) for each in others)
    allow_many_sockets()
    turns, failures, stopped = Turns([PEER, *programs]), Failures(), False
    peers: list[Peer] = []
    try:
        groupload = built(shared.resolve())
        peers.append(Peer(PEER, [kfake(), "serve"], failures))
        for name, program in programs.items():
            peers.append(Peer(name, command(["--listen", "127.0.0.1:0", *split(SETTINGS)], program), failures))
        measure(peers, loads or list(LOADS), rounds, groupload, turns, failures)
    except KeyboardInterrupt:
        stopped = True
        print("\nstopped", file=sys.stderr)
    except (Missing, UnmeasurableError) as problem:
        raise click.ClickException(str(problem)) from None
    finally:
        for each in peers:
            each.stop()
    Console().print(table(turns))
    for what, count in failures.counts.items():
        print(f"{count} x {what}")
    sys.exit(130 if stopped else 1 if failures.counts else 0)


def _named(given: str) -> tuple[str, Path]:
    name, _, program = given.partition("=")
    if not Path(program).is_file():
        raise click.UsageError(f"--with {given}: give a name and a program, as compiled=.venv/bin/kohort")
    return name, Path(program)


if __name__ == "__main__":
    main()
