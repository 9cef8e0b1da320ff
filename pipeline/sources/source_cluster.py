"""Coordinators' topics over the wire: a small client that reads partitions it names, of kohort or of a real cluster.

It joins no group and commits nothing, so it leaves no trace in the topic it reads. Reading is read_committed: the
broker's list of aborted transactions is applied here, as Java's consumer does (KIP-98).
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
_WHY_NOT = {
    ErrorCode.unknown_topic_or_partition: "isn't there: no group has ever committed or joined",
    ErrorCode.topic_authorization_failed: "is closed to this user: it needs Describe and Read on that topic",
}


class SourceCluster:
    """The brokers behind a bootstrap address (`host:port`, several by commas), connected to when needed."""

    def __init__(self, bootstrap: str, security: Security = OPEN) -> None:
        self.bootstrap, self.security = bootstrap, security
        self._open: dict[tuple[str, int], Connection] = {}

    def connection(self, host: str, port: int) -> Connection:
        return self._open.setdefault((host, port), Connection(host, port, self.security))

    def metadata(self, topics: tuple[str, ...] | None) -> MetadataResponse:
        wanted = None if topics is None else tuple(MetadataRequestTopic(name=name) for name in topics)
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        problem: OSError | None = None
        for address in self.bootstrap.split(","):
            host, _, port = address.strip().rpartition(":")
            try:
                answer: MetadataResponse = self.connection(host.strip("[]"), int(port)).ask(METADATA, request)
            except OSError as error:
                problem = error
                continue
            except ValueError as error:
                problem = OSError(f"{address.strip()}: {error}")
                continue
            return answer
        raise WireError(str(problem))

    def offsets(
        self, topics: MetadataResponse, timestamp: int, isolation_level: int = _READ_COMMITTED
    ) -> dict[tuple[str, int], int]:
        """First (-2) or last (-1) offset of every partition of these topics that has a leader.

        isolation_level: of the last one, the last stable offset (1) or the end of the log (0).
        """
        brokers = {broker.node_id: broker for broker in topics.brokers}
        by_leader: dict[int, dict[str, list[int]]] = {}
        for topic in topics.topics:
            for part in topic.partitions:
                if part.leader_id in brokers and topic.name:
                    by_leader.setdefault(part.leader_id, {}).setdefault(topic.name, []).append(part.partition_index)
        found = {}
        for leader, wanted in by_leader.items():
            request = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=isolation_level,
                topics=tuple(
                    ListOffsetsTopic(
                        name=name,
                        partitions=tuple(ListOffsetsPartition(partition_index=p, timestamp=timestamp) for p in parts),
                    )
                    for name, parts in wanted.items()
                ),
            )
            broker = brokers[leader]
            answer = self.connection(broker.host, broker.port).ask(LIST_OFFSETS, request)
            for topic in answer.topics:
                for part in topic.partitions:
                    if part.error_code == 0:
                        found[(topic.name, part.partition_index)] = part.offset
        return found

    def close(self) -> None:
        for connection in self._open.values():
            connection.close()


@dataclass(frozen=True, slots=True)
class Part:
    """A partition of a coordinators' topic and where to read it: from start up to, not including, end."""

    partition: int
    host: str
    port: int
    start: int
    end: int
    topic: str = OFFSETS_TOPIC


class NoTopicError(WireError):
    """The cluster has no such topic."""


def partitions(cluster: SourceCluster, *, with_empty: bool = False, topic_name: str = OFFSETS_TOPIC) -> list[Part]:
    """All partitions of the topic that have a leader and hold anything, or (with_empty) may hold it one day.

    Raises NoTopicError when the topic isn't there, WireError when it can't be read.
    """
    about = cluster.metadata((topic_name,))
    topic = next((t for t in about.topics if t.name == topic_name), None)
    if topic is None or topic.error_code != 0:
        code = ErrorCode.unknown_topic_or_partition if topic is None else topic.error_code
        why = _WHY_NOT.get(code, f"can't be read: {code.name}")
        unknown = code is ErrorCode.unknown_topic_or_partition
        raise (NoTopicError if unknown else WireError)(f"{cluster.bootstrap}: {topic_name} {why}")
    brokers = {broker.node_id: broker for broker in about.brokers}
    starts, ends = cluster.offsets(about, _EARLIEST), cluster.offsets(about, LATEST)
    found = []
    for part in sorted(topic.partitions, key=lambda p: p.partition_index):
        place = (topic_name, part.partition_index)
        if place in ends and (with_empty or ends[place] > starts.get(place, 0)):
            broker = brokers[part.leader_id]
            start, end = starts.get(place, 0), ends[place]
            found.append(Part(part.partition_index, broker.host, broker.port, start, end, topic_name))
    return found


def batch_end(cluster: SourceCluster, part: Part, offset: int) -> int:
    """The offset after the record batch that holds `offset`, or after the next one; the end where there is none.

    Records that a coordinator writes in one operation are in one batch: a cut at such an offset parts none of them.
    """
    data, _ = _fetch(cluster, part, offset, 1)
    headers = [records.headers for records in read_segment(data) if len(records.headers)]
    return int(headers[0].last_offset[0]) + 1 if headers else part.end


def expand(source: Source) -> tuple[list[Source], list[Issue]]:
    """A bootstrap address as one source per partition, so that they can be read side by side."""
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
    """The partitions of the topic that share coordinators keep their state in. Most clusters have no such topic."""
    try:
        return partitions(cluster, topic_name=SHARE_STATE_TOPIC), []
    except NoTopicError:
        return [], []
    except WireError as error:
        return [], [
            Issue("cluster_gone", SHARE_STATE_TOPIC, f"what became of share groups' records is unread: {error}")
        ]


def read_wire(
    address: str, partition: int, security: Security = OPEN, topic: str = OFFSETS_TOPIC
) -> Iterator[Chunk]:  # fmt: skip
    """All of one partition as it stands now. A cluster that goes away ends it with an issue, not with an error."""
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
    """continues: everything before `part.start` has been read, so that a hole at its beginning is one."""
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
            return  # nothing more that is stable
        at = reached


def _fetch(cluster: SourceCluster, part: Part, offset: int, most_bytes: int) -> tuple[bytes, Sequence[Any]]:
    """Whole batches from the one that holds `offset` on, at least one; and the aborted transactions among them."""
    fetch = FetchPartition(partition=part.partition, fetch_offset=offset, partition_max_bytes=most_bytes)
    topic = FetchTopic(topic=part.topic, partitions=(fetch,))
    request = FetchRequest(
        max_wait_ms=500, min_bytes=1, max_bytes=most_bytes, isolation_level=_READ_COMMITTED, topics=(topic,)
    )
    topics = cluster.connection(part.host, part.port).ask(FETCH, request).responses
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise WireError(f"{part.host}:{part.port} answers for other partitions than it was asked for")
    answer = topics[0].partitions[0]
    if answer.error_code != 0:
        why = _WHY_NOT.get(answer.error_code, f"can't be read: {answer.error_code.name}")
        raise WireError(f"{part.topic}, partition {part.partition} at {offset}, {why}")
    return b"".join(bytes(piece) for piece in answer.records or ()), answer.aborted_transactions or ()


class _Aborted:
    """Which producers are inside an aborted transaction, batch by batch."""

    def __init__(self) -> None:
        self._coming: list[tuple[int, int]] = []
        self._now: set[int] = set()

    def announce(self, transactions: Any) -> None:
        known = set(self._coming)
        self._coming += [
            (t.first_offset, t.producer_id) for t in transactions if (t.first_offset, t.producer_id) not in known
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
    before = np.concatenate(([first], records.offset[:-1] + 1)) if len(records.offset) else np.zeros(0, np.int64)
    gap = np.maximum(records.offset - before, 0)
    wanted = ~control[records.batch] & (records.offset >= at) & (records.offset < part.end)
    transaction = outcomes[records.batch]
    records, gap, transaction = select(records, wanted), gap[wanted], transaction[wanted]
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
    """Asks for the ids of all topics, and where the log of each partition begins and ends now. Raises WireError."""
    from kohort.pipeline.records.record_codec import kafka_uuid

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
