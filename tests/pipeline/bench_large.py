"""One large log once, for real: `python -m tests.pipeline.bench_large [MILLIONS]`, 200 if left out.

Writes a synthetic log, analyses it by the command that a person types, and prints time, memory and disk next to what was
predicted. 200 million records want 25 GB of disk, which are given back, and on two quiet cores five minutes to be written.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tests.pipeline.bench import MASTER, MILLION, machine
from tests.pipeline.synthetic import Plan, write_segments
from tests.pipeline.tree import TreeMemory

GROUPS_PER_MILLION = 10
GIB = 1 << 30
LOOK_S = 5.0


@dataclass(frozen=True)
class Cost:
    """Of an analysis. disk: of the tables that it writes, temporary files of Spark included."""

    seconds: float
    memory_gib: float
    log_gib: float
    disk_gib: float


def predicted(millions: float) -> Cost:
    """Return the prediction from docs/explanation/performance-measured.md (one, two and four million, two quiet cores)."""
    return Cost(
        seconds=21 + 1.55 * millions,
        memory_gib=2.2 + 0.002 * millions,
        log_gib=0.09 * millions,
        disk_gib=0.01 * millions,
    )


def size_of(place: Path) -> int:
    """Return the bytes of all files under a folder, while files appear and disappear."""
    total = 0
    for folder, _, files in os.walk(place):
        for name in files:
            try:
                total += os.stat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                continue
    return total


def analysed(place: Path) -> tuple[Cost, float]:
    over, largest = threading.Event(), [0]

    def look() -> None:
        while not over.wait(LOOK_S):
            largest[0] = max(largest[0], size_of(place) - log)

    log = size_of(place / "logs")
    watch = threading.Thread(target=look, daemon=True)
    begun = time.perf_counter()
    environment = {**os.environ, "TMPDIR": str(place / "tmp"), "SPARK_LOCAL_DIRS": str(place / "tmp")}
    (place / "tmp").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "kohort.cli", "analyze", str(place / "logs"), "--out", str(place / "out"), "--cluster", MASTER],
        stdout=subprocess.DEVNULL, env=environment,
    )  # fmt: skip
    watch.start()
    with TreeMemory(process.pid, every_s=1.0) as memory:
        code = process.wait()
    over.set()
    watch.join()
    if code:
        raise SystemExit(f"the analysis ended with {code}")
    cost = Cost(time.perf_counter() - begun, memory.pss / GIB, log / GIB, max(largest[0], size_of(place) - log) / GIB)
    return cost, memory.processor_s


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.pipeline.bench_large", description=__doc__)
    parser.add_argument("millions", type=float, nargs="?", default=200, help="records, in millions")
    parser.add_argument(
        "--place", type=Path, help="a folder on a disk with room; the system's for temporary files if left out"
    )
    options = parser.parse_args()
    expected = predicted(options.millions)
    print(f"predicted: {expected}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kohort-large-", dir=options.place) as name:
        place = Path(name)
        begun = time.perf_counter()
        plan = Plan(
            records=round(options.millions * MILLION), groups=max(4, round(options.millions * GROUPS_PER_MILLION))
        )
        records = write_segments(plan, place / "logs")
        print(f"{records:,} records of {plan.groups} groups written in {time.perf_counter() - begun:.0f} s", flush=True)
        load = os.getloadavg()[0]
        found, processor_s = analysed(place)
    print(f"{machine()}; load before: {load:.1f}, after: {os.getloadavg()[0]:.1f}\n")
    print("| | predicted | came |\n|---|---|---|")
    for what, unit, before, came in (
        ("cold start to report", "s", expected.seconds, found.seconds),
        ("memory of the process tree, shared pages once", "GiB", expected.memory_gib, found.memory_gib),
        ("the log", "GiB", expected.log_gib, found.log_gib),
        ("tables, report and what Spark keeps meanwhile", "GiB", expected.disk_gib, found.disk_gib),
    ):
        print(f"| {what}, {unit} | {before:.1f} | **{came:.1f}** |")
    print(f"| processor time, s | – | {processor_s:.0f} |")


if __name__ == "__main__":
    main()
