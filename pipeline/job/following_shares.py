"""What share coordinators write while a cluster is followed: read when a report is made, from where it was read before.

A share group whose members stay writes nothing to the offsets topic: it is this that tells of it. After a restart all
is read again. Records that silver has twice count once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from kohort.pipeline.silver.parquet_files import Writer
from kohort.pipeline.silver.read_sources import issue_row
from kohort.pipeline.silver.share_state_rows import ShareStateRows
from kohort.pipeline.sources.chunk import SHARE_STATE_TOPIC, Issue
from kohort.pipeline.sources.found import Source
from kohort.pipeline.sources.source_cluster import Part, SourceCluster, read_range, share_partitions

ASKED_EVERY_S = 5.0
"""How often the cluster is asked whether there is more."""


class FollowedShares:
    """The share coordinators' topic of one cluster, and up to where it was read."""

    def __init__(self, source: Source, cluster: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._source, self._cluster, self._clock = source, cluster, clock
        self._read_to: dict[int, int] = {}
        self._asked_s, self._grew = float("-inf"), False

    def grew(self) -> bool:
        """Whether there is more to read, as far as the cluster answers."""
        if self._clock() - self._asked_s >= ASKED_EVERY_S:
            self._asked_s = self._clock()
            connected = SourceCluster(self._source.path, self._source.security)
            try:
                self._grew = any(self._rest(part) for part in share_partitions(connected)[0])
            except OSError:  # the streams say that the cluster is away
                self._grew = False
            finally:
                connected.close()
        return self._grew

    def read(self, writer: Writer) -> None:
        """Reads on. What can't be read becomes a row of dq_issues, and is tried again the next time."""
        connected = SourceCluster(self._source.path, self._source.security)
        try:
            parts, issues = share_partitions(connected)
            for issue in issues:
                issue_row(issue, self._cluster, writer)
            for part in filter(None, map(self._rest, parts)):
                self._read_part(connected, part, writer)
        except OSError as error:
            text = f"what became of share groups' records is unread: {error}"
            issue_row(Issue("cluster_gone", SHARE_STATE_TOPIC, text), self._cluster, writer)
        finally:
            connected.close()
        self._grew = False

    def _rest(self, part: Part) -> Part | None:
        """What of a partition was not read; None: nothing. Read records may have been deleted since."""
        start = max(part.start, self._read_to.get(part.partition, part.start))
        return replace(part, start=start) if start < part.end else None

    def _read_part(self, connected: SourceCluster, part: Part, writer: Writer) -> None:
        silver = ShareStateRows(self._cluster, self._source.rank)
        for chunk in read_range(connected, part):
            for table, rows in silver.add(chunk):
                writer.add(table, rows)
            if len(chunk):
                self._read_to[part.partition] = int(chunk.offset[-1]) + 1
