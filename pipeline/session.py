"""One Spark session, set up for this work: small machine by default, the user's Spark where one is named."""

from __future__ import annotations

import os
import re
import socket
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kohort.pipeline.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_PER_ARROW_BATCH = 65_536
"""Spark's default of 10,000 costs a third of the throughput of every step in Python."""

TRIES = 4
"""A task whose worker dies is tried so often, as on a cluster; Spark's own local mode gives up at once."""

_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_ARROW_BATCH),
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
_NEEDS_A_START = {
    # Spark's own pattern, and Kafka's two settings that hold a secret without saying so.
    "spark.redaction.regex": r"(?i)secret|password|passphrase|token|access[.]?key|jaas|keystore[.]key",
}
"""Can't be set for one session of a Spark that runs already."""
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}

_NAME = "kohort analyze"
_PARTS, _SPARKS_PARTS = "spark.sql.shuffle.partitions", "200"
_LOCAL_MASTER = re.compile(r"^local(?:\[(\d+|\*)\])?$")
_CONNECT, _CONNECT_PORT = "sc://", 15002
_STANDALONE = "spark://"
_PATIENCE_S = 5.0


class NoSparkError(RuntimeError):
    """The Spark that was asked for can't be reached; the text says what to do."""


def spark_session(master: str | None = None, extra: dict[str, str] | None = None) -> SparkSession:
    """A session, new or the one that runs already.

    master: a Spark master (`local[2]`, `spark://…`) or a Spark Connect address (`sc://…`). None: what SPARK_REMOTE,
    SPARK_MASTER or spark-submit say, else all cores of this machine up to four. Raises NoSparkError, NoJavaError.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take the first python3 on PATH
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    remote = os.environ.get("SPARK_REMOTE") if master is None else master if master.startswith(_CONNECT) else None
    if remote:
        return _sized(_connected(remote, extra or {}))
    os.environ.pop("SPARK_REMOTE", None)  # PySpark refuses a master beside it, and a master was named
    master = master or (None if _submitted() else os.environ.get("SPARK_MASTER"))
    if master is not None and master.startswith(_STANDALONE):
        _reach_master(master)  # looked for first, so that a session that runs already is not taken for it
    from pyspark.sql import SparkSession

    if running := SparkSession.getActiveSession():
        return running
    builder = SparkSession.builder.appName(_NAME)
    settings = _ALWAYS | _NEEDS_A_START
    if not _submitted():
        os.environ["JAVA_HOME"] = java_home()
        master = with_retries(master or f"local[{min(4, os.cpu_count() or 1)}]")
        builder = builder.master(master)
        if master.startswith("local"):
            settings |= _LOCAL | {"spark.log.level": "ERROR", "spark.driver.extraJavaOptions": _quiet()}
    for name, value in (settings | (extra or {})).items():
        builder = builder.config(name, value)
    return _sized(builder.getOrCreate())


def with_retries(master: str) -> str:
    """A local master that tries a task again whose worker died. Others do."""
    found = _LOCAL_MASTER.match(master)
    return f"local[{found[1] or 1},{TRIES}]" if found else master


def _connected(address: str, extra: dict[str, str]) -> SparkSession:
    """A session of a Spark Connect server: one that runs, or one that PySpark starts (`local[2]` in SPARK_REMOTE)."""
    if address.startswith(_CONNECT):
        _reach(address)
    else:
        os.environ["JAVA_HOME"] = java_home()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(address).appName(_NAME)
    for name, value in (_ALWAYS | extra).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _reach(address: str) -> None:
    """Finds out in seconds that nobody is there: Spark's own client would try for ten minutes, and say nothing."""
    host, port = connect_place(address)
    if problem := _silent(host, port):
        raise NoSparkError(
            f"no Spark Connect server answers at {host}:{port} ({problem}). Spark's sbin/start-connect-server.sh "
            "starts one; --cluster takes a Spark master too"
        )


def _reach_master(master: str) -> None:
    """Finds out in seconds that a standalone cluster has no master. `spark://one:7077,two:7077` names candidates."""
    problems = []
    for named in master.removeprefix(_STANDALONE).split(","):
        host, _, port = named.rpartition(":")
        if not host or not port.isdecimal() or not (problem := _silent(host.strip("[]"), int(port))):
            return  # Spark judges what is odd
        problems.append(f"{named} ({problem})")
    raise NoSparkError(f"no Spark master answers at {' or '.join(problems)}")


def _silent(host: str, port: int) -> str:
    """Why nobody can be reached there; empty if somebody can."""
    try:
        socket.create_connection((host, port), _PATIENCE_S).close()
    except (OSError, OverflowError) as error:
        return str(error)
    return ""


def connect_place(address: str) -> tuple[str, int]:
    """Host and port of `sc://host:port/;options`. Raises NoSparkError."""
    found = urlsplit(address)
    try:
        if found.hostname:
            return found.hostname, found.port or _CONNECT_PORT
    except ValueError:  # a port that is none
        pass
    raise NoSparkError(f"{address} is no Spark Connect address; one looks like sc://host:{_CONNECT_PORT}")


def is_connected(spark: SparkSession) -> bool:
    """Whether Spark runs elsewhere, behind Spark Connect: code of streams runs there, and sees other files."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@lru_cache(maxsize=8)
def parallelism(spark: SparkSession) -> int:
    """Tasks that run at once."""
    if is_connected(spark):  # where only the parts of a range show it
        from pyspark.sql import functions as F  # noqa: N812  (as every reader of Spark code expects)

        return max(1, spark.range(1 << 14).select(F.spark_partition_id().alias("part")).distinct().count())
    return max(1, spark.sparkContext.defaultParallelism)


def _sized(spark: SparkSession) -> SparkSession:
    """As many parts of a shuffle as the cluster has use for, where nobody chose: Spark's own number suits none.

    With 200 of them a stream opens as many state stores at every trigger.
    """
    if spark.conf.get(_PARTS, _SPARKS_PARTS) == _SPARKS_PARTS:
        spark.conf.set(_PARTS, str(2 * parallelism(spark)))
    return spark


def _submitted() -> bool:
    """True inside spark-submit, which has chosen master and Java already."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _quiet() -> str:
    """Spark's start-up lines say nothing to a person who asked about consumer groups; errors still come through."""
    path = Path(tempfile.gettempdir()) / f"kohort-log4j2-{os.getuid()}.properties"
    path.write_text(
        "rootLogger.level = error\n"
        # A stream that fails because the cluster went away is reported in a sentence by its starter.
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
