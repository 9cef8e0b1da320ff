"""Reports of `kohort follow` without Spark, by `kohort analyze` in a child process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kohort.pipeline.job.error_log import ErrorLog
from kohort.pipeline.job.follow_output import FollowOutput
from kohort.pipeline.job.telling import Telling
from kohort.pipeline.live.open_rebalances import OpenRebalances
from kohort.pipeline.sources.source_cluster import WireError


@dataclass
class ReportProcess:
    """Reports by `kohort analyze`, one at a time."""

    command: Sequence[str]
    out: Path
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    took_s: float = 0.0

    def start(self) -> None:
        """Start a report unless one is being made."""
        if self.process is not None:
            return
        self.out.mkdir(parents=True, exist_ok=True)
        self.started_s = time.monotonic()
        with (self.out / "report.log").open("wb") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
            )

    def finished(self, timeout_s: float = 0.0) -> bool:
        """Return whether a report has just been finished; the process is removed then.

        Raises:
            WireError: The report failed.
        """
        if self.process is None:
            return False
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        self.process, self.took_s = None, time.monotonic() - self.started_s
        if code:
            log = self.out / "report.log"
            lines = log.read_text(errors="replace").strip().splitlines()
            raise WireError(f"{lines[-1] if lines else f'exit code {code}'} (see {log})")
        return True

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def report_command(address: str, places: Sequence[Path], out: Path, name: str, config: Path | None) -> list[str]:
    """Return the command that analyzes the last hour."""
    command = [sys.executable, "-m", "kohort", "analyze", address, *map(str, places), "--engine", "local"]
    command += ["--last", "1h", "--out", str(out), "--name", name]
    return command + (["--command-config", str(config)] if config is not None else [])


class ReportLoop:
    """Starts reports and takes their results."""

    def __init__(
        self,
        reports: ReportProcess,
        output: FollowOutput,
        rebalances: OpenRebalances,
        alerts: Telling,
        say: Callable[[str], None],
    ) -> None:
        self._reports, self._output, self._rebalances = reports, output, rebalances
        self._alerts, self._errors = alerts, ErrorLog(say)
        self._started_s = float("-inf")

    def is_due(self, every_s: float) -> bool:
        return time.monotonic() - self._started_s >= every_s

    def start(self) -> None:
        self._started_s = time.monotonic()
        self._reports.start()

    def take_finished(self, timeout_s: float = 0.0) -> None:
        """Publish the findings of a report that has just been finished, or print why it failed."""
        try:
            if not self._reports.finished(timeout_s):
                return
        except WireError as error:
            self._errors.add(f"no report was made: {error}")
            return
        out = self._reports.out
        findings = json.loads((out / "findings.json").read_text())
        gold = out / "tables" / "gold"
        self._output.report(findings, gold, self._reports.took_s, self._rebalances, self._alerts.hear)
