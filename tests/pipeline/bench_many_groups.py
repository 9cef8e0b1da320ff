"""Time, memory and report of an analysis of many tiny groups: `python -m tests.pipeline.bench_many_groups 8000 60000`.

Each number of groups is analyzed in a process of its own, from segments and from a broker's log. Figures per group leave
out what 100 groups take.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.pipeline.tiny_groups import write_commits, write_log

FEW = 100


def measure(source: Path, out: Path) -> tuple[float, float, float]:
    """Return seconds of processor time, peak memory in MiB, and the report's size in MiB."""
    command = [sys.executable, "-m", "kohort", "analyze", str(source), "--engine", "local", "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    assert running.returncode == 0, running.returncode
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, (out / "report.html").stat().st_size / 2**20


def main(counts: list[int]) -> None:
    """Print a line for argument kind of source and argument number of groups."""
    with tempfile.TemporaryDirectory() as folder:
        for write in (write_commits, write_log):
            few_s, few_mib, _ = measure(write(Path(folder) / f"{write.__name__}-{FEW}", FEW), Path(folder) / "few")
            for count in counts:
                source = write(Path(folder) / f"{write.__name__}-{count}", count)
                cpu_s, mib, report_mib = measure(source, Path(folder) / f"out-{write.__name__}-{count}")
                more = count - FEW
                print(
                    f"{write.__name__} of {count} groups: {cpu_s:.1f} s of processor, {mib:.0f} MiB, report "
                    f"{report_mib:.1f} MiB; per group {1000 * (cpu_s - few_s) / more:.2f} ms, "
                    f"{1024 * (mib - few_mib) / more:.1f} KiB",
                    flush=True,
                )


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
