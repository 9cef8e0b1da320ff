"""Reports while a cluster is followed: gold and report.html from a snapshot of silver."""

from __future__ import annotations

import time
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from kohort.pipeline.analysis.analysis_run import Outcome, Progress, rebuild
from kohort.pipeline.analysis.engine import RowCounts
from kohort.pipeline.gold.gold_files import write_tables
from kohort.pipeline.job.following_files import PREFIX, FollowedFiles
from kohort.pipeline.job.following_shares import FollowedShares
from kohort.pipeline.job.gold import analyse_groups, gold_tables
from kohort.pipeline.job.kept_groups import KeptGroups, groups_in
from kohort.pipeline.job.spark_engine import SparkEngine
from kohort.pipeline.remote_path import Place
from kohort.pipeline.silver.parquet_files import UnseenTablesError, Writer, publish, written
from kohort.pipeline.silver.read_sources import sample
from kohort.pipeline.silver.rolling import SAMPLE, roll
from kohort.pipeline.silver.snapshots import snapshot
from kohort.pipeline.sources.found import Source
from kohort.pipeline.sources.window import EVERYTHING, Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark's error if its Python doesn't start within 10 s, a timeout without a setting
LATE_WORKER = "Python worker failed to connect back"
# Spark's error if an idle Python worker was killed; Spark retries tasks itself
DEAD_WORKER = "Python worker exited unexpectedly"


@dataclass(frozen=True)
class OutputFolders:
    """Layout of the output folder."""

    out: Path

    @property
    def silver(self) -> Path:
        return self.out / "tables" / "silver"

    @property
    def alerts(self) -> Path:
        return self.out / "tables" / "alerts"

    @property
    def watched(self) -> Path:
        """File with the position of the alerts' stream in the log."""
        return self.out / "checkpoints" / "watched.json"

    @property
    def files(self) -> Path:
        """File with the positions in text logs and event logs."""
        return self.out / "checkpoints" / "files.json"

    def checkpoint(self, stream: str) -> str:
        return str(self.out / "checkpoints" / stream)


class FollowEngine(SparkEngine):
    """Engine that analyzes changed groups, or all groups."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self.groups, self.all_groups = KeptGroups(self._analyse), False
        self._staging = Path()

    def write_gold(self, silver: Place, gold: Place, window: Window = EVERYTHING) -> RowCounts:
        assert isinstance(silver, Path), "following requires local folders"
        assert isinstance(gold, Path), "following requires local folders"
        self._staging = gold / "_packed"
        return write_tables(self.groups.tables(silver, all_groups=self.all_groups), gold)

    def _analyse(self, silver: Path, only: list[str] | None) -> dict[str, dict[str, pa.Table]]:
        days_by_group: dict[str, dict[str, list[pa.Table]]] = {}
        for group_id, table, rows in gold_tables(analyse_groups(self._spark, silver, only), self._staging):
            days_by_group.setdefault(group_id, {}).setdefault(table, []).append(rows)
        return {
            group_id: {table: pa.concat_tables(days) for table, days in tables.items()}
            for group_id, tables in days_by_group.items()
        }


class Reports:
    """Repeated reports; `outcome` is the latest, or None before the first."""

    def __init__(
        self, spark: SparkSession, source: Source, folders: OutputFolders, say: Progress, cluster: str,
        files: FollowedFiles | None,
    ) -> None:  # fmt: skip
        """Prepare reports on a cluster, and on the files followed together with it."""
        self._engine, self._source, self._folders = FollowEngine(spark), source, folders
        self._say, self._cluster, self._files = say, cluster, files
        self._shares = FollowedShares(source, cluster)
        self._batch, self._portion = -1, 0
        self.outcome: Outcome | None = None
        self.took_s = 0.0

    def is_due(self, batch: int) -> bool:
        """Return whether silver has grown since the last report; `batch` is the last completed batch of the stream."""
        more_in_files = self._files is not None and self._files.portion > self._portion
        return batch >= 0 and (batch > self._batch or more_in_files or self._shares.grew())

    def make(self, batch: int, *, whatever: bool = False, all_groups: bool = False) -> Outcome | None:
        """Make a report, or return None after a transient error, which leaves the previous report in place.

        Args:
            batch: Last completed batch of the stream.
            whatever: Raise transient errors, too.
            all_groups: Analyze unchanged groups, too.
        """
        self._engine.all_groups = all_groups
        begun = time.monotonic()
        try:
            self.outcome = self._make(batch)
        except Exception as error:
            if whatever or (reason := passing_reason(error)) is None:
                raise
            self._say(f"{reason}; keeping the previous report until the next one")
            return None
        self.took_s = time.monotonic() - begun
        return self.outcome

    def _make(self, batch: int) -> Outcome:
        # The last batch may still be rewritten after a restart, so only the batches before it are rolled.
        silver = self._folders.silver
        if not written(silver):
            raise UnseenTablesError(silver)
        self._engine.groups.news(groups_in(silver, self._is_new))
        roll(silver, batch - 1)
        with Writer(silver, number := f"{SAMPLE}{time.time_ns()}") as writer:
            sample([self._source], self._cluster, writer)
            self._shares.read(writer)
        publish(silver, number, [writer.task])
        self._engine.groups.news(groups_in(silver, number.__eq__))
        with ExitStack() as stack:
            with self._files.writing if self._files is not None else nullcontext():
                portion = self._files.portion if self._files is not None else 0
                view = stack.enter_context(snapshot(silver, batch))
            outcome = rebuild(self._engine, [self._source], [], self._folders.out, self._say, self._cluster, view)
        self._batch, self._portion = batch, portion
        return outcome

    def _is_new(self, batch: str) -> bool:
        """Return whether a batch of silver is newer than the last report; rolled batches are older."""
        if batch.startswith(PREFIX):
            return int(batch.removeprefix(PREFIX)) >= self._portion
        return batch.isdigit() and int(batch) > self._batch


def passing_reason(error: Exception) -> str | None:
    """Describe a transient error of Spark, or return None for other errors."""
    text = str(error)
    if LATE_WORKER in text:
        return "this machine is too busy to start Spark's Python"
    return "one of Spark's workers died" if DEAD_WORKER in text else None
