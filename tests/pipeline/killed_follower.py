"""Follows a cluster under load while its processes are killed, and compares what is left with one reading of everything.

    python -m tests.pipeline.killed_follower MINUTES [SEED]

runs it longer: this many minutes of load, starts of Spark included, and then the comparison. Ctrl-C ends the load, not the
comparison. Every few seconds processes of the follower are killed: all, or one worker. Meanwhile gold,
findings.json and report.html are read again and again: none of them may be missing or half-written once it was there.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq

from kohort.pipeline.silver.parquet_files import Writer, publish, visible_files
from kohort.pipeline.silver.read_sources import expand, ingest
from kohort.pipeline.silver.silver_schemas import FROM_THE_LOG
from kohort.pipeline.sources.found import WIRE, Source
from kohort.testing import Cluster
from tests.pipeline.written_cluster import World

GROUPS = tuple(f"group-{number:02}" for number in range(50))
GOLD = ("rebalances", "generations", "member_sessions", "commit_minutes")
"""Gold tables without samples of log ends, whose times vary."""
BATCHES = 2
"""Appended every LOAD_EVERY_S: 40 a second, of three records each."""
LOAD_EVERY_S = 0.05
STEP_MS = 2 * round(LOAD_EVERY_S * 1000 / BATCHES)
"""Longest time between two batches, so that their times go about as fast as the clock."""
FIRST_KILL = (0.1, 3.0)
"""Time without kills after a start, relative to its duration, since a busy machine needs longer."""
PROGRESS_EVERY_S = 60
PATIENCE_S = 1_200


@dataclass
class Follower:
    """`kohort follow --engine spark` and all its processes."""

    address: str
    out: Path
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    started_at: float = 0.0
    followed_s: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    ended: list[str] = field(default_factory=list)
    """What it said last whenever it ended on its own."""

    def start(self) -> None:
        """Start or continue the follower."""
        command = [sys.executable, "-m", "kohort.cli", "follow", self.address, "--out", str(self.out)]
        self.starts += 1
        self.started_at = time.monotonic()
        with self.out.with_suffix(".said").open("ab") as said:
            self.process = subprocess.Popen(
                [*command, "--engine", "spark", "--cluster", "local[2,4]", "--metrics-port", "0"],
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    @property
    def follows(self) -> bool:
        """Whether Spark is there: killed before, it would do nothing at all. It takes a minute where others work, too."""
        return self.out.with_suffix(".said").read_text().count("following ") >= self.starts

    def lives(self) -> bool:
        """Check that only signals end it; otherwise note the error and start it again."""
        if self.process is None or self.process.poll() is None:
            return True
        self.ended.append(self.out.with_suffix(".said").read_text()[-3000:])
        self.start()
        return False

    def kill(self) -> None:
        """Kill the driver with its Java process and workers."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.kills["driver"] += 1

    def kill_a_worker(self, chance: random.Random) -> None:
        """Kill one of the Python processes that run tasks, if there is one."""
        assert self.process is not None
        if workers := _workers(self.process.pid):
            try:
                os.kill(chance.choice(workers), signal.SIGKILL)
            except ProcessLookupError:
                return
            self.kills["worker"] += 1

    def end(self) -> int:
        """Stop it regularly, with a last report, and return the exit code."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGINT)
        code = self.process.wait(PATIENCE_S)
        if code:
            self.ended.append(self.out.with_suffix(".said").read_text()[-3000:])
        return code


def _workers(session: int) -> list[int]:
    """Return forks of PySpark's daemon in a session, without the daemon."""
    found, daemons = {}, set()
    for place in Path("/proc").iterdir():
        if not place.name.isdecimal():
            continue
        try:
            stat, command = (place / "stat").read_text(), (place / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        fields = stat.rpartition(")")[2].split()
        if int(fields[3]) == session and b"pyspark.daemon" in command:
            found[int(place.name)] = int(fields[1])
    daemons = {parent for parent in found.values() if parent in found}
    return [number for number in found if number not in daemons and found[number] in daemons]


class Reader(threading.Thread):
    """Reads what a person or a program reads, and notes what was wrong with it."""

    def __init__(self, out: Path) -> None:
        super().__init__(daemon=True)
        self.out, self.wrong, self.reads = out, list[str](), 0
        self.over = threading.Event()
        self._there: set[str] = set()

    def run(self) -> None:
        while not self.over.wait(0.2):
            for name in ("findings.json", "report.html", *GOLD):
                try:
                    self._read(name)
                except Exception as problem:  # whatever it is, a reader saw it
                    self.wrong.append(f"{name}: {problem!r}")

    def _read(self, name: str) -> None:
        place = self.out / name if "." in name else self.out / "tables" / "gold" / name
        if not place.exists():
            if name in self._there:
                raise FileNotFoundError(name)
            return
        self._there.add(name)
        self.reads += 1
        if name == "findings.json":
            json.loads(place.read_text())
        elif name == "report.html":
            if not place.read_text().endswith("</html>\n"):
                raise ValueError("half a report")
        else:
            ds.dataset(place.resolve(), partitioning="hive").to_table()


def silver_rows(silver: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for table in FROM_THE_LOG:
        if files := visible_files(silver, table):
            rows = pq.ParquetDataset([str(path) for path in files], partitioning=None).read()
            found[table] = sorted(map(repr, rows.to_pylist()))
    return found


def gold_rows(gold: Path) -> dict[str, list[str]]:
    return {
        table: sorted(map(repr, ds.dataset((gold / table).resolve(), partitioning="hive").to_table().to_pylist()))
        for table in GOLD
    }


def one_reading(address: str, silver: Path) -> dict[str, list[str]]:
    """Return silver of a batch analysis."""
    asked, _ = expand([Source(WIRE, address)])
    sources = [replace(source, asked_ms=0) for source in asked]  # a follower goes by the records' times alone
    with Writer(silver, "0") as writer:
        ingest(sources, "", writer)
    publish(silver, "0", [writer.task])
    return silver_rows(silver)


@dataclass
class Run:
    """What one run did and saw."""

    follower: Follower
    reader: Reader
    batches: int = 0

    @property
    def wrong(self) -> list[str]:
        """Failed reads, and unexpected exits."""
        return self.reader.wrong + self.follower.ended

    def __str__(self) -> str:
        kills = ", ".join(f"{who} {times}" for who, times in sorted(self.follower.kills.items())) or "none"
        return (
            f"{self.batches} batches, {self.follower.starts} starts, {self.follower.followed_s:.0f} s followed, "
            f"killed: {kills}; {self.reader.reads} reads, {len(self.wrong)} wrong"
        )


def play(seconds: float, seed: int, folder: Path, over: threading.Event | None = None) -> Run:
    """Run load, kills and readers for this long, and compare the tables.

    The first process is always killed. Raises AssertionError for missing or additional rows.
    """
    out = folder / "followed"
    with Cluster(nodes=1, seed=seed % 1000) as kafka:
        world = World(kafka, seed, GROUPS, STEP_MS)
        world.ts_ms = round(time.time() * 1000) - 600_000
        run = Run(Follower(kafka.bootstrap, out), Reader(out))
        run.follower.start()
        run.reader.start()
        load(run, world, seconds, over or threading.Event())
        print(f"the load has ended, {run}", flush=True)
        expected = one_reading(kafka.bootstrap, folder / "batch")
        counts = {table: len(rows) for table, rows in expected.items()}
        wait_for(lambda: run.follower.lives() and rows_shown(out) == counts)
        run.follower.end()
        run.reader.over.set()
        run.reader.join()
    assert silver_rows(out / "tables" / "silver") == expected
    compare_gold(folder, out)
    return run


def load(run: Run, world: World, seconds: float, over: threading.Event) -> None:
    """Write batches at a steady pace, and kill processes meanwhile."""
    chance, follower = random.Random(world.random.random()), run.follower
    begun = time.monotonic()
    told = before = begun
    strike_at = 0.0
    while (before < begun + seconds or not follower.kills.total()) and not over.is_set():
        world.write(BATCHES)
        run.batches += BATCHES
        time.sleep(LOAD_EVERY_S)
        follower.lives()
        now = time.monotonic()
        if now >= told + PROGRESS_EVERY_S:
            told = now
            print(f"{(now - begun) / 60:.0f} of {seconds / 60:g} min: {run}", flush=True)
        if follower.follows:
            follower.followed_s += now - before
            strike_at = strike_at or now + chance.uniform(*FIRST_KILL) * (now - follower.started_at)
            if now >= strike_at:
                strike_at = strike(follower, chance)
        before = now


def strike(follower: Follower, chance: random.Random) -> float:
    """Kill a process, and return the time of the next kill, or 0 for the next moment in which it follows."""
    if chance.random() < 0.3:
        follower.kill()
        follower.start()
        return 0.0
    follower.kill_a_worker(chance)
    return time.monotonic() + chance.uniform(1, 40)


def rows_shown(out: Path) -> dict[str, int]:
    """Count the rows of silver during writes, or return nothing if a file was just removed."""
    silver = out / "tables" / "silver"
    try:
        files = {table: visible_files(silver, table) for table in FROM_THE_LOG}
        return {
            table: sum(pq.read_metadata(path).num_rows for path in found) for table, found in files.items() if found
        }
    except OSError:
        return {}


def wait_for(condition: object) -> None:
    """Wait until a condition holds. Raises AssertionError after a timeout."""
    assert callable(condition)
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, "the follower doesn't catch up"
        time.sleep(1)


def compare_gold(folder: Path, out: Path) -> None:
    """Compare the follower's gold with that of one reading of the same silver."""
    from kohort.pipeline.gold.gold_files import write_tables
    from kohort.pipeline.gold.group_tables import analyse_group, as_tables
    from tests.pipeline.local_groups import load_groups

    tables: dict[str, list[object]] = {}
    for group in load_groups(folder / "batch").values():
        for table, rows in as_tables(group, analyse_group(group)).items():
            tables.setdefault(table, []).append(rows)
    write_tables(tables, folder / "gold")
    followed, whole = gold_rows(out / "tables" / "gold"), gold_rows(folder / "gold")
    for table in GOLD:
        assert followed[table] == whole[table], table


def main() -> None:
    minutes, seed = (
        float(sys.argv[1]),
        int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32),
    )
    print(f"seed {seed}", flush=True)
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    with tempfile.TemporaryDirectory() as name:
        run = play(60 * minutes, seed, Path(name), over)
    assert run.wrong == [], run.wrong[:5]
    print(f"{run}: every row is there once")


if __name__ == "__main__":
    main()
