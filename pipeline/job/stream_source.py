"""`group_log` as a stream: the offsets topic as it grows, with limits, restarts and a common end for `availableNow`.

An offset of the stream is, for each partition of the topic, the offset up to which it has been read: `{"7": 1200}`. It
never goes beyond what is stable, so that no transaction is judged before its end; where a limit cuts a partition, it
cuts between record batches, so that what a coordinator wrote in one operation stays together. The same range read again
gives the same records, less those that compaction has taken meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from kohort.client.security import OPEN, Security
from kohort.pipeline.job.raw_records import records_of
from kohort.pipeline.live.watching import WatchedUntil
from kohort.pipeline.sources.chunk import Chunk
from kohort.pipeline.sources.source_cluster import (
    OFFSETS_TOPIC,
    Part,
    SourceCluster,
    WireError,
    batch_end,
    partitions,
    read_range,
)

RECORDS, RANGES = "records", "ranges"
RANGE_COLUMNS = "partition int, start long, end long"
"""What `emit=ranges` gives instead of records: where there are some, for workers that read them themselves."""

Offset = dict[str, Any]


TASKS = 4
"""A batch of a stream is small: more tasks would only wait for each other's start."""


class Ranges(InputPartition):
    """Stretches of some partitions."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts


class GroupLogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Options: `startingOffsets` earliest (default) or latest; `maxRecordsPerTrigger`; `emit` records or ranges.

    `watchedFile`: where to write how far the log has been read.
    """

    def __init__(self, address: str, options: Mapping[str, str], security: Security = OPEN) -> None:
        self._address = address
        self._security = security
        self._from_latest = options.get("startingOffsets", "earliest") == "latest"
        self._most = int(options.get("maxRecordsPerTrigger", "0"))
        self._emit = options.get("emit", RECORDS)
        self._watched = WatchedUntil(Path(options["watchedFile"])) if "watchedFile" in options else None
        self._cluster: SourceCluster | None = None
        self._target: Offset | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What a task needs: no open sockets."""
        return {**self.__dict__, "_cluster": None}

    # On the driver

    def initialOffset(self) -> Offset:  # noqa: N802  (Spark's name)
        """Where the stream starts. Raises WireError: the cluster or the topic is not there."""
        return {str(p): part.end if self._from_latest else part.start for p, part in self._parts().items()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """How much of what there is one trigger takes."""
        return ReadMaxRows(self._most) if self._most else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """From now on the end is where it is now."""
        self._target = {str(p): part.end for p, part in self._parts().items()}

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802
        """Where the log ends, whatever a limit lets through."""
        try:
            return {str(p): part.end for p, part in self._parts().items()}
        except OSError:
            return None

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """How far the next batch goes. Raises WireError."""
        looked_ms = round(time.time() * 1000)
        parts = self._parts()
        ends = {str(p): part.end for p, part in parts.items()}
        if self._target is not None:
            ends = {p: min(end, self._target.get(p, end)) for p, end in ends.items()}
        for p, end in ends.items():
            if end < start.get(p, 0):
                raise WireError(
                    f"{self._address}: partition {p} of {OFFSETS_TOPIC} ends at {end}, but was read to {start[p]} "
                    "before: this is another cluster, or its log was lost; follow it with another --out"
                )
        # A partition that has no leader at the moment stays where it is.
        ends = {p: max(ends.get(p, begin), begin) for p, begin in start.items()} | {
            p: end for p, end in ends.items() if p not in start
        }
        everything = ends
        if isinstance(limit, ReadMaxRows):
            ends = self._limited(start, ends, limit.max_rows, parts)
        if self._watched is not None:
            self._watched.looked(looked_ms, to_the_end=ends == everything)
        return ends

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """A task for each partition of the topic that has grown; of mere ranges a few, with about as much in each."""
        parts = self._parts()
        found = []
        for name, stop in sorted(end.items(), key=lambda each: int(each[0])):
            begin = start.get(name, 0)
            known = parts.get(int(name))
            if stop > begin:
                host, port = (known.host, known.port) if known is not None else ("", 0)
                found.append(Part(int(name), host, port, begin, stop))
        if self._emit == RECORDS:
            return [Ranges([part]) for part in found]
        shards: list[list[Part]] = [[] for _ in range(min(TASKS, len(found)))]
        for part in sorted(found, key=lambda part: part.start - part.end):
            min(shards, key=lambda shard: sum(each.end - each.start for each in shard)).append(part)
        return [Ranges(shard) for shard in shards]

    def commit(self, end: Offset) -> None:
        """Nothing is kept on the cluster's side."""

    def stop(self) -> None:
        """Closes what is open on the driver."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _limited(self, start: Offset, ends: Offset, most: int, parts: dict[int, Part]) -> Offset:
        """Each partition gets its share of the limit, at least one batch, so that none is left behind."""
        assert self._cluster is not None, "it was asked for the ends just now"
        waiting = {p: end - start.get(p, 0) for p, end in ends.items() if end > start.get(p, 0)}
        total = sum(waiting.values())
        if total <= most:
            return ends
        cut = dict(ends)
        for p, count in waiting.items():
            begin = start.get(p, 0)
            wanted = begin + max(1, count * most // total)
            if wanted < ends[p]:
                # The batch in which the cut would lie comes whole: one that is longer than the share must come once.
                after = batch_end(self._cluster, parts[int(p)], wanted - 1)
                cut[p] = min(max(after, begin + 1), ends[p])
        return cut

    def _parts(self) -> dict[int, Part]:
        if self._cluster is None:
            self._cluster = SourceCluster(self._address, self._security)
        try:
            return {part.partition: part for part in partitions(self._cluster, with_empty=True)}
        except OSError:
            self.stop()
            raise

    # In a task

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The records of ranges, or (emit=ranges) the ranges. Raises WireError when the cluster goes away."""
        assert isinstance(partition, Ranges)
        if self._emit == RANGES:
            yield from ((part.partition, part.start, part.end) for part in partition.parts)
            return
        with reading(self._address, self._security) as read:
            for part in partition.parts:
                for chunk in read(part.partition, part.start, part.end):
                    if len(chunk):
                        yield from records_of(chunk).to_batches()


Read = Callable[[int, int, int], Iterator[Chunk]]
"""Partition, start and end to what is there."""


@contextmanager
def reading(address: str, security: Security = OPEN) -> Iterator[Read]:
    """Reads ranges of partitions from their present leaders, over the same connections. Raises WireError."""
    cluster = SourceCluster(address, security)
    try:
        led = {each.partition: each for each in partitions(cluster)}

        def read(partition: int, start: int, end: int) -> Iterator[Chunk]:
            leader = led.get(partition)
            if leader is None:
                raise WireError(f"{address}: partition {partition} of {OFFSETS_TOPIC} has no leader")
            begin = max(start, leader.start)  # what retention has taken meanwhile is a hole, and is reported as one
            part = Part(partition, leader.host, leader.port, begin, end)
            yield from read_range(cluster, part, continues=start > leader.start)

        yield read
    finally:
        cluster.close()
