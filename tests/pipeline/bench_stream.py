"""How long a batch of the stream takes: `python -m tests.pipeline.bench_stream`, part of `make bench-pipeline`.

A kohort cluster in this process is given commits of many groups at a steady rate; a stream with a trigger of one second
appends them to silver. Counted are the batches after the first few, by their whole time as Spark reports it.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from pathlib import Path

from kohort.coordinator.groups.group_placement import partition_for
from kohort.coordinator.offsets.offsets_topic_records import expiring_offset_value, offset_key
from kohort.pipeline.job.formats import register
from kohort.pipeline.job.live_reports import OutputFolders
from kohort.pipeline.job.stream_follower import silver_stream
from kohort.pipeline.session import spark_session
from kohort.protocol.batches import Record, build_batch
from kohort.testing import Cluster

RATE = 5_000
"""Records a second."""
GROUPS, PARTS = 50, 10
TRIGGER_S = 1.0
SECONDS = 40
WARM_UP_BATCHES = 5
FLOOR_S, AIM_S = 1.0, 0.6


def main() -> None:
    with Cluster(nodes=1) as kafka, tempfile.TemporaryDirectory(prefix="kohort-bench-") as folder:
        stop = threading.Event()
        writer = threading.Thread(target=write, args=(kafka, stop), daemon=True)
        spark = spark_session("local[2]")
        register(spark)
        writer.start()
        query = silver_stream(spark, kafka.bootstrap, OutputFolders(Path(folder)), trigger_s=TRIGGER_S)
        time.sleep(SECONDS)
        if problem := query.exception():
            raise SystemExit(f"the stream failed: {problem}")
        batches = [p for p in query.recentProgress if p.numInputRows][WARM_UP_BATCHES:]
        query.stop()
        stop.set()
        writer.join()
        spark.stop()
    times = sorted(progress.durationMs["triggerExecution"] / 1000 for progress in batches)
    p95 = statistics.quantiles(times, n=20)[-1]
    verdict = "reached" if p95 <= AIM_S else "above the floor" if p95 <= FLOOR_S else "MISSED"
    print(f"stream of {RATE:,} records/s, {TRIGGER_S:.0f} s trigger: {len(times)} batches")
    print(f"  median {statistics.median(times):.2f} s, p95 {p95:.2f} s (floor {FLOOR_S}, aim {AIM_S}): {verdict}")


def write(kafka: object, stop: threading.Event) -> None:
    """Write a tenth of the rate every 0.1 s, as fifty groups with ten partitions each would commit."""
    began, written = time.monotonic(), 0
    while not stop.wait(max(0.0, began + written / RATE - time.monotonic())):
        for _ in range(RATE // 10 // PARTS):
            group = f"group-{written // PARTS % GROUPS}"
            now_ms = round(time.time() * 1000)
            value = expiring_offset_value(written, "", now_ms, now_ms + 1_000)
            records = [Record(offset_key(group, "topic", part), value, now_ms) for part in range(PARTS)]
            batch = build_batch(records)
            kafka.topics.append_batch("__consumer_offsets", batch, partition=partition_for(group, 50))  # type: ignore[attr-defined]
            written += PARTS


if __name__ == "__main__":
    main()
