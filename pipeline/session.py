"""Spark session for an analysis: local by default, or the user's Spark."""

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

ROWS_PER_ARROW_BATCH = 65_536  # Spark's default of 10,000 costs a third of the throughput of every step in Python

TRIES = 4  # Attempts of a task whose worker crashed, as on a cluster; Spark's local mode fails at once.

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
}  # settings that a session of a running Spark cannot change
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
    """The requested Spark cannot be reached; the message contains the fix."""


def spark_session(master: str | None = None, extra: dict[str, str] | None = None) -> SparkSession:
    """Return a new session, or the running one.

    Args:
        master: Spark master (`local[2]`, `spark://…`) or Spark Connect address (`sc://…`). The default is SPARK_REMOTE,
            SPARK_MASTER or the option of spark-submit, else up to four cores of this machine.

    Raises:
        NoSparkError: Spark cannot be reached.
        NoJavaError: No Java on this machine is suitable.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take the first python3 on PATH
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    remote = os.environ.get("SPARK_REMOTE") if master is None else master if master.startswith(_CONNECT) else None
    if remote:
        return _sized(_connected(remote, extra or {}))
    os.environ.pop("SPARK_REMOTE", None)  # PySpark rejects a master in addition, and a master was given
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
        master = with_retries(master or f"local[{spark_cores()}]")
        builder = builder.master(master)
        if master.startswith("local"):
            settings |= _LOCAL | {"spark.log.level": "ERROR", "spark.driver.extraJavaOptions": _quiet()}
    for name, value in (settings | (extra or {})).items():
        builder = builder.config(name, value)
    return _sized(builder.getOrCreate())


def spark_cores() -> int:
    """Return the number of cores that Spark uses on this machine."""
    return min(4, os.cpu_count() or 1)


def with_retries(master: str) -> str:
    """Return the master; a local one with retries of tasks whose worker crashed, as other masters have."""
    match = _LOCAL_MASTER.match(master)
    return f"local[{match[1] or 1},{TRIES}]" if match else master


def _connected(address: str, extra: dict[str, str]) -> SparkSession:
    """Return a session of a Spark Connect server: a running one, or one that PySpark starts.

    With `local[2]` in SPARK_REMOTE, PySpark starts a server.
    """
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
    """Fail in seconds if the server does not respond: Spark's own client would retry silently for ten minutes."""
    host, port = connect_place(address)
    if reason := _silent(host, port):
        raise NoSparkError(
            f"no Spark Connect server answers at {host}:{port} ({reason}). Spark's sbin/start-connect-server.sh "
            "starts one; --cluster takes a Spark master too"
        )


def _reach_master(master: str) -> None:
    """Fail in seconds if a standalone cluster has no master. `spark://one:7077,two:7077` lists candidates."""
    failures = []
    for named in master.removeprefix(_STANDALONE).split(","):
        host, _, port = named.rpartition(":")
        if not host or not port.isdecimal() or not (reason := _silent(host.strip("[]"), int(port))):
            return  # Spark reports invalid addresses itself
        failures.append(f"{named} ({reason})")
    raise NoSparkError(f"no Spark master answers at {' or '.join(failures)}")


def _silent(host: str, port: int) -> str:
    """Return why the port cannot be reached, or an empty string."""
    try:
        socket.create_connection((host, port), _PATIENCE_S).close()
    except (OSError, OverflowError) as error:
        return str(error)
    return ""


def connect_place(address: str) -> tuple[str, int]:
    """Return host and port of `sc://host:port/;options`.

    Raises:
        NoSparkError: The address is invalid.
    """
    parts = urlsplit(address)
    try:
        if parts.hostname:
            return parts.hostname, parts.port or _CONNECT_PORT
    except ValueError:  # an invalid port
        pass
    raise NoSparkError(f"{address} is not a Spark Connect address; expected one like sc://host:{_CONNECT_PORT}")


def is_connected(spark: SparkSession) -> bool:
    """Return whether Spark runs behind Spark Connect: then streaming code runs there, and sees other files."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@lru_cache(maxsize=8)
def parallelism(spark: SparkSession) -> int:
    """Return the number of tasks that run at once."""
    if is_connected(spark):  # where only the parts of a range show it
        from pyspark.sql import functions as F  # noqa: N812  (as every reader of Spark code expects)

        return max(1, spark.range(1 << 14).select(F.spark_partition_id().alias("part")).distinct().count())
    return max(1, spark.sparkContext.defaultParallelism)


def _sized(spark: SparkSession) -> SparkSession:
    """Set the number of shuffle partitions by the size of the cluster, unless the user did.

    With Spark's default of 200 a stream opens as many state stores at every trigger.
    """
    if spark.conf.get(_PARTS, _SPARKS_PARTS) == _SPARKS_PARTS:
        spark.conf.set(_PARTS, str(2 * parallelism(spark)))
    return spark


def _submitted() -> bool:
    """Return whether this runs in spark-submit, which has already chosen master and Java."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _quiet() -> str:
    """Return log settings without Spark's startup lines; errors are still logged."""
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
