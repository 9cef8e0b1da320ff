"""`group_log` as a stream of the growing offsets topic, with limits, restarts and a fixed end for `availableNow`.

An offset of the stream maps partitions of the topic to the offset read up to: `{"7": 1200}`. It never exceeds the last
stable offset, so that transactions are complete; a limit cuts a partition between record batches, so that the records
of one operation of a coordinator stay together. The same range read again gives the same records, except for those
removed by compaction.
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
# with `emit=ranges`: ranges of offsets, for workers that read the records themselves
RANGE_COLUMNS = "partition int, start long, end long"

Offset = dict[str, Any]


TASKS = 4  # tasks per batch, which is small; more tasks would start later than they could help


class Ranges(InputPartition):
    """Ranges of offsets in some partitions."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts


class GroupLogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Stream of `group_log`.

    Options: `startingOffsets` earliest (default) or latest; `maxRecordsPerTrigger`; `emit` records or ranges;
    `watchedFile` for the position in the log.
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
        """Return the state for a task, without open sockets."""
        return {**self.__dict__, "_cluster": None}

    # On the driver

    def initialOffset(self) -> Offset:  # noqa: N802  (Spark's name)
        """Return the start of the stream.

        Raises:
            WireError: The cluster is unreachable or has no such topic.
        """
        return {str(p): part.end if self._from_latest else part.start for p, part in self._parts().items()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._most) if self._most else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Set the end of the stream to the current end of the log."""
        self._target = {str(p): part.end for p, part in self._parts().items()}

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802
        """Return the end of the log, regardless of the limit."""
        try:
            return {str(p): part.end for p, part in self._parts().items()}
        except OSError:
            return None

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Return the end of the next batch.

        Raises:
            WireError: The cluster is unreachable.
        """
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
        """Return a task for each partition that has grown or, with emit=ranges, a few tasks of similar size."""
        parts = self._parts()
        grown = []
        for name, stop in sorted(end.items(), key=lambda item: int(item[0])):
            begin = start.get(name, 0)
            part_info = parts.get(int(name))
            if stop > begin:
                host, port = (part_info.host, part_info.port) if part_info is not None else ("", 0)
                grown.append(Part(int(name), host, port, begin, stop))
        if self._emit == RECORDS:
            return [Ranges([part]) for part in grown]
        shards: list[list[Part]] = [[] for _ in range(min(TASKS, len(grown)))]
        for part in sorted(grown, key=lambda part: part.start - part.end):
            min(shards, key=lambda shard: sum(item.end - item.start for item in shard)).append(part)
        return [Ranges(shard) for shard in shards]

    def commit(self, end: Offset) -> None:
        pass

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _limited(self, start: Offset, ends: Offset, most: int, parts: dict[int, Part]) -> Offset:
        """Distribute the limit over the partitions by their lag, with at least one batch each."""
        assert self._cluster is not None, "latestOffset has just connected"
        waiting = {p: end - start.get(p, 0) for p, end in ends.items() if end > start.get(p, 0)}
        total = sum(waiting.values())
        if total <= most:
            return ends
        cut = dict(ends)
        for p, count in waiting.items():
            begin = start.get(p, 0)
            target = begin + max(1, count * most // total)
            if target < ends[p]:
                # Batches are never split, even if one exceeds the limit, so that the stream makes progress.
                after = batch_end(self._cluster, parts[int(p)], target - 1)
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
        """Yield the records of ranges or, with emit=ranges, the ranges.

        Raises:
            WireError: The cluster is unreachable.
        """
        assert isinstance(partition, Ranges)
        if self._emit == RANGES:
            yield from ((part.partition, part.start, part.end) for part in partition.parts)
            return
        with reading(self._address, self._security) as read:
            for part in partition.parts:
                for chunk in read(part.partition, part.start, part.end):
                    if len(chunk):
                        yield from records_of(chunk).to_batches()


Read = Callable[[int, int, int], Iterator[Chunk]]  # arguments: partition, start, end


@contextmanager
def reading(address: str, security: Security = OPEN) -> Iterator[Read]:
    """Return a function that reads ranges of partitions from their current leaders over shared connections.

    Raises:
        WireError: The cluster is unreachable.
    """
    cluster = SourceCluster(address, security)
    try:
        led = {part.partition: part for part in partitions(cluster)}

        def read(partition: int, start: int, end: int) -> Iterator[Chunk]:
            leader = led.get(partition)
            if leader is None:
                raise WireError(f"{address}: partition {partition} of {OFFSETS_TOPIC} has no leader")
            begin = max(start, leader.start)  # records deleted by retention in the meantime are reported as a gap
            part = Part(partition, leader.host, leader.port, begin, end)
            yield from read_range(cluster, part, continues=start > leader.start)

        yield read
    finally:
        cluster.close()
