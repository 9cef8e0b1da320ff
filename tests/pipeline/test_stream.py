"""Following a cluster: what a stream brings is what a batch brings, whatever happens in between."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kohort.pipeline.job.live_reports import passing_reason
from kohort.pipeline.silver.silver_schemas import FROM_THE_LOG
from kohort.testing import Cluster
from tests.pipeline.local_groups import silver_table
from tests.pipeline.written_cluster import World

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1500)]
SEED = int(os.environ.get("KOHORT_SEED", random.SystemRandom().randrange(1 << 32)))


PATIENCE_S = 300
STEPS = 1_200
"""Looks of half a second."""


def is_away(line: str) -> bool:
    """Return whether the output reports an unreachable cluster, which a busy machine may cause too."""
    return "trying again" in line and "127.0.0.1:" in line


@pytest.fixture
def world() -> Iterator[World]:
    with Cluster(nodes=2, seed=SEED % 1000) as kafka:
        yield World(kafka, SEED)


def tables(silver: Path) -> dict[str, list[str]]:
    """Return every table of the log with sorted rows."""
    found = {}
    for table in FROM_THE_LOG:
        if (silver / table).is_dir():
            rows = pq.read_table(silver / table, partitioning=None)
            found[table] = sorted(map(repr, rows.to_pylist()))
    return found


def batch_of(spark: Any, kafka: Any, folder: Path) -> dict[str, list[str]]:
    """Return the tables of one reading of everything."""
    from kohort.pipeline.job.ingest import ingest_sources
    from kohort.pipeline.silver.read_sources import expand
    from kohort.pipeline.sources.found import WIRE, Source

    sources, issues = expand([Source(WIRE, kafka.bootstrap)])
    assert not issues
    ingest_sources(spark, sources, folder)
    return tables(folder)


def to_its_end(start: Callable[[], Any]) -> Any:
    """Run a query to the end of its input; on a busy machine Spark's Python is late, and the stream continues."""
    until = time.monotonic() + PATIENCE_S
    while True:
        query = start()
        try:
            assert query.awaitTermination(PATIENCE_S), "it takes too long"
        except Exception as problem:
            if passing_reason(problem) is None or time.monotonic() > until:
                raise
        else:
            return query


@pytest.mark.deep
def test_restarted_stream_equals_batch(spark: Any, world: World, tmp_path: Path) -> None:
    from kohort.pipeline.job.formats import register
    from kohort.pipeline.job.live_reports import OutputFolders
    from kohort.pipeline.job.stream_follower import silver_stream
    from kohort.pipeline.silver.rolling import roll

    print(f"KOHORT_SEED={SEED}")
    register(spark)
    places = OutputFolders(tmp_path / "follow")
    for _ in range(4):
        world.write(world.random.randrange(20, 60))
        most = world.random.randrange(10, 120)
        if world.random.random() < 0.5:
            to_its_end(partial(silver_stream, spark, world.kafka.bootstrap, places, most=most, available_now=True))
        else:
            query = silver_stream(spark, world.kafka.bootstrap, places, most=most, available_now=True)
            time.sleep(world.random.random() * 3)
            query.stop()
    query = to_its_end(partial(silver_stream, spark, world.kafka.bootstrap, places, available_now=True))
    streamed = tables(places.silver)
    assert streamed == batch_of(spark, world.kafka, tmp_path / "batch")
    assert streamed["offset_commits"]
    progress = query.lastProgress
    assert progress is not None
    roll(places.silver, progress.batchId)
    assert tables(places.silver) == streamed


@pytest.mark.deep
def test_rewritten_batch_replaces_itself(spark: Any, world: World, tmp_path: Path) -> None:
    from kohort.pipeline.job.formats import register
    from kohort.pipeline.job.live_reports import OutputFolders
    from kohort.pipeline.job.stream_follower import silver_stream

    register(spark)
    places = OutputFolders(tmp_path)
    for _ in range(2):
        world.write(20)
        to_its_end(partial(silver_stream, spark, world.kafka.bootstrap, places, available_now=True))
    old_tables = tables(places.silver)
    commits = sorted((Path(places.checkpoint("silver")) / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    commits[-1].unlink()
    for leftover in commits[-1].parent.glob(f".{commits[-1].name}.crc"):
        leftover.unlink()
    to_its_end(partial(silver_stream, spark, world.kafka.bootstrap, places, available_now=True))
    assert tables(places.silver) == old_tables


@pytest.mark.deep
def test_records_come_as_a_frame_too(spark: Any, world: World, tmp_path: Path) -> None:
    from kohort.pipeline.job.formats import register

    register(spark)
    world.write(40)
    stream = spark.readStream.format("group_log").option("maxRecordsPerTrigger", "25").load(world.kafka.bootstrap)
    starts = count()

    def start() -> Any:
        return (
            stream.writeStream.format("memory").queryName(f"seen_{(number := next(starts))}").trigger(availableNow=True)
            .option("checkpointLocation", str(tmp_path / str(number))).start()
        )  # fmt: skip

    query = to_its_end(start)
    rows = spark.table(query.name).select("partition", "offset", "key").collect()
    whole = spark.read.format("group_log").load(world.kafka.bootstrap).select("partition", "offset", "key").collect()
    assert sorted(rows) == sorted(whole)
    assert len([p for p in query.recentProgress if p.numInputRows]) > 1, "the limit made several batches of it"


@pytest.mark.deep
def test_follow_survives_cluster_outage(spark: Any, tmp_path: Path) -> None:
    from kohort.pipeline.job.stream_follower import follow

    said: list[str] = []
    told: list[str] = []
    kafka = Cluster(seed=1)
    running = kafka.__enter__()
    bootstrap = running.bootstrap
    world = World(running, SEED)
    world.ts_ms = round(time.time() * 1000) - 60_000
    steps = count()
    stopped_at: int | None = None

    def until() -> bool:
        nonlocal stopped_at
        step = next(steps)
        if step == 1:
            for _ in range(6):
                world.ts_ms += 1_000
                world.append("orders", world.rebalance("orders"))
        if stopped_at is None and any("orders: 5 rebalances in" in line for line in told):
            kafka.__exit__(None, None, None)
            stopped_at = len(said)
        gone = stopped_at is not None and any(is_away(line) for line in said[stopped_at:])
        return gone or step > STEPS

    log = tmp_path / "broker" / "server.log"
    log.parent.mkdir()
    log.write_text(
        "[2026-05-31 14:23:52,123] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3] [GroupId orders] "
        "Bumped group epoch to 7 with metadata hash 12. (org.apache.kafka.coordinator.group.GroupMetadataManager)\n"
    )
    outcome = follow(spark, bootstrap, tmp_path, said.append, told.append, until=until, every_s=1, places=[log])
    events = silver_table(tmp_path / "tables" / "silver", "events")
    assert events is not None
    assert [(row["group_id"], row["kind"]) for row in events.to_pylist()] == [("orders", "epoch_bumped")]
    assert any("orders: 5 rebalances in" in line for line in told), told
    assert any(map(is_away, said)), said
    assert outcome is not None
    assert outcome.report is not None
    assert outcome.report.exists()
    assert {row["rule"] for row in outcome.issues} >= {"cluster_gone"}


@pytest.mark.deep
def test_unreachable_cluster_is_retried(spark: Any, tmp_path: Path) -> None:
    from kohort.pipeline.job.stream_follower import follow

    said: list[str] = []
    steps = count()
    outcome = follow(
        spark,
        "127.0.0.1:9",
        tmp_path,
        said.append,
        said.append,
        until=lambda: next(steps) > STEPS or any(map(is_away, said)),
    )
    assert outcome is None
    assert any("127.0.0.1:9" in line for line in said), said
