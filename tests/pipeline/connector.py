"""Reads a topic with Spark's own Kafka connector, as a batch and as a stream; prints what it found as JSON.

Run as `python -m tests.pipeline.connector BOOTSTRAP TOPIC JARS CHECKPOINT`. A process of its own: the connector's jars
must be named when Spark starts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kohort.pipeline.session import spark_session


def main() -> None:
    bootstrap, topic, jars, checkpoint = sys.argv[1:]
    spark = spark_session("local[2]", {"spark.jars": ",".join(map(str, sorted(Path(jars).glob("*.jar"))))})
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    columns = ("partition", "offset", "CAST(value AS STRING) AS value")
    rows = spark.read.format("kafka").options(**options).load().selectExpr(*columns).collect()
    query = (
        spark.readStream.format("kafka")
        .options(**options, maxOffsetsPerTrigger="7")
        .load()
        .selectExpr(*columns)
        .writeStream.format("memory")
        .queryName("seen")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(120)
    streamed = spark.table("seen").collect()
    batches = len([progress for progress in query.recentProgress if progress.numInputRows])
    print(json.dumps({"batch": sorted(map(list, rows)), "stream": sorted(map(list, streamed)), "batches": batches}))
    spark.stop()


if __name__ == "__main__":
    main()
