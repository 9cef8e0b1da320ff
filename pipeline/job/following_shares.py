"""Records of share coordinators while a cluster is followed, read for each report from the previous position.

A share group with a stable membership writes nothing to the offsets topic, so its progress is visible only here. After
a restart the topic is read from the start; duplicate records in silver count once.
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

ASKED_EVERY_S = 5.0  # polling interval of the end offsets


class FollowedShares:
    """Topic __share_group_state of one cluster, and the positions read up to."""

    def __init__(self, source: Source, cluster: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._source, self._cluster, self._clock = source, cluster, clock
        self._read_to: dict[int, int] = {}
        self._asked_s, self._grew = float("-inf"), False

    def grew(self) -> bool:
        """Return whether there are new records; False if the cluster is unreachable."""
        if self._clock() - self._asked_s >= ASKED_EVERY_S:
            self._asked_s = self._clock()
            connected = SourceCluster(self._source.path, self._source.security)
            try:
                self._grew = any(self._rest(part) for part in share_partitions(connected)[0])
            except OSError:  # the streams report the unreachable cluster
                self._grew = False
            finally:
                connected.close()
        return self._grew

    def read(self, writer: Writer) -> None:
        """Read new records. An error becomes a row of dq_issues and is retried the next time."""
        connected = SourceCluster(self._source.path, self._source.security)
        try:
            parts, issues = share_partitions(connected)
            for issue in issues:
                issue_row(issue, self._cluster, writer)
            for part in filter(None, map(self._rest, parts)):
                self._read_part(connected, part, writer)
        except OSError as error:
            text = f"cannot read the delivery states of share groups: {error}"
            issue_row(Issue("cluster_gone", SHARE_STATE_TOPIC, text), self._cluster, writer)
        finally:
            connected.close()
        self._grew = False

    def _rest(self, part: Part) -> Part | None:
        """Return the unread part of a partition, or None. Read records may have been deleted since."""
        start = max(part.start, self._read_to.get(part.partition, part.start))
        return replace(part, start=start) if start < part.end else None

    def _read_part(self, connected: SourceCluster, part: Part, writer: Writer) -> None:
        silver = ShareStateRows(self._cluster, self._source.rank)
        for chunk in read_range(connected, part):
            for table, rows in silver.add(chunk):
                writer.add(table, rows)
            if len(chunk):
                self._read_to[part.partition] = int(chunk.offset[-1]) + 1
