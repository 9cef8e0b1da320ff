"""Converter of records to silver rows: offset commits and members of classic groups in columns, others row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kohort.pipeline.records.classic_groups import ClassicGroup, GroupReader, plain_group
from kohort.pipeline.records.offset_commits import Commits, Ints, read_commits
from kohort.pipeline.records.topic_ids import kafka_uuid
from kohort.pipeline.silver.columns import coded, coded_constant, constant_number, integers
from kohort.pipeline.silver.members import ClassicMembers, RecordPosition
from kohort.pipeline.silver.silver_rows import (
    CoordinatorMove,
    GroupMember,
    GroupRecord,
    LogRange,
    MemberPartitions,
    OffsetCommit,
    UndecodedRecord,
)
from kohort.pipeline.silver.silver_schemas import CODED_COMMITS, table_of
from kohort.pipeline.silver.streams_says import TASKS, epoch_says, topics_of, topology_says
from kohort.pipeline.sources.checked import LAST_MOMENT_MS, known_moments
from kohort.pipeline.sources.chunk import TRANSACTION_NAMES, Chunk, Issue
from kohort.pipeline.sources.source_rows import TopicName
from kohort.pipeline.sources.window import EVERYTHING, Window
from kohort.protocol.records.layouts import GROUP_METADATA, GROUP_TYPES, STREAMS_EPOCH, STREAMS_TOPOLOGY
from kohort.protocol.records.record_reader import Decoded, Value, decode, decode_key
from kohort.protocol.records.schema import RecordError

_NO_ID = bytes(16)
_CLASSIC_KEY = GROUP_METADATA.to_bytes(2, "big")


class SilverRows:
    """Converts chunks to tables. Each object reads one partition's records in order, so that operations stay together.

    Attributes:
        rank: Rank of the source, as in `sources.found`; a lower one takes precedence.
        window: Requested period.
    """

    def __init__(self, cluster: str, rank: int, window: Window = EVERYTHING) -> None:
        self.cluster, self.rank, self.window = cluster, rank, window
        self._rows: dict[str, list[object]] = defaultdict(list)
        self._topic_names: set[tuple[bytes, str]] = set()
        self._operation = (RecordPosition(-1, -1, -1), "", -1)
        self._ranges: dict[int, LogRange] = {}
        self._groups, self._members = GroupReader(), ClassicMembers()

    def add(self, chunk: Chunk) -> Iterator[tuple[str, pa.Table]]:
        """Yield the tables of a chunk, commits first."""
        if not self.window.is_everything:
            self._note_ranges(replace(chunk, timestamp=known_moments(chunk.timestamp)))
            chunk = self.window.cut(chunk)
        chunk, commits = self._with_known_moments(chunk, read_commits(chunk.spans))
        if self.window.is_everything:
            self._note_ranges(chunk)
        if len(commits.rows):
            yield "offset_commits", self._commit_table(commits, chunk)
        rest = np.ones(len(chunk), bool)
        rest[commits.rows] = False
        for n in np.flatnonzero(rest).tolist():
            self._record(chunk, n)
        self._rows["dq_issues"] += chunk.issues
        yield from self._take()

    def _with_known_moments(self, chunk: Chunk, commits: Commits) -> tuple[Chunk, Commits]:
        times, commit_times = known_moments(chunk.timestamp), known_moments(commits.commit_ts_ms)
        wrong = int((times != chunk.timestamp).sum() + (commit_times != commits.commit_ts_ms).sum())
        if wrong:
            text = f"{wrong} times are before 1970 or after 2099, and were taken as unknown or as the end of 2099"
            self._rows["dq_issues"].append(Issue("impossible_time", "", text))
        return replace(chunk, timestamp=times), replace(commits, commit_ts_ms=commit_times)

    def finish(self, read_at_ms: int = 0) -> Iterator[tuple[str, pa.Table]]:
        """Yield the tables that are complete only at the end: the ranges read, and from where no record is missing.

        Args:
            read_at_ms: Time at which the log contained nothing more; 0 if unknown.
        """
        for log_range in self._ranges.values():
            log_range.last_ts_ms = max(log_range.last_ts_ms, read_at_ms)
        self._rows["log_ranges"] += self._ranges.values()
        yield from self._take()

    def _note_ranges(self, chunk: Chunk) -> None:
        if not len(chunk):
            return
        one = int(chunk.partition[0])
        alone = bool((chunk.partition == one).all())
        for partition in [one] if alone else np.unique(chunk.partition).tolist():
            mine = np.arange(len(chunk)) if alone else np.flatnonzero(chunk.partition == partition)
            offset, time = chunk.offset[mine], chunk.timestamp[mine]
            log_range = self._ranges.get(partition)
            if log_range is None:
                log_range = self._ranges[partition] = LogRange(
                    partition=partition,
                    first_offset=int(offset[0]),
                    last_offset=int(offset[-1]),
                    intact_from=int(offset[0]),
                    records=0,
                    first_ts_ms=int(time[0]),
                    last_ts_ms=int(time.max()),
                    hole_before=bool(chunk.gap[mine[0]] > 0),
                )
            log_range.records += len(mine)
            log_range.last_offset, log_range.last_ts_ms = int(offset[-1]), int(time.max())
            holes = np.flatnonzero(chunk.gap[mine] > 0)
            if len(holes):
                log_range.intact_from = int(offset[holes[-1]])
            self._note_epochs(log_range, chunk.leader_epoch[mine], time)

    def _note_epochs(self, log_range: LogRange, epochs: Ints, times: Ints) -> None:
        """Add coordinator moves: a new leader epoch of the log's partition means that the coordinator moved."""
        with_epoch = np.flatnonzero(epochs >= 0)
        if not len(with_epoch):
            return
        first, last = int(epochs[with_epoch[0]]), log_range.last_epoch
        if log_range.first_epoch is None:
            log_range.first_epoch = first
        for n in with_epoch[
            np.flatnonzero(np.diff(epochs[with_epoch], prepend=first if last is None else last))
        ].tolist():
            move = CoordinatorMove(partition=log_range.partition, ts_ms=int(times[n]), epoch=int(epochs[n]))
            self._rows["coordinator_moves"].append(move)
        log_range.last_epoch = int(epochs[with_epoch[-1]])

    def _take(self) -> Iterator[tuple[str, pa.Table]]:
        for topic_id, topic in self._topic_names:
            self._rows["topic_names"].append(TopicName(topic_id=kafka_uuid(topic_id), topic=topic))
        self._topic_names.clear()
        yield from self._members.take(self.cluster, self.rank, self._unreadable)
        for table, rows in self._rows.items():
            if rows:
                yield table, table_of(table, rows, self.cluster, self.rank)
        self._rows = defaultdict(list)

    # --- offset commits

    def _name_topics(self, commits: Commits, ids: pa.DictionaryArray) -> None:
        codes, firsts = np.unique(ids.indices.to_numpy(zero_copy_only=False), return_index=True)
        topics = commits.topics.take(pa.array(commits.key[firsts])).to_pylist()
        names = zip(ids.dictionary.take(pa.array(codes)).to_pylist(), topics, strict=True)
        self._topic_names.update((raw, topic) for raw, topic in names if raw != _NO_ID)

    def _commit_table(self, commits: Commits, chunk: Chunk) -> pa.Table:
        rows = commits.rows
        ids = _distinct_ids(commits)
        self._name_topics(commits, ids)
        is_tombstone = commits.version < 0
        columns = {
            "cluster": coded_constant(self.cluster, len(rows)),
            "partition": integers(chunk.partition[rows], pa.int32()),
            "offset": integers(chunk.offset[rows], pa.int64()),
            "ts_ms": integers(chunk.timestamp[rows], pa.int64()),
            "group_id": coded(commits.groups, commits.key),
            "topic": coded(commits.topics, commits.key),
            "part": integers(commits.partition, pa.int32()),
            "committed_offset": integers(commits.offset, pa.int64(), is_tombstone),
            "leader_epoch": integers(commits.leader_epoch, pa.int32(), is_tombstone | (commits.leader_epoch == -1)),
            "metadata": commits.metadata.dictionary_encode(),
            "commit_ts_ms": integers(commits.commit_ts_ms, pa.int64(), is_tombstone),
            "expire_ts_ms": integers(commits.expire_ts_ms, pa.int64(), commits.expire_ts_ms < 0),
            "topic_id": _id_texts(ids),
            "is_tombstone": pa.array(is_tombstone),
            "txn": coded(pa.array(TRANSACTION_NAMES, pa.string()), chunk.transaction[rows]),
            "value_version": integers(commits.version, pa.int16(), is_tombstone),
            "log_leader_epoch": integers(chunk.leader_epoch[rows], pa.int32(), chunk.leader_epoch[rows] < 0),
            "rank": constant_number(self.rank, len(rows), pa.int8()),
        }
        return pa.table(columns, schema=CODED_COMMITS)

    # --- everything else, and odd commits

    def _record(self, chunk: Chunk, n: int) -> None:
        key, value = chunk.spans.key(n), chunk.spans.value(n)
        at = RecordPosition(int(chunk.partition[n]), int(chunk.offset[n]), int(chunk.timestamp[n]))
        try:
            decoded, group = self._decoded(key, value)
        except RecordError as error:
            self._error(at, key, value, str(error))
            return
        for path, tag, data in decoded.unknown_tags:
            text = f"unknown tag {tag} at {path or 'the top'} ({len(data)} bytes); the rest was read"
            self._error(at, key, value, text)
        if decoded.type in (0, 1):
            self._rows["offset_commits"].append(_plain_commit(decoded, at, chunk, n))
            return
        self._group_record(decoded, group, at, chunk, n)

    def _decoded(self, key: bytes | None, value: bytes | None) -> tuple[Decoded, ClassicGroup | None]:
        """Decode a classic group's record from cached parts, any other with the plain decoder."""
        if key is not None and value and key[:2] == _CLASSIC_KEY and (group := self._groups.read(value)):
            return decode_key(key)._replace(version=group.version, value=group.head), group
        decoded = decode(key, value)
        if decoded.type == GROUP_METADATA and decoded.version is not None and decoded.value is not None:
            return decoded, plain_group(decoded.version, decoded.value)
        return decoded, None

    def _error(self, at: RecordPosition, key: bytes | None, value: bytes | None, error: str) -> None:
        self._rows["decode_errors"].append(
            UndecodedRecord(
                partition=at.partition,
                offset=at.offset,
                ts_ms=at.ts_ms,
                record_type=_leading_number(key),
                value_version=_leading_number(value),
                error=error,
                key=key,
                value=value,
            )
        )

    def _unreadable(self, at: RecordPosition, member: str, blob: bytes) -> None:
        self._error(at, None, blob, f"subscription or assignment of member {member} can't be read")

    def _group_record(
        self, decoded: Decoded, classic: ClassicGroup | None, at: RecordPosition, chunk: Chunk, n: int
    ) -> None:
        value = decoded.value
        group = decoded.key.get("group", decoded.key.get("groupId"))
        assert isinstance(group, str)
        member = decoded.key.get("memberId")
        row = GroupRecord(
            partition=at.partition,
            offset=at.offset,
            ts_ms=at.ts_ms,
            group_id=group,
            record_type=decoded.type,
            value_version=decoded.version,
            group_type=GROUP_TYPES[decoded.type],
            is_tombstone=value is None,
            op_id=self._operation_of(at, group),
            offset_gap_before=int(chunk.gap[n]),
            leader_epoch=int(chunk.leader_epoch[n]) if chunk.leader_epoch[n] >= 0 else None,
            member_id=member,
            regex=decoded.key.get("regularExpression"),
            dialect=decoded.dialect or None,
        )
        self._rows["group_records"].append(row)
        if value is None:
            return
        if classic is not None:
            head = classic.head
            row.generation, row.protocol_type = head["generation"], head["protocolType"]
            row.protocol, row.leader = head["protocol"], head["leader"]
            row.state_ts_ms = _moment(head["currentStateTimestamp"])
            row.n_members = len(classic.members)
            self._members.add(at, group, classic)
            return
        row.epoch = value.get("epoch", value.get("assignmentEpoch", value.get("memberEpoch")))
        row.metadata_hash = value.get("metadataHash")
        row.assignment_ts_ms = _moment(value.get("assignmentTimestamp") or None)
        if decoded.type in (4, 9, 15):
            self._named_topics(value)
        if decoded.type == 16:
            row.topics = value["topics"]
        elif decoded.type == STREAMS_EPOCH:
            row.streams = epoch_says(value)
        elif decoded.type == STREAMS_TOPOLOGY:
            row.topics, row.streams = topics_of(value), topology_says(value)
        if member is not None:
            self._member(decoded.type, value, at, group, member)

    def _operation_of(self, at: RecordPosition, group: str) -> int:
        """Return the id of a record's operation, which is the offset of its first record.

        Records of one operation have the same group and time, and consecutive offsets.
        """
        last_position, before_group, first = self._operation
        if before_group != group or last_position != (at.partition, at.offset - 1, at.ts_ms):
            first = at.offset
        self._operation = (at, group, first)
        return first

    def _named_topics(self, value: Value) -> None:
        for topics in value.values():
            for topic in topics or ():
                self._topic_names.add((topic["topicId"], topic["topicName"]))

    def _member(self, kind: int, value: Value, at: RecordPosition, group: str, member: str) -> None:
        row = GroupMember(partition=at.partition, offset=at.offset, group_id=group, member_id=member)
        if kind in (5, 10, 19):
            classic = value.get("classicMemberMetadata")
            row.instance_id, row.client_id, row.client_host = (
                value.get("instanceId"),
                value["clientId"],
                value["clientHost"],
            )
            row.session_timeout_ms = classic["sessionTimeoutMs"] if classic else None
            row.rebalance_timeout_ms = value.get("rebalanceTimeoutMs")
            row.subscribed_topics = value.get("subscribedTopicNames")
            row.regex = value.get("subscribedTopicRegex") or None
            row.rack = value.get("rackId") or None
            row.speaks = "classic" if classic else GROUP_TYPES[kind]
            row.process_id, row.topology_epoch = value.get("processId"), value.get("topologyEpoch")
            row.logical_client = row.instance_id or f"{value['clientId']}@{value['clientHost'].lstrip('/')}"
        elif kind in (8, 14, 22):
            row.member_epoch, row.previous_epoch = value["memberEpoch"], value["previousMemberEpoch"]
            row.member_state = value["state"]
        self._rows["group_members"].append(row)
        if kind in (7, 13):
            self._parts_by_id(row, "target", value["topicPartitions"])
        elif kind in (8, 14):
            self._parts_by_id(row, "assigned", value["assignedPartitions"])
            self._parts_by_id(row, "pending_revocation", value.get("partitionsPendingRevocation"))
        for field, role in TASKS.get(kind, ()):
            for topic in value[field]:
                self._part(row, role, topic["partitions"], subtopology=topic["subtopologyId"])

    def _parts_by_id(self, member: GroupMember, role: str, topics: list[Value] | None) -> None:
        for topic in topics or ():
            self._part(member, role, topic["partitions"], topic_id=kafka_uuid(topic["topicId"]))

    def _part(
        self,
        member: GroupMember,
        role: str,
        parts: list[int],
        *,
        topic_id: str | None = None,
        subtopology: str | None = None,
    ) -> None:
        row = MemberPartitions(
            partition=member.partition,
            offset=member.offset,
            group_id=member.group_id,
            member_id=member.member_id,
            role=role,
            parts=parts,
            topic_id=topic_id,
            subtopology=subtopology,
        )
        self._rows["member_partitions"].append(row)


def _leading_number(data: bytes | None) -> int | None:
    return int.from_bytes(data[:2], "big", signed=True) if data and len(data) >= 2 else None


def _moment(ms: int | None) -> int | None:
    return None if ms is None or ms < 0 else min(ms, LAST_MOMENT_MS)


def _plain_commit(decoded: Decoded, at: RecordPosition, chunk: Chunk, n: int) -> OffsetCommit:
    value = decoded.value or {}
    topic_id = value.get("topicId", _NO_ID)
    epoch = value.get("leaderEpoch", -1)
    expire = value.get("expireTimestamp", -1)
    return OffsetCommit(
        partition=at.partition,
        offset=at.offset,
        ts_ms=at.ts_ms,
        group_id=decoded.key["group"],
        topic=decoded.key["topic"],
        part=decoded.key["partition"],
        committed_offset=value.get("offset"),
        leader_epoch=epoch if epoch >= 0 else None,
        metadata=value.get("metadata", ""),
        commit_ts_ms=None if decoded.value is None else max(-1, min(value["commitTimestamp"], LAST_MOMENT_MS)),
        expire_ts_ms=expire if expire >= 0 else None,
        topic_id=kafka_uuid(topic_id) if topic_id != _NO_ID else None,
        is_tombstone=decoded.value is None,
        txn=TRANSACTION_NAMES[int(chunk.transaction[n])],
        value_version=decoded.version,
        log_leader_epoch=int(chunk.leader_epoch[n]) if chunk.leader_epoch[n] >= 0 else None,
    )


def _distinct_ids(commits: Commits) -> pa.DictionaryArray:
    raw = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(commits.rows), [None, pa.py_buffer(commits.topic_id)])
    return raw.dictionary_encode()


def _id_texts(ids: pa.DictionaryArray) -> pa.DictionaryArray:
    texts = [None if raw == _NO_ID else kafka_uuid(raw) for raw in ids.dictionary.to_pylist()]
    return coded(pa.array(texts, pa.string()), ids.indices.to_numpy(zero_copy_only=False))
