"""Brokers' text logs and event logs beside a cluster that is followed: their new events go into silver as they come.

Silver batches of files are called `lines-…`; those of the stream have numbers. The newest one is written anew with each
look until it's large, under another name, so that files stay few. State and batches agree after a crash: a batch that
the state doesn't name is removed, and its lines are read again.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

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
FULL = 20_000
"""Rows of a batch that isn't written anew any more."""
MOST_ISSUES = 100
"""Unreadable lines that a batch names: a file of another kind may have millions."""


class FollowedFiles:
    """Reads what was added to files, and keeps it in silver."""

    def __init__(self, places: list[Path], silver: Path, state: Path, cluster: str = "") -> None:
        """state: the file in which is kept how far was read."""
        self._silver, self._state, self._cluster = silver, state, cluster
        known = json.loads(state.read_text()) if state.exists() else {}
        self._files = TailedFiles(places, known.get("files"))
        self._logs: dict[Path, TextLog] = {}
        self._number: int = known.get("number", 0)
        self._batches: list[str] = known.get("batches", [])
        self._next: int = known.get("next", 0)
        self._rows: list[GroupEvent] = []
        self._issues: list[Issue] = []
        self._open, self._to_write, self.events = "", False, 0
        self.writing = threading.Lock()
        """Held while batches come and go: whoever lists silver and then links its files takes it, too."""
        for table in TABLES:
            for path in silver.glob(f"{table}/batch={PREFIX}*"):
                if path.name.removeprefix("batch=") not in self._batches:
                    shutil.rmtree(path)

    @property
    def portion(self) -> int:
        """The number of the portion that comes next: it grows when something was taken in."""
        return self._next

    @property
    def problems(self) -> dict[Path, str]:
        """Files that can't be read at the moment."""
        return self._files.problems

    def look(self) -> int:
        """Takes in what is new. Returns how many events."""
        before, issues = len(self._rows), len(self._issues)
        for portion in self._files.look():
            for line in portion.lines:
                self._take(portion.path, line)
            log = self._logs.get(portion.path)
            self._issues += log.issues() if log is not None else ()
        found = len(self._rows) - before
        self.events += found
        self._to_write = self._to_write or bool(found) or len(self._issues) > issues
        if self._to_write:  # also what could not be written the last time
            with self.writing:
                self._write()
            self._to_write = False
        return found

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
        before, self._open = self._open, f"{PREFIX}{self._next}"
        self._next += 1
        with Writer(self._silver, self._open) as writer:
            if self._rows:
                writer.add("events", table_of("events", self._rows, self._cluster))
            if ranges := event_ranges(self._rows):
                writer.add("event_ranges", table_of("event_ranges", ranges, self._cluster))
            if self._issues:
                writer.add("dq_issues", table_of("dq_issues", self._issues, self._cluster))
        publish(self._silver, self._open, [writer.task])
        self._batches = [*(name for name in self._batches if name != before), self._open]
        self._keep()
        if before:  # readers may see a row in both for a moment: an event counts once, by its id
            for table in TABLES:
                shutil.rmtree(batch_folder(self._silver, table, before), ignore_errors=True)
        if len(self._rows) >= FULL:
            self._rows, self._issues, self._open = [], [], ""

    def _keep(self) -> None:
        self._state.parent.mkdir(parents=True, exist_ok=True)
        known = {"files": self._files.state, "number": self._number, "batches": self._batches, "next": self._next}
        replace_text(self._state, json.dumps(known))


@contextmanager
def following_files(files: FollowedFiles | None, say: Callable[[str], None]) -> Iterator[None]:
    """Looks once a second until the block ends, and once more then. What can't be read is said once."""
    if files is None:
        yield
        return
    said = set[tuple[Path, str]]()

    def look() -> None:
        try:
            files.look()
        except OSError as error:  # a full disk, for example: nothing of it is lost, it waits
            files.problems[Path(error.filename or "")] = error.strerror or str(error)
        for path, problem in files.problems.items():
            if (path, problem) not in said:
                said.add((path, problem))
                say(f"{path}: {problem}; it is looked at again")

    with looking(look, LOOK_EVERY_S, at_the_end=True):
        yield
