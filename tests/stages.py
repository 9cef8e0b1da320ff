"""The stages that must pass before a change and before a release; CONTRIBUTING.md lists them.

    python -m tests.stages ci      # what .ci/run does after installing
    python -m tests.stages deep    # make deep

Two rows of stages run at the same time, because many tests wait. The output of each stage is stored in `build/stages`;
the end of a failed stage's output is printed. The last lines are a table with times, the stages that were left out and
why, and the sum of all tests.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from tests import newer_pythons

ROOT = Path(__file__).parent.parent
LOGS = ROOT / "build" / "stages"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kohort"
# Files on which the tests that start Spark depend.
SPARK_FILES = ("pipeline", "client", "protocol", "tests/pipeline", "constraints.txt")
MAX_CI_S = 25 * 60  # a run of `ci` that takes longer fails
PRINTED_LINES = 60
PROGRESS_INTERVAL_S = 30.0

COMPILED = "build/compiled/venv/bin/kohort"
EFFORT = {"KOHORT_EFFORT": "ci"}  # more examples than in `make test`
# The build for a change behaves like that of a release, which `make deep` compiles, but is slower.
UNOPTIMIZED = {"KOHORT_OPT_LEVEL": "0"}
UNOPTIMIZED_KOHORT = "build/compiled-O0/venv/bin/kohort"
# Tests of the folders that contain compiled modules, and tests that run through all of them.
COMPILED_FOLDERS = (
    "tests/protocol tests/purgatory tests/coordinator tests/storage tests/broker tests/crash tests/simulation "
    "tests/test_conversations.py tests/test_compiled.py"
)
# Conversations for CI: classic and share groups, logins that are forwarded, and several nodes.
THROUGH_PROXY = "--proxy --profile default --profile share --profile secured --profile three-brokers"

COUNTS = re.compile(r"(\d+) (passed|failed|error|skipped|rerun|deselected)")
RERUN = re.compile(r"^RERUN (\S+)", re.MULTILINE)


@dataclass
class Stage:
    """A command and its result."""

    name: str
    description: str
    make: str  # arguments of make
    missing: Callable[[], str] = lambda: ""  # returns why the stage is left out; empty: it runs
    environment: dict[str, str] = field(default_factory=dict)
    left_out: str = ""
    code: int | None = None
    wall_s: float = 0.0
    cpu_s: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    reruns: list[str] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return LOGS / f"{self.name.replace(' ', '-')}.log"

    @property
    def result(self) -> str:
        if self.left_out:
            return "left out"
        if self.code is None:
            return "not run"
        counted = ", ".join(f"{number} {result}" for result, number in self.counts.items() if result != "deselected")
        return ("ok" if self.code == 0 else f"FAILED ({self.code})") + (f": {counted}" if counted else "")

    def run(self) -> None:
        """Run the command until it ends."""
        self.left_out = self.missing()
        if self.left_out:
            write(f"left out: {self.name}: {self.left_out}")
            return
        write(f"started:  {self.name}")
        began = time.monotonic()
        with self.log.open("w") as log:
            process = subprocess.Popen(
                ["make", "--no-print-directory", *self.make.split(" ", 1)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | self.environment,
            )
            try:
                _, status, used = os.wait4(process.pid, 0)
            except BaseException:
                process.terminate()
                raise
            process.returncode = self.code = os.waitstatus_to_exitcode(status)
        self.wall_s, self.cpu_s = time.monotonic() - began, used.ru_utime + used.ru_stime
        text = self.log.read_text(errors="replace")
        closing = [line for line in text.splitlines() if " passed" in line and COUNTS.search(line)]
        self.counts = Counter(
            {result: int(number) for number, result in COUNTS.findall(closing[-1])} if closing else {}
        )
        self.reruns = RERUN.findall(text)
        write(f"finished: {self.name} after {self.wall_s:.0f} s, {self.result}")


def write(line: str) -> None:
    print(line, flush=True)


def no_compiler() -> str:
    return "" if shutil.which(os.environ.get("CC", "cc")) else "there is no C compiler"


def not_compiled(kohort: str) -> Callable[[], str]:
    return lambda: "" if (ROOT / kohort).exists() else "there is no compiled build"


def no_recordings(shared: Path) -> Callable[[], str]:
    return lambda: (
        "" if (shared / "conformance" / "converse").exists() else f"there are no recorded conversations in {shared}"
    )


def compiled_recordings(shared: Path, kohort: str) -> Callable[[], str]:
    return lambda: no_recordings(shared)() or not_compiled(kohort)()


def no_kafka(shared: Path) -> Callable[[], str]:
    def missing() -> str:
        tools = [tool for tool in ("java", "mvn") if not shutil.which(tool)]
        return no_recordings(shared)() or (f"a real Kafka needs {', '.join(tools)}" if tools else "")

    return missing


LINT = Stage("lint", "format, lint, types, import directions", "lint")


def spark_unchanged() -> str:
    """Return why the tests that start Spark need not run: they passed with the same files on this machine."""
    return "no file on which they depend has changed since they passed here" if _spark_marker().exists() else ""


def _spark_marker() -> Path:
    """Return the path of a file that exists if the tests that start Spark have passed with the current files."""
    digest = sha256()
    listed = subprocess.run(["git", "ls-files", "-s", *SPARK_FILES], cwd=ROOT, capture_output=True, check=True).stdout
    changed = subprocess.run(
        ["git", "diff", "HEAD", "--", *SPARK_FILES], cwd=ROOT, capture_output=True, check=True
    ).stdout
    digest.update(listed + changed + sys.version.encode())
    return CACHE / f"spark-passed-{digest.hexdigest()[:16]}"


def ci(shared: Path) -> list[list[Stage]]:
    """Return the two rows of stages for a change."""
    return [
        [
            LINT,
            Stage("tests", "make test with more examples; without Spark", "test WITHOUT=spark", environment=EFFORT),
            Stage(
                "without shortcuts",
                "conversations and the broker's tests without broker/fast",
                "without-fast TESTS=tests/broker tests/test_conversations.py",
            ),
            Stage("smoke", "one client in Java, Go, Node.js and Rust", "smoke"),
            Stage("fuzz", "malformed and hostile requests", "fuzz"),
        ],
        [
            Stage("compile", "a wheel with compiled modules, not optimized", "compiled", no_compiler, UNOPTIMIZED),
            Stage(
                "conformance",
                "recorded conversations without long waits, with compiled modules",
                f"conformance CONFORMANCE=--quick --kohort {UNOPTIMIZED_KOHORT}",
                compiled_recordings(shared, UNOPTIMIZED_KOHORT),
            ),
            Stage(
                "proxied",
                "recorded conversations of four profiles through the proxy",
                f"conformance CONFORMANCE={THROUGH_PROXY}",
                no_recordings(shared),
            ),
            Stage(
                "compiled folders",
                "folders with compiled modules, crash, simulation, conversations",
                f"fast-compiled TESTS={COMPILED_FOLDERS}",
                not_compiled(UNOPTIMIZED_KOHORT),
                UNOPTIMIZED,
            ),
            Stage(
                "spark",
                "tests that start Spark, if a file they depend on has changed",
                "spark WITHOUT=cluster",
                spark_unchanged,
            ),
        ],
    ]


def deep(shared: Path) -> list[list[Stage]]:
    """Return the two rows of stages for a release."""
    return [
        [
            LINT,
            Stage("tests", "all but other languages; all Spark", "everything", environment={"KOHORT_EFFORT": "deep"}),
            Stage("stalls", "delay of other clients during large requests", "stalls"),
            Stage("differential", "the same requests to a real Kafka and to kohort", "differential", no_kafka(shared)),
            Stage("simulations", "50 new simulations each of share and streams groups, 3,000 steps", "simulations"),
        ],
        [
            Stage("conformance", "all recorded conversations", "conformance", no_recordings(shared)),
            Stage("compile", "a wheel with compiled modules", "compiled", no_compiler),
            Stage(
                "proxied",
                "all recorded conversations through the proxy",
                "conformance CONFORMANCE=--proxy",
                no_recordings(shared),
            ),
            Stage(
                "compiled conformance",
                "recorded conversations without long waits, with compiled modules",
                f"conformance CONFORMANCE=--quick --kohort {COMPILED}",
                compiled_recordings(shared, COMPILED),
            ),
            Stage(
                "compiled tests",
                "the fast tests with compiled modules",
                "fast-compiled",
                not_compiled(COMPILED),
                EFFORT,
            ),
            Stage("without shortcuts", "the fast tests without broker/fast", "without-fast", environment=EFFORT),
            Stage("clients", "clients in other languages, Kafka's tools, Connect, Streams", "clients"),
            Stage(
                "proxied clients",
                "the same clients through the proxy, except TLS and own brokers",
                "clients",
                environment={"KOHORT_THROUGH_PROXY": "1"},
            ),
            Stage("crash", "a broker killed 200 times; each disk call fails once", "crash"),
            Stage("fuzz", "malformed and hostile requests, 50,000 of each type", "fuzz FRAMES=50000"),
            Stage("flakes", "the pytest plugin's fixtures, repeatedly", "flakes TIMES=100"),
            Stage("pythons", "fast tests under Python 3.14 and 3.15", "pythons", newer_pythons.find_reason_to_skip),
        ],
    ]


def run(rows: Sequence[Sequence[Stage]]) -> None:
    """Run the rows at the same time, and print their progress at intervals."""

    def in_turn(row: Sequence[Stage]) -> None:
        for stage in row:
            stage.run()

    threads = [threading.Thread(target=in_turn, args=(row,), daemon=True) for row in rows]
    for thread in threads:
        thread.start()
    printed = time.monotonic()
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.2)
        if time.monotonic() - printed > PROGRESS_INTERVAL_S:
            printed = time.monotonic()
            for stage in (stage for row in rows for stage in row):
                if stage.code is None and not stage.left_out and stage.log.exists():
                    lines = stage.log.read_text(errors="replace").split("\n")
                    write(
                        f"          {stage.name}: {next((line for line in reversed(lines) if line.strip()), '')[:100]}"
                    )


def report(stages: Sequence[Stage], took_s: float) -> bool:
    """Print the results. Return whether no stage failed."""
    for stage in stages:
        if stage.code and stage.log.exists():
            lines = stage.log.read_text(errors="replace").splitlines()
            write(f"\n== {stage.name} failed; the end of {stage.log.relative_to(ROOT)}:")
            write("\n".join(lines[-PRINTED_LINES:]))
    write(f"\n{'stage':22}{'wall s':>8}{'CPU s':>8}  result")
    for stage in stages:
        write(f"{stage.name:22}{stage.wall_s:8.0f}{stage.cpu_s:8.0f}  {stage.result}")
    write(f"{'all, with installation':22}{took_s:8.0f}")
    for stage in stages:
        if stage.left_out:
            write(f"left out: {stage.name} ({stage.description}): {stage.left_out}")
    for test in (test for stage in stages for test in stage.reruns):
        write(f"rerun: {test}")
    total = sum((stage.counts for stage in stages), Counter[str]())
    total["failed"] += total["error"] + sum(1 for stage in stages if stage.code and not stage.counts)
    write(f"\n{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return all(stage.code == 0 or stage.left_out for stage in stages)


def main() -> None:
    """Exit with 1 if a stage failed or the run took too long, with 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=("ci", "deep"))
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="folder that contains `conformance`")
    parser.add_argument(
        "--began", type=float, default=time.time(), help="start of the installation, in seconds since 1970"
    )
    options = parser.parse_args()
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    rows = (ci if options.which == "ci" else deep)(options.shared)
    stages = [stage for row in rows for stage in row]
    try:
        run(rows)
    except KeyboardInterrupt:
        report(stages, time.time() - options.began)
        sys.exit(130)
    took_s = time.time() - options.began
    has_passed = report(stages, took_s)
    if has_passed and any(stage.name == "spark" and stage.code == 0 for stage in stages):
        CACHE.mkdir(parents=True, exist_ok=True)
        _spark_marker().touch()
    if options.which == "ci" and took_s > MAX_CI_S:
        sys.exit(f"this took {took_s / 60:.0f} minutes, the limit is {MAX_CI_S // 60}: make the slowest stage shorter")
    sys.exit(0 if has_passed else 1)


if __name__ == "__main__":
    main()
