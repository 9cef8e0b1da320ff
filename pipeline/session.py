"""One Spark session, set up for this work: small machine by default, the user's Spark where one is named."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kohort.pipeline.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_PER_ARROW_BATCH = 65_536
"""Spark's default of 10,000 costs a third of the throughput of every step in Python."""

_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_ARROW_BATCH),
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.parquet.compression.codec": "zstd",
    # Spark's own pattern, and Kafka's two settings that hold a secret without saying so.
    "spark.redaction.regex": r"(?i)secret|password|passphrase|token|access[.]?key|jaas|keystore[.]key",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def spark_session(master: str | None = None, extra: dict[str, str] | None = None) -> SparkSession:
    """A session, new or the one that runs already.

    master: a Spark master (`local[2]`, `spark://…`) or a Spark Connect address (`sc://…`). None: what SPARK_REMOTE,
    SPARK_MASTER or spark-submit say, else all cores of this machine up to four.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take the first python3 on PATH
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    master = master or os.environ.get("SPARK_REMOTE") or os.environ.get("SPARK_MASTER")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("kohort analyze")
    settings = dict(_ALWAYS)
    if master and master.startswith("sc://"):
        builder = builder.remote(master)
    else:
        if running := SparkSession.getActiveSession():
            return running
        if not _submitted():
            os.environ["JAVA_HOME"] = java_home()
            master = master or f"local[{min(4, os.cpu_count() or 1)}]"
            builder = builder.master(master)
            if master.startswith("local"):
                settings |= _LOCAL | {"spark.log.level": "ERROR", "spark.driver.extraJavaOptions": _quiet()}
    for name, value in (settings | (extra or {})).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _submitted() -> bool:
    """True inside spark-submit, which has chosen master and Java already."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _quiet() -> str:
    """Spark's start-up lines say nothing to a person who asked about consumer groups; errors still come through."""
    path = Path(tempfile.gettempdir()) / f"kohort-log4j2-{os.getuid()}.properties"
    path.write_text(
        "rootLogger.level = error\n"
        # A stream that fails because the cluster went away is told of in a sentence, by whoever started it.
        "logger.streaming.name = org.apache.spark.sql.execution.streaming\n"
        "logger.streaming.level = off\n"
        "rootLogger.appenderRef.stderr.ref = stderr\n"
        "appender.stderr.type = Console\n"
        "appender.stderr.name = stderr\n"
        "appender.stderr.target = SYSTEM_ERR\n"
        "appender.stderr.layout.type = PatternLayout\n"
        "appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n\n"
    )
    return f"-Dlog4j2.configurationFile={path} -XX:+UseParallelGC -Djava.net.preferIPv4Stack=true"
