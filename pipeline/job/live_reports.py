"""Reports while a cluster is followed: gold and report.html from silver as it is at one moment."""

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

LATE_WORKER = "Python worker failed to connect back"
"""What Spark says when a Python of its own has not started within 10 s, which can't be set otherwise."""
DEAD_WORKER = "Python worker exited unexpectedly"
"""And what it says when one was killed that no task ran in: tasks are tried again by Spark itself."""


@dataclass(frozen=True)
class OutputFolders:
    """What lies where under the output folder."""

    out: Path

    @property
    def silver(self) -> Path:
        return self.out / "tables" / "silver"

    @property
    def alerts(self) -> Path:
        return self.out / "tables" / "alerts"

    @property
    def watched(self) -> Path:
        """How far the alerts' stream has read the log."""
        return self.out / "checkpoints" / "watched.json"

    @property
    def files(self) -> Path:
        """How far text logs and event logs were read."""
        return self.out / "checkpoints" / "files.json"

    def checkpoint(self, stream: str) -> str:
        """Where a stream remembers how far it is."""
        return str(self.out / "checkpoints" / stream)


class FollowEngine(SparkEngine):
    """Analyses groups with news, or all of them."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self.groups, self.all_groups = KeptGroups(self._analyse), False
        self._staging = Path()

    def write_gold(self, silver: Place, gold: Place, window: Window = EVERYTHING) -> RowCounts:
        assert isinstance(silver, Path), "what is followed is kept in folders"
        assert isinstance(gold, Path), "what is followed is kept in folders"
        self._staging = gold / "_packed"
        return write_tables(self.groups.tables(silver, all_groups=self.all_groups), gold)

    def _analyse(self, silver: Path, only: list[str] | None) -> dict[str, dict[str, pa.Table]]:
        found: dict[str, dict[str, list[pa.Table]]] = {}
        for group_id, table, rows in gold_tables(analyse_groups(self._spark, silver, only), self._staging):
            found.setdefault(group_id, {}).setdefault(table, []).append(rows)
        return {
            group_id: {table: pa.concat_tables(days) for table, days in tables.items()}
            for group_id, tables in found.items()
        }


class Reports:
    """Makes the report anew. outcome: of the last one; None: there is none yet."""

    def __init__(
        self, spark: SparkSession, source: Source, folders: OutputFolders, say: Progress, cluster: str,
        files: FollowedFiles | None,
    ) -> None:  # fmt: skip
        """files: what is followed beside the cluster."""
        self._engine, self._source, self._folders = FollowEngine(spark), source, folders
        self._say, self._cluster, self._files = say, cluster, files
        self._shares = FollowedShares(source, cluster)
        self._batch, self._portion = -1, 0
        self.outcome: Outcome | None = None
        self.took_s = 0.0

    def is_due(self, batch: int) -> bool:
        """Whether anything came since the last report. batch: the stream's last one that is done."""
        more_in_files = self._files is not None and self._files.portion > self._portion
        return batch >= 0 and (batch > self._batch or more_in_files or self._shares.grew())

    def make(self, batch: int, *, whatever: bool = False, all_groups: bool = False) -> Outcome | None:
        """None: it failed of something that goes by, and the report before stays. whatever: then it raises, too.

        all_groups: also those of which there is no news.
        """
        self._engine.all_groups = all_groups
        begun = time.monotonic()
        try:
            self.outcome = self._make(batch)
        except Exception as problem:
            if whatever or (reason := passing_reason(problem)) is None:
                raise
            self._say(f"{reason}: the report stays as it is until the next one")
            return None
        self.took_s = time.monotonic() - begun
        return self.outcome

    def _make(self, batch: int) -> Outcome:
        # The batch before the last is committed for certain; what may be written again is not rolled.
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
            made = rebuild(self._engine, [self._source], [], self._folders.out, self._say, self._cluster, view)
        self._batch, self._portion = batch, portion
        return made

    def _is_new(self, batch: str) -> bool:
        """Whether a batch of silver came after the last report. What is rolled came before it."""
        if batch.startswith(PREFIX):
            return int(batch.removeprefix(PREFIX)) >= self._portion
        return batch.isdigit() and int(batch) > self._batch


def passing_reason(problem: Exception) -> str | None:
    """Why something failed that may work the next time; None: it won't."""
    text = str(problem)
    if LATE_WORKER in text:
        return "this machine is too busy to start Spark's Python"
    return "one of Spark's workers died" if DEAD_WORKER in text else None
