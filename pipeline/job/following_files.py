"""Text logs and event logs of brokers followed together with a cluster; their new events are appended to silver.

Silver batches of files are called `lines-…`; those of the stream have numbers. The newest batch is rewritten under
another name with each poll until it is large, so that there are few files. State and batches agree after a crash: a
batch that the state doesn't name is removed, and its lines are read again.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kohort.pipeline.job.error_log import ErrorLog
from kohort.pipeline.job.periodic import looking
from kohort.pipeline.silver.parquet_files import Writer, batch_folder, publish
from kohort.pipeline.silver.ranges import event_ranges
from kohort.pipeline.silver.silver_schemas import table_of
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.event_lines import event_of_line
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.pipeline.sources.tailing import TailedFiles
from kohort.pipeline.sources.text_log import TextLog
from kohort.pipeline.whole_files import replace_text

PREFIX = "lines-"
TABLES = ("events", "event_ranges", "dq_issues")
LOOK_EVERY_S = 1.0
FULL = 20_000  # rows after which a batch is complete and no longer rewritten
MOST_ISSUES = 100  # unreadable lines listed per batch; a file of another type may have millions


class FollowedFiles:
    """Reader that appends the new events of files to silver."""

    def __init__(self, places: list[Path], silver: Path, state: Path, cluster: str = "") -> None:
        """Remove batches that the state doesn't name.

        Args:
            places: Files or folders.
            silver: Folder of silver.
            state: File with the read positions.
            cluster: Name of the cluster in the tables.
        """
        self._silver, self._state, self._cluster = silver, state, cluster
        saved = json.loads(state.read_text()) if state.exists() else {}
        self._files = TailedFiles(places, saved.get("files"))
        self._logs: dict[Path, TextLog] = {}
        self._number: int = saved.get("number", 0)
        self._batches: list[str] = saved.get("batches", [])
        self._next: int = saved.get("next", 0)
        self._rows: list[GroupEvent] = []
        self._issues: list[Issue] = []
        self._open, self._to_write, self.events = "", False, 0
        # held while batches change; a caller that lists silver and then links its files must hold it, too
        self.writing = threading.Lock()
        for table in TABLES:
            for path in silver.glob(f"{table}/batch={PREFIX}*"):
                if path.name.removeprefix("batch=") not in self._batches:
                    shutil.rmtree(path)

    @property
    def portion(self) -> int:
        """Number of the next portion, which grows when events were read."""
        return self._next

    @property
    def problems(self) -> dict[Path, str]:
        """Errors of files that can't be read now."""
        return self._files.problems

    def look(self) -> int:
        """Read new events and return their number."""
        count_before, issues = len(self._rows), len(self._issues)
        for portion in self._files.look():
            for line in portion.lines:
                self._take(portion.path, line)
            log = self._logs.get(portion.path)
            self._issues += log.issues() if log is not None else ()
        new_count = len(self._rows) - count_before
        self.events += new_count
        self._to_write = self._to_write or bool(new_count) or len(self._issues) > issues
        if self._to_write:  # includes rows that could not be written the last time
            with self.writing:
                self._write()
            self._to_write = False
        return new_count

    def _take(self, path: Path, line: str) -> None:
        if line.startswith("{") and '"event_id"' in line:
            try:
                self._rows.append(event_of_line(line))
            except ValueError as error:
                if len(self._issues) < MOST_ISSUES:
                    self._issues.append(Issue("unreadable_line", path.name, str(error)))
            return
        log = self._logs.setdefault(path, TextLog(path.name))
        log.number = self._number
        self._rows += log.events((line,))
        self._number = log.number

    def _write(self) -> None:
        previous_batch, self._open = self._open, f"{PREFIX}{self._next}"
        self._next += 1
        with Writer(self._silver, self._open) as writer:
            if self._rows:
                writer.add("events", table_of("events", self._rows, self._cluster))
            if ranges := event_ranges(self._rows):
                writer.add("event_ranges", table_of("event_ranges", ranges, self._cluster))
            if self._issues:
                writer.add("dq_issues", table_of("dq_issues", self._issues, self._cluster))
        publish(self._silver, self._open, [writer.task])
        self._batches = [*(name for name in self._batches if name != previous_batch), self._open]
        self._keep()
        if previous_batch:  # readers may briefly see a row in both batches; events are deduplicated by id
            for table in TABLES:
                shutil.rmtree(batch_folder(self._silver, table, previous_batch), ignore_errors=True)
        if len(self._rows) >= FULL:
            self._rows, self._issues, self._open = [], [], ""

    def _keep(self) -> None:
        self._state.parent.mkdir(parents=True, exist_ok=True)
        saved = {"files": self._files.state, "number": self._number, "batches": self._batches, "next": self._next}
        replace_text(self._state, json.dumps(saved))


@contextmanager
def following_files(files: FollowedFiles | None, say: Callable[[str], None]) -> Iterator[None]:
    """Poll files until the block ends, including a final poll. Each error is printed once."""
    if files is None:
        yield
        return
    errors = ErrorLog(say)

    def look() -> None:
        try:
            files.look()
        except OSError as failure:  # a full disk, for example; the rows are kept in memory until the next poll
            files.problems[Path(failure.filename or "")] = failure.strerror or str(failure)
        for path, message in files.problems.items():
            errors.add(f"{path}: {message}; it will be read again")

    with looking(look, LOOK_EVERY_S, at_the_end=True):
        yield
