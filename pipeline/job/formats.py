"""Spark data sources for raw records in a frame.

    from kohort.pipeline.job.formats import register
    register(spark)
    spark.read.format("group_log_files").load("/backup/of/a/broker")

Each is a thin adapter over a reader of `sources/`, with one Spark partition per log partition or file. `group_log`
has Kafka's names for TLS and SASL with the prefix `kafka.`, as Spark's own connector does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kohort.client.security import OPEN, Security, from_settings
from kohort.pipeline.job.raw_records import records_of
from kohort.pipeline.job.stream_source import RANGE_COLUMNS, RANGES, GroupLogStream
from kohort.pipeline.silver.read_sources import expand, split
from kohort.pipeline.sources import event_lines, export, found, samples, segments, source_cluster, text_log
from kohort.pipeline.sources.chunk import Chunk, Issue
from kohort.pipeline.sources.found import Source
from kohort.pipeline.sources.stored import source_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = "partition int, offset long, ts_ms long, leader_epoch int, txn string, key binary, value binary"
EVENTS = (
    "event_id string, ts long, node_id int, co_partition int, co_epoch int, group_id string, kind string, "
    "generation int, member_id string, instance_id string, client_id string, cause string, client_reason string, "
    "members int, evicted array<string>, duration_us long, origin string"
)
ENDS = "topic string, part int, sampled_ms long, log_start long, log_end long, last_stable long"


class _Part(InputPartition):
    def __init__(self, sources: list[Source]) -> None:
        self.sources = sources


class _Reader(DataSourceReader):
    def __init__(self, path: str, kinds: tuple[str, ...], names: list[str] | None, security: Security) -> None:
        self.path, self.kinds, self.names, self.security = path, kinds, names, security

    def partitions(self) -> list[_Part]:
        sources, _ = find_all(self.path, self.security)
        selected = [source for source in sources if source.kind in self.kinds]
        if not selected:
            raise ValueError(f"{self.path}: no source of type {' or '.join(self.kinds)}")
        return [_Part(shard) for shard in split(selected, len(selected))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, _Part)
        kind = partition.sources[0].kind
        if self.names is None:
            for chunk in _chunks(partition.sources):
                yield from records_of(chunk).to_batches()
            return
        values = attrgetter(*self.names)
        for source in partition.sources:
            for row in _rows(kind, source):
                if not isinstance(row, Issue):
                    yield values(row)


def find_all(path: str, security: Security = OPEN) -> tuple[list[Source], list[Issue]]:
    sources, issues = found.find_sources(path.split(";"), security)
    sources, more = expand(sources)
    return sources, issues + more


def security_of(options: Mapping[str, str]) -> Security:
    """Return the security of options such as `kafka.security.protocol`, whose names Spark may have lowered."""
    return from_settings({name[6:]: value for name, value in options.items() if name.lower().startswith("kafka.")})


def _chunks(sources: list[Source]) -> Iterator[Chunk]:
    first = sources[0]
    if first.kind == found.SEGMENT:
        yield from segments.read_partition(first.partition, [source_file(source.path) for source in sources])
    for source in sources:
        if source.kind == found.WIRE:
            yield from source_cluster.read_wire(source.path, source.partition, source.security)
        elif source.kind in (found.EXPORT, found.DUMP):
            yield from (export.read_export if source.kind == found.EXPORT else export.read_dump)(
                source_file(source.path)
            )


def _rows(kind: str, source: Source) -> Iterator[object]:
    path = source_file(source.path)
    if kind == found.EVENTS:
        yield from event_lines.read_event_log(path)
    elif kind == found.TEXT_LOG:
        yield from text_log.read_text_log(path)
    else:
        yield from samples.read_end_offsets(path)


class _Source(DataSource):
    kinds: tuple[str, ...] = ()
    columns = RECORDS

    def schema(self) -> str:
        return self.columns

    def _address(self) -> str:
        return self.options.get("path") or self.options.get("kafka.bootstrap.servers") or ""

    def reader(self, schema: Any) -> _Reader:
        raw = self.columns == RECORDS
        return _Reader(
            self._address(),
            self.kinds,
            None if raw else [part.split()[0] for part in self.columns.split(", ")],
            security_of(self.options),
        )


class GroupLog(_Source):
    """Format `group_log`: the offsets topic of a cluster; path or kafka.bootstrap.servers is the bootstrap address."""

    kinds = (found.WIRE,)

    @classmethod
    def name(cls) -> str:
        return "group_log"

    def schema(self) -> str:
        return RANGE_COLUMNS if self.options.get("emit") == RANGES else RECORDS

    def streamReader(self, schema: Any) -> GroupLogStream:  # noqa: N802  (Spark's name)
        return GroupLogStream(self._address(), self.options, security_of(self.options))


class GroupLogFiles(_Source):
    kinds = (found.SEGMENT,)

    @classmethod
    def name(cls) -> str:
        return "group_log_files"


class GroupLogExport(_Source):
    kinds = (found.EXPORT, found.DUMP)

    @classmethod
    def name(cls) -> str:
        return "group_log_export"


class GroupEventLog(_Source):
    kinds = (found.EVENTS,)
    columns = EVENTS

    @classmethod
    def name(cls) -> str:
        return "group_events"


class CoordinatorTextLog(_Source):
    kinds = (found.TEXT_LOG,)
    columns = EVENTS

    @classmethod
    def name(cls) -> str:
        return "coordinator_text_log"


class EndOffsets(_Source):
    kinds = (found.END_OFFSETS,)
    columns = ENDS

    @classmethod
    def name(cls) -> str:
        return "end_offsets"


FORMATS = (GroupLog, GroupLogFiles, GroupLogExport, GroupEventLog, CoordinatorTextLog, EndOffsets)


def register(spark: SparkSession) -> None:
    """Register the formats with a session."""
    for source in FORMATS:
        spark.dataSource.register(source)
