"""Choice of the engine of `kohort analyze`: this process as long as it is faster, Spark for larger inputs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kohort.base.lean_imports import without
from kohort.pipeline.terminal import progress, spark_tasks, speaking_to

if TYPE_CHECKING:
    from kohort.pipeline.analysis.engine import Engine
    from kohort.pipeline.remote_path import Place
    from kohort.pipeline.sources.found import Source

AUTO, LOCAL, SPARK = "auto", "local", "spark"
# environment variables that choose a Spark without --cluster; the last one is set by spark-submit
_NAMED_BY = ("SPARK_REMOTE", "SPARK_MASTER", "PYSPARK_GATEWAY_PORT")


def checked_engine(engine: str, master: str | None) -> bool:
    """Return whether the options need Spark.

    Raises:
        click.UsageError: --engine local is combined with an option that needs Spark.
    """
    if engine == LOCAL and master is not None:
        raise click.UsageError("--engine local cannot be combined with --cluster, which needs Spark")
    return needs_spark(engine, master)


def needs_spark(engine: str, master: str | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the options need Spark, however many records there are."""
    named = master is not None or any(environment.get(name) for name in _NAMED_BY)
    return engine == SPARK or (engine == AUTO and named)


def engine_for_names(out: Place, with_spark: bool) -> str:
    """Return the engine that replaces names.

    Raises:
        click.UsageError: Other options need Spark, or the results go to an object store.
    """
    if with_spark:
        raise click.UsageError("--anonymize cannot be combined with --cluster or --engine spark")
    if not isinstance(out, Path):
        raise click.UsageError(f"--anonymize writes to a folder of this machine, not to {out}")
    return LOCAL


def chosen_engine(
    engine: str, master: str | None, sources: list[Source], environment: Mapping[str, str] = os.environ
) -> str:
    """Return LOCAL or SPARK, depending on the options, the number of records and the machine.

    Raises:
        click.ClickException: Spark is needed and isn't installed.
    """
    from kohort.pipeline.analysis.engine import about_records, local_records, memory_bytes
    from kohort.pipeline.session import spark_cores

    if engine != AUTO:
        return engine
    if needs_spark(engine, master, environment):
        return SPARK
    count = about_records(sources)
    if count <= local_records(spark_cores(), memory_bytes()):
        return LOCAL
    if find_spec("pyspark") is None:
        raise click.ClickException(
            f"about {count / 1_000_000:.0f} million records need Spark: pip install 'kohort[pipeline]', or wait with "
            "--engine local; --last and --group reduce the work"
        )
    return SPARK


@contextmanager
def opened_engine(
    chosen: str, master: str | None, notes: Callable[[], Path]
) -> Iterator[tuple[Engine, Callable[[], str]]]:
    """Start the engine; yield it with a function that returns its progress as text.

    Args:
        notes: Returns the folder of Spark's log.

    Raises:
        NoSparkError, NoJavaError: Spark can't be started.
    """
    if chosen == LOCAL:
        with without("hypothesis", "pandas"):
            from kohort.pipeline.analysis.local_engine import LocalEngine

        local = LocalEngine()
        yield local, local.describe_progress
        return
    from kohort.pipeline.session import spark_session

    with spark_apart(notes()):
        with progress() as show_progress:
            show_progress("starting Spark …")
            spark = spark_session(master)
        try:
            from kohort.pipeline.job.spark_engine import SparkEngine

            yield SparkEngine(spark), spark_tasks(spark)
        finally:
            spark.stop()


@contextmanager
def spark_apart(out: Path) -> Iterator[None]:
    """Redirect stderr of Java, Spark's workers and PySpark's threads to `spark.log` in the folder."""
    sys.stderr.flush()
    own_stderr, terminal = sys.stderr, os.dup(2)
    with (
        open(out / "spark.log", "a", encoding="utf-8", errors="replace", buffering=1) as log,
        os.fdopen(terminal, "w", buffering=1, closefd=False) as ours,
        speaking_to(ours),
    ):
        os.dup2(log.fileno(), 2)
        sys.stderr = log
        try:
            yield
        finally:
            sys.stderr = own_stderr
            os.dup2(terminal, 2)
            os.close(terminal)
