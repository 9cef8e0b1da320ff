"""`python -m benchmarks.in_turns`: compares kohort and kfake, in alternating turns of less than a second.

The speed of a shared machine changes from one second to the next, so measurements a minute apart can't be compared.
Here servers stay up, all but one of them stopped (SIGSTOP), and take turns in another order each round. The result is
the median of the ratios within a round. Most loads come from `groupload` in `../shared/bench`, the others from
`benchmarks/shareload` and `benchmarks/turn_loads.py`. Without kfake the ratios are to the first kohort.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random
from shlex import join, split
from statistics import median, quantiles
from time import sleep
from typing import Any, NamedTuple

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
    "--set group.streams.initial.rebalance.delay.ms=0 --set group.streams.assignment.interval.ms=0 "
    "--log-level warning"
)
PEER = "kfake"
LABORATORY = "laboratory"  # a kohort with a control address, and so with the oracle
WAKES_S = 0.15  # until a resumed server has done what is due

COMMITS = ("commit_1", "commit_20", "fetch_1", "fetch_20")
GROUPLOAD, SHARELOAD, TURN_LOADS = "groupload", "shareload", "turn_loads"


class Load(NamedTuple):
    """A load, and what is shown of its results."""

    words: str  # arguments of the program
    figures: dict[str, str]  # titles by path in the results
    program: str = GROUPLOAD
    by_peer: bool = True  # whether kfake serves it, too


LOADS = {
    "heartbeat 64x1": Load(
        "heartbeat -conns 64 -duration 700ms -warmup 200ms",
        {"requests_per_s": "requests, /s", "use.server_us_per_request": "… CPU, us"},
    ),
    "heartbeat 64x16": Load(
        "heartbeat -conns 64 -pipeline 16 -duration 600ms -warmup 200ms",
        {"requests_per_s": "requests, /s"},
    ),
    "heartbeat 1000x1": Load("heartbeat -conns 1000 -duration 900ms -warmup 300ms", {"requests_per_s": "requests, /s"}),
    "streams heartbeat 64x1": Load(
        "streams -conns 64",
        {"requests_per_s": "requests, /s", "server_us_per_request": "… CPU, us"},
        TURN_LOADS,
        by_peer=False,
    ),
    # until all others have the next epoch
    "streams leave 100": Load(
        "streams-leave -members 100", {"leave_ms": "leave, ms", "server_ms": "… CPU, ms"}, TURN_LOADS, by_peer=False
    ),
    "commit 16": Load(
        "commit -conns 16 -duration 600ms -warmup 200ms",
        {f"{phase}.requests_per_s": f"{phase}, /s" for phase in COMMITS}
        | {f"{phase}.use.server_us_per_request": f"{phase}, CPU, us" for phase in COMMITS},
    ),
    "rebalance 100": Load("rebalance -members 100 -rounds 8", {"leave_ms.median": "leave, ms"}),
    "rebalance 1000": Load("rebalance -members 1000 -rounds 3", {"leave_ms.median": "leave, ms"}),
    "rebalance 2000": Load("rebalance -members 2000 -rounds 2", {"leave_ms.median": "leave, ms"}),
    # one after the other, each until all members have their partitions: 50 heartbeats for each join
    "consumer joining 100": Load(
        "joining -members 100",
        {"join_ms": "100 joins, ms", "server_ms": "… CPU, ms", "server_us_per_request": "… CPU, us"},
        TURN_LOADS,
    ),
    "consumer leave 100": Load("leaving -members 100", {"leave_ms": "leave, ms", "server_ms": "… CPU, ms"}, TURN_LOADS),
    "consumer leave 1000": Load(
        "leaving -members 1000", {"leave_ms": "leave, ms", "server_ms": "… CPU, ms"}, TURN_LOADS
    ),
    "mixed": Load(
        "mixed -duration 5s",
        {
            "heartbeat_while_rebalancing_us.p50": "quiet heartbeat, p50, us",
            "heartbeat_while_rebalancing_us.p90": "… p90, us",
            "heartbeat_while_rebalancing_us.p99": "… p99, us",
        },
    ),
    "data 100": Load(
        "data -batch 100 -max-mib 256 -duration 1s",
        {"produce.mb_per_s": "produce, MB/s", "fetch.mb_per_s": "fetch, MB/s"},
    ),
    "data 1": Load(
        "data -size 100 -batch 1 -max-mib 64 -duration 1s",
        {"produce.requests_per_s": "produce of 1 record, /s", "produce.use.server_us_per_request": "… CPU, us"},
    ),
    "groups 2000": Load(
        "groups -groups 2000 -members 1 -hold 100ms",
        {"create_s": "making a group of 1, 2,000 times, s", "creating.server_us_per_request": "… CPU, us"},
    ),
    # 10,000 records are held in ranges, and every other one is released
    "share release": Load(
        "-partitions 10 -in-flight 1000 -records 2000 -duration 300ms",
        {"tear_s": "5,000 of 10,000, s", "tear_server_s": "… CPU, s"},
        SHARELOAD,
    ),
    # 40,000 keys, each committed five times
    "restart": Load(
        "restart",
        {"loaded_s": "until loaded, s", "server_s": "… CPU, s"},
        TURN_LOADS,
        by_peer=False,
    ),
}


class Peer:
    """Server that is stopped except during its turn."""

    def __init__(self, name: str, words: Sequence[str], failures: Failures) -> None:
        """Start the server and wait until it is ready.

        Raises:
            UnmeasurableError: It does not start.
        """
        self.name = name
        self._command = join(words)
        self._server = Server(words, failures)
        try:
            asyncio.run(self._server.ready())
        except UnmeasurableError:
            self._server.stop()
            raise
        self._tell(signal.SIGSTOP)

    def load(self, program: Sequence[str], load: Load) -> dict[str, Any]:
        """Return the results of one run of a load's program.

        Raises:
            UnmeasurableError: It failed.
        """
        self._tell(signal.SIGCONT)
        sleep(WAKES_S)
        place = ["-bootstrap", f"127.0.0.1:{self._server.port}", "-pid", str(self._server.process.pid)]
        if load.program == GROUPLOAD:
            place.append("-json")
        elif load.program == TURN_LOADS:
            place += ["-command", self._command]
        words = [*program, *split(load.words), *place]
        process = subprocess.run(words, capture_output=True, text=True, check=False)
        self._tell(signal.SIGSTOP)
        if process.returncode not in (0, 1):
            raise UnmeasurableError(f"{self.name}: {process.stderr.strip() or f'{load.program} results nothing'}")
        results: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
        return {"results": results, "failures": {}} if load.program == SHARELOAD else results

    def stop(self) -> None:
        self._tell(signal.SIGCONT)
        self._server.stop()

    def _tell(self, number: signal.Signals) -> None:
        os.killpg(self._server.process.pid, number)


class Turns:
    """Figures of each server in each round."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        # load and figure: value of each server in each round
        self.rounds: dict[tuple[str, str], list[dict[str, float]]] = {}

    def add(self, load: str, results: dict[str, dict[str, Any]]) -> None:
        for path, title in LOADS[load].figures.items():
            values = {name: at(result["results"], path) for name, result in results.items()}
            if values and None not in values.values():
                self.rounds.setdefault((load, title), []).append({n: v for n, v in values.items() if v is not None})

    def ratios(self, load: str, title: str, name: str) -> list[float]:
        """Return a server's figure as a multiple of the reference's, by round."""
        reference = self.reference(load, title)
        return [values[name] / values[reference] for values in self.rounds[load, title]]

    def reference(self, load: str, title: str) -> str:
        """Return the first server that serves the load."""
        measured = self.rounds[load, title][0]
        return next(name for name in self.names if name in measured)


def at(results: object, path: str) -> float | None:
    """Return the number at a dotted path, or None if it does not exist or is 0."""
    for key in path.split("."):
        results = results.get(key) if isinstance(results, dict) else None
    return float(results) if isinstance(results, int | float) and results else None


def table(turns: Turns) -> Table:
    """Return the medians of all rounds, and the middle half of the ratios."""
    first, *peers = turns.names
    result = Table(box=None, pad_edge=False)
    result.add_column("", no_wrap=True)
    result.add_column(first, justify="right")
    for name in peers:
        result.add_column(name, justify="right")
        result.add_column(f"x {first}", justify="right", no_wrap=True)
    last = ""
    for (load, title), rounds in turns.rounds.items():
        if load != last:
            result.add_row(f"[bold]{load}[/]")
            last = load
        reference = turns.reference(load, title)
        row = [f"  {title}", "–" if reference != first else number(median(values[first] for values in rounds))]
        for name in peers:
            if name not in rounds[0]:
                row += "–", ""
                continue
            ratios = turns.ratios(load, title, name)
            low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
            row.append(number(median(values[name] for values in rounds)))
            other = f" x {reference}" if reference != first else ""
            ratio = f"[bold]{median(ratios):.2f}[/]{other} [dim]{low:.2f}-{high:.2f}[/]"
            row.append("" if name == reference else ratio)
        result.add_row(*row)
    return result


def programs(loads: Sequence[str], shared: Path) -> dict[str, list[str]]:
    """Return the commands of the programs that the loads need.

    Raises:
        Missing: A program cannot be built.
    """
    commands = {
        GROUPLOAD: lambda: [built(shared)],
        SHARELOAD: lambda: [_shareload()],
        TURN_LOADS: lambda: [sys.executable, "-m", "benchmarks.turn_loads"],
    }
    return {program: commands[program]() for program in {LOADS[load].program for load in loads}}


def _shareload() -> str:
    source = Path(__file__).parent / "shareload"
    program = fresh_folder("bench-shareload", source) / "shareload"
    if not program.exists():
        run(["go", "build", "-o", str(program), "."], source)
    return str(program)


def built(shared: Path) -> str:
    """Build `groupload` if necessary.

    Raises:
        Missing: Its sources do not exist.
    """
    source = shared / "bench"
    if not (source / "go.mod").exists():
        raise Missing(f"no load generator in {source}; use --shared to name the folder that contains `bench/`")
    program = (
        fresh_folder("bench-groupload", source, ("go.mod", *(path.name for path in source.glob("*.go")))) / "groupload"
    )
    if not program.exists():
        run(["go", "build", "-o", str(program), "."], source)
    return str(program)


def measure(
    peers: Sequence[Peer],
    loads: Sequence[str],
    rounds: int,
    programs: Mapping[str, Sequence[str]],
    turns: Turns,
    failures: Failures,
) -> None:
    chance = Random(rounds)
    for round_, load in product(range(1, rounds + 1), loads):
        print(f"round {round_}/{rounds}  {load}", file=sys.stderr)
        results = {
            peer.name: peer.load(programs[LOADS[load].program], LOADS[load])
            for peer in chance.sample(peers, len(peers))
            if peer.name != PEER or LOADS[load].by_peer
        }
        turns.add(load, results)
        for name, result in results.items():
            if name != PEER:  # whose mistakes are its own
                for failure, count in result["failures"].items():
                    failures.add(f"{name}: {failure}", load, count)


@click.command(epilog="Loads: " + ", ".join(LOADS) + ".")
@click.argument("loads", nargs=-1)
@click.option("--rounds", default=10, type=click.IntRange(1), show_default=True, help="Number of rounds.")
@click.option(
    "--with",
    "more_programs",
    multiple=True,
    metavar="NAME=PROGRAM",
    help="Another `kohort`, as compiled=build/compiled/venv/bin/kohort. Repeatable.",
)
@click.option(
    "--laboratory", is_flag=True, help="Measure kohort with a control address as a multiple of kohort; without kfake."
)
@click.option("--shared", default="../shared", type=click.Path(path_type=Path), help="Folder that contains `bench/`.")
def main(loads: tuple[str, ...], rounds: int, more_programs: tuple[str, ...], laboratory: bool, shared: Path) -> None:
    """Measure kfake and kohort in turns of less than a second.

    Exit code 1: kohort returned a wrong response. Ctrl-C prints the rounds so far.
    """
    for unknown in set(loads) - LOADS.keys():
        raise click.UsageError(f"unknown load {unknown}; expected one of: {', '.join(LOADS)}")
    kohorts = {"kohort": None} | dict(_named(text) for text in more_programs)
    allow_many_sockets()
    names = [*kohorts, LABORATORY] if laboratory else [PEER, *kohorts]
    turns, failures, stopped = Turns(names), Failures(), False
    peers: list[Peer] = []
    try:
        commands = programs(loads or list(LOADS), shared.resolve())
        arguments = ["--listen", "127.0.0.1:0", *split(SETTINGS)]
        if laboratory:
            peers.append(Peer(LABORATORY, command([*arguments, "--control", "127.0.0.1:0"]), failures))
        else:
            peers.append(Peer(PEER, [kfake(), "serve"], failures))
        for name, program in kohorts.items():
            peers.append(Peer(name, command(arguments, program), failures))
        measure(peers, loads or list(LOADS), rounds, commands, turns, failures)
    except KeyboardInterrupt:
        stopped = True
        print("\nstopped", file=sys.stderr)
    except (Missing, UnmeasurableError) as problem:
        raise click.ClickException(str(problem)) from None
    finally:
        for peer in peers:
            peer.stop()
    Console().print(table(turns))
    for failure, count in failures.counts.items():
        print(f"{count} x {failure}")
    sys.exit(130 if stopped else 1 if failures.counts else 0)


def _named(text: str) -> tuple[str, Path]:
    name, _, program = text.partition("=")
    if not Path(program).is_file():
        raise click.UsageError(f"--with {text}: give a name and a program, as compiled=.venv/bin/kohort")
    return name, Path(program)


if __name__ == "__main__":
    main()
