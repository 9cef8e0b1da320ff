"""Client that reads partitions of coordinator topics from kohort or a Kafka cluster.

It joins no group and commits nothing, so it leaves no trace in the topic it reads. It reads with read_committed:
aborted transactions are filtered here, as in Java's consumer (KIP-98).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kohort.client.security import OPEN, Security
from kohort.pipeline.records.segment_batches import HEADER_SIZE, Records, read_segment, select
from kohort.pipeline.sources.chunk import (
    ABORTED,
    COMMITTED,
    NO_TRANSACTION,
    OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    Chunk,
    Issue,
)
from kohort.pipeline.sources.found import SHARE_WIRE, WIRE, Source
from kohort.pipeline.sources.segments import control_type
from kohort.pipeline.sources.source_connection import FETCH, LIST_OFFSETS, METADATA, Connection, WireError
from kohort.pipeline.sources.source_rows import LogEndSample, TopicName
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kohort.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kohort.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

__all__ = ["OFFSETS_TOPIC", "Part", "SourceCluster", "WireError"]

FETCH_BYTES = 8 << 20
READ_UNCOMMITTED, _READ_COMMITTED = 0, 1
_EARLIEST, LATEST = -2, -1
_LISTED_AT_ONCE = 2_000  # partitions per ListOffsets request; brokers reject much larger ones
_WHY_NOT = {
    ErrorCode.unknown_topic_or_partition: "isn't there: no group has ever committed or joined",
    ErrorCode.topic_authorization_failed: "is closed to this user: it needs Describe and Read on that topic",
}


class SourceCluster:
    """Connections, opened on demand, to the brokers of a bootstrap address (`host:port`, comma-separated)."""

    def __init__(self, bootstrap: str, security: Security = OPEN) -> None:
        self.bootstrap, self.security = bootstrap, security
        self._open: dict[tuple[str, int], Connection] = {}

    def connection(self, host: str, port: int) -> Connection:
        return self._open.setdefault((host, port), Connection(host, port, self.security))

    def metadata(self, topics: tuple[str, ...] | None) -> MetadataResponse:
        requested_topics = None if topics is None else tuple(MetadataRequestTopic(name=name) for name in topics)
        request = MetadataRequest(topics=requested_topics, allow_auto_topic_creation=False)
        last_error: OSError | None = None
        for address in self.bootstrap.split(","):
            host, _, port = address.strip().rpartition(":")
            try:
                answer: MetadataResponse = self.connection(host.strip("[]"), int(port)).ask(METADATA, request)
            except OSError as error:
                last_error = error
                continue
            except ValueError as error:
                last_error = OSError(f"{address.strip()}: {error}")
                continue
            return answer
        raise WireError(str(last_error))

    def offsets(
        self, topics: MetadataResponse, timestamp: int, isolation_level: int = _READ_COMMITTED
    ) -> dict[tuple[str, int], int]:
        """Return the first (-2) or last (-1) offset of each partition of these topics that has a leader.

        Args:
            topics: Metadata of the topics.
            timestamp: -2 or -1, as in ListOffsets.
            isolation_level: 1 makes the last offset the last stable offset, 0 the end of the log.
        """
        brokers = {broker.node_id: broker for broker in topics.brokers}
        by_leader: dict[int, list[tuple[str, int]]] = {}
        for topic in topics.topics:
            for part in topic.partitions:
                if part.leader_id in brokers and topic.name:
                    by_leader.setdefault(part.leader_id, []).append((topic.name, part.partition_index))
        offsets = {}
        for leader, places in by_leader.items():
            broker = brokers[leader]
            for start in range(0, len(places), _LISTED_AT_ONCE):
                parts_by_topic: dict[str, list[ListOffsetsPartition]] = {}
                for name, number in places[start : start + _LISTED_AT_ONCE]:
                    requested_part = ListOffsetsPartition(partition_index=number, timestamp=timestamp)
                    parts_by_topic.setdefault(name, []).append(requested_part)
                request = ListOffsetsRequest(
                    replica_id=-1,
                    isolation_level=isolation_level,
                    topics=tuple(
                        ListOffsetsTopic(name=name, partitions=tuple(parts)) for name, parts in parts_by_topic.items()
                    ),
                )
                answer = self.connection(broker.host, broker.port).ask(LIST_OFFSETS, request)
                for topic in answer.topics:
                    for part in topic.partitions:
                        if part.error_code == 0:
                            offsets[(topic.name, part.partition_index)] = part.offset
        return offsets

    def close(self) -> None:
        for connection in self._open.values():
            connection.close()


@dataclass(frozen=True, slots=True)
class Part:
    """Partition of a coordinator topic, to be read from start up to, but not including, end."""

    partition: int
    host: str
    port: int
    start: int
    end: int
    topic: str = OFFSETS_TOPIC


class NoTopicError(WireError):
    """Error for a topic that the cluster doesn't have."""


def partitions(cluster: SourceCluster, *, with_empty: bool = False, topic_name: str = OFFSETS_TOPIC) -> list[Part]:
    """List the partitions of the topic that have a leader and records.

    Args:
        cluster: Cluster to read.
        with_empty: Include partitions without records.
        topic_name: A coordinator topic.

    Raises:
        NoTopicError: The topic doesn't exist.
        WireError: The topic can't be read.
    """
    about = cluster.metadata((topic_name,))
    topic = next((t for t in about.topics if t.name == topic_name), None)
    if topic is None or topic.error_code != 0:
        code = ErrorCode.unknown_topic_or_partition if topic is None else topic.error_code
        reason = _WHY_NOT.get(code, f"can't be read: {code.name}")
        unknown = code is ErrorCode.unknown_topic_or_partition
        raise (NoTopicError if unknown else WireError)(f"{cluster.bootstrap}: {topic_name} {reason}")
    brokers = {broker.node_id: broker for broker in about.brokers}
    starts, ends = cluster.offsets(about, _EARLIEST), cluster.offsets(about, LATEST)
    parts = []
    for part in sorted(topic.partitions, key=lambda p: p.partition_index):
        topic_partition = (topic_name, part.partition_index)
        if topic_partition in ends and (with_empty or ends[topic_partition] > starts.get(topic_partition, 0)):
            broker = brokers[part.leader_id]
            start, end = starts.get(topic_partition, 0), ends[topic_partition]
            parts.append(Part(part.partition_index, broker.host, broker.port, start, end, topic_name))
    return parts


def batch_end(cluster: SourceCluster, part: Part, offset: int) -> int:
    """Return the offset after the batch with `offset`, or after the next batch; the end of the log if neither exists.

    A coordinator writes the records of one operation in one batch, so a cut at this offset keeps them together.
    """
    data, _ = _fetch(cluster, part, offset, 1)
    headers = [records.headers for records in read_segment(data) if len(records.headers)]
    return int(headers[0].last_offset[0]) + 1 if headers else part.end


def expand(source: Source) -> tuple[list[Source], list[Issue]]:
    """Return one source per partition of a cluster, so that partitions can be read in parallel."""
    cluster, now_ms = SourceCluster(source.path, source.security), round(time.time() * 1000)
    try:
        parts = partitions(cluster)
        of_shares, issues = share_partitions(cluster)
    except OSError as error:
        return [], [Issue("cluster_unreachable", source.path, str(error))]
    finally:
        cluster.close()
    if not parts:
        return [], [Issue("no_source", source.path, f"{OFFSETS_TOPIC} is empty: no group has committed or joined yet")]
    kinds = [*((WIRE, part) for part in parts), *((SHARE_WIRE, part) for part in of_shares)]
    return [
        replace(source, kind=kind, partition=part.partition, size=part.end - part.start, asked_ms=now_ms)
        for kind, part in kinds
    ], issues


def share_partitions(cluster: SourceCluster) -> tuple[list[Part], list[Issue]]:
    try:
        return partitions(cluster, topic_name=SHARE_STATE_TOPIC), []
    except NoTopicError:
        return [], []
    except WireError as error:
        return [], [
            Issue("cluster_gone", SHARE_STATE_TOPIC, f"cannot read the delivery states of share groups: {error}")
        ]


def read_wire(
    address: str, partition: int, security: Security = OPEN, topic: str = OFFSETS_TOPIC
) -> Iterator[Chunk]:  # fmt: skip
    """Yield the current records of one partition; a lost cluster ends it with an issue instead of an error."""
    cluster = SourceCluster(address, security)
    try:
        part = next((p for p in partitions(cluster, topic_name=topic) if p.partition == partition), None)
        if part is not None:
            yield from read_range(cluster, part)
    except OSError as error:
        yield _only(Issue("cluster_gone", f"{address}, partition {partition}", f"reading ended early: {error}"))
    finally:
        cluster.close()


def read_range(cluster: SourceCluster, part: Part, continues: bool = False) -> Iterator[Chunk]:
    """Yield the records of a partition from its start to its end.

    Args:
        cluster: Cluster to read.
        part: Partition and range of offsets.
        continues: All records before `part.start` have been read, so a gap at the start is reported.
    """
    at, expected = part.start, part.start if continues else -1
    aborted = _Aborted()
    while at < part.end:
        data, transactions = _fetch(cluster, part, at, FETCH_BYTES)
        aborted.announce(transactions)
        reached = at
        for records in read_segment(data):
            if not len(records.headers):
                continue
            reached = max(reached, int(records.headers.last_offset[-1]) + 1)
            yield _chunk(part, records, at, expected, aborted, data)
            expected = reached
        if reached == at:
            return  # the last stable offset is reached
        at = reached


def _fetch(cluster: SourceCluster, part: Part, offset: int, most_bytes: int) -> tuple[bytes, Sequence[Any]]:
    """Fetch at least one batch, starting with the one that contains `offset`, and the list of aborted transactions."""
    fetch = FetchPartition(partition=part.partition, fetch_offset=offset, partition_max_bytes=most_bytes)
    topic = FetchTopic(topic=part.topic, partitions=(fetch,))
    request = FetchRequest(
        max_wait_ms=500, min_bytes=1, max_bytes=most_bytes, isolation_level=_READ_COMMITTED, topics=(topic,)
    )
    topics = cluster.connection(part.host, part.port).ask(FETCH, request).responses
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise WireError(f"{part.host}:{part.port} returned other partitions than requested")
    answer = topics[0].partitions[0]
    if answer.error_code != 0:
        reason = _WHY_NOT.get(answer.error_code, f"can't be read: {answer.error_code.name}")
        raise WireError(f"{part.topic}, partition {part.partition} at {offset}, {reason}")
    return b"".join(bytes(piece) for piece in answer.records or ()), answer.aborted_transactions or ()


class _Aborted:
    """Producers with an open aborted transaction, while batches are read in order."""

    def __init__(self) -> None:
        self._coming: list[tuple[int, int]] = []
        self._now: set[int] = set()

    def announce(self, transactions: Any) -> None:
        announced = set(self._coming)
        self._coming += [
            (t.first_offset, t.producer_id) for t in transactions if (t.first_offset, t.producer_id) not in announced
        ]
        self._coming.sort()

    def outcome(self, producer: int, last_offset: int, control: int | None, is_control: bool) -> int:
        while self._coming and self._coming[0][0] <= last_offset:
            self._now.add(self._coming.pop(0)[1])
        if is_control:
            if control == ABORTED:
                self._now.discard(producer)
            return NO_TRANSACTION
        return ABORTED if producer in self._now else COMMITTED


def _chunk(part: Part, records: Records, at: int, expected: int, aborted: _Aborted, data: bytes) -> Chunk:
    headers = records.headers
    outcomes = np.full(len(headers), NO_TRANSACTION, np.int64)
    control = headers.is_control
    for n in np.flatnonzero(headers.is_transactional).tolist():
        begin = int(headers.position[n]) + HEADER_SIZE
        kind = control_type(data[begin : begin + 32]) if control[n] else None
        outcomes[n] = aborted.outcome(int(headers.producer_id[n]), int(headers.last_offset[n]), kind, bool(control[n]))
    first = expected if expected >= 0 else (int(records.offset[0]) if len(records.offset) else at)
    expected_offsets = (
        np.concatenate(([first], records.offset[:-1] + 1)) if len(records.offset) else np.zeros(0, np.int64)
    )
    gap = np.maximum(records.offset - expected_offsets, 0)
    selected = ~control[records.batch] & (records.offset >= at) & (records.offset < part.end)
    transaction = outcomes[records.batch]
    records, gap, transaction = select(records, selected), gap[selected], transaction[selected]
    return Chunk(
        records.spans,
        np.full(len(records.offset), part.partition, np.int64),
        records.offset,
        records.timestamp,
        records.headers.leader_epoch[records.batch],
        transaction,
        gap,
        [Issue("damaged_batch", f"partition {part.partition}", d.reason) for d in records.damage],
    )


def _only(issue: Issue) -> Chunk:
    from kohort.pipeline.sources.chunk import chunk_of_rows

    return chunk_of_rows([], [issue])


def sample(address: str, security: Security = OPEN) -> Iterator[TopicName | LogEndSample]:
    """Yield the ids of all topics and the current start and end offset of each partition.

    Raises:
        WireError: The cluster can't be read.
    """
    from kohort.pipeline.records.topic_ids import kafka_uuid

    cluster = SourceCluster(address, security)
    try:
        about = cluster.metadata(None)
        for topic in about.topics:
            if topic.topic_id is not None and topic.name:
                yield TopicName(topic_id=kafka_uuid(topic.topic_id.bytes), topic=topic.name)
        starts, stable = cluster.offsets(about, _EARLIEST), cluster.offsets(about, LATEST)
        ends = cluster.offsets(about, LATEST, READ_UNCOMMITTED)
        now = round(time.time() * 1000)
        for (name, part), end in ends.items():
            yield LogEndSample(
                topic=name,
                part=part,
                sampled_ms=now,
                log_start=starts.get((name, part), 0),
                log_end=end,
                last_stable=stable.get((name, part)),
            )
    finally:
        cluster.close()
