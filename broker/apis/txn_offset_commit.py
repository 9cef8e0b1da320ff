"""TxnOffsetCommit (key 28), versions 0 to 6.

v0 (KIP-98) and v1 alike · v2 leader epochs (KIP-320) · v3 the member that commits, tagged fields (KIP-447) · v4
TRANSACTION_ABORTABLE is possible · v5 adds the group to the transaction (KIP-890) · v6 topics by id (KIP-1319).
Before v5, AddOffsetsToTxn must have added the group.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.broker.scheduling.request_chunks import SHORT
from kohort.coordinator.at_once import at_once
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.offsets.committing_in_transactions import (
    Committer,
    PendingCommit,
    records_of,
    txn_offset_commit,
)
from kohort.coordinator.transactions.adding import add_partitions, verify_partitions
from kohort.coordinator.transactions.transaction import WITH_EPOCH_BUMP
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kohort.protocol.shape import changed
from kohort.security.rights import READ_GROUP, READ_TOPIC, WRITE_TRANSACTIONAL_ID

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.context import OnWritten
    from kohort.storage.topic import Topic

ABORTABLE_SINCE = 4
ADDS_BY_ITSELF_SINCE = 5
IDS_SINCE = 6


def handle(
    node: Node, request: TxnOffsetCommitRequest, ticket: Ticket
) -> TxnOffsetCommitResponse | Task[TxnOffsetCommitResponse | None] | None:
    """Commit offsets in a transaction. The response is sent when they are written. A long request is a task."""
    steps = _handle(node, request, ticket)
    is_short = sum([len(topic.partitions) or 1 for topic in request.topics]) <= SHORT
    return at_once(steps) if is_short else steps


def _handle(node: Node, request: TxnOffsetCommitRequest, ticket: Ticket) -> Task[TxnOffsetCommitResponse | None]:
    access = node.cluster.access
    if access is not None:
        if not access.allows(ticket, WRITE_TRANSACTIONAL_ID, request.transactional_id):
            return (yield from _refused(request, ErrorCode.transactional_id_authorization_failed))
        if not access.allows(ticket, READ_GROUP, request.group_id):
            return (yield from _refused(request, ErrorCode.group_authorization_failed))
    topics = _RequestedTopics(node, ticket)
    yield from topics.look(request)
    if not topics.existing:
        return (yield from topics.answer(ErrorCode.none))
    if not request.group_id:
        return (yield from topics.answer(ErrorCode.invalid_group_id))
    committer = Committer(
        request.producer_id,
        request.producer_epoch,
        request.group_id,
        request.generation_id,
        request.member_id,
        request.group_instance_id,
        ticket.version >= IDS_SINCE,
    )
    pending = yield from records_of(node.coordinator, request.group_id, topics.commits, ticket.received_at_ms)
    waits = False
    refused: list[ErrorCode] = []

    def written(error: ErrorCode, _: int) -> None:
        if not waits:
            refused.append(error)
            return
        answer = topics.answer(_as_answered(error, ticket.version))
        if len(topics.commits) > SHORT:
            ticket.work_on(answer)
        else:
            ticket.reply(at_once(answer))

    def added(error: ErrorCode, now_ms: int) -> None:
        if error is ErrorCode.none:
            txn_offset_commit(node.coordinator, committer, pending, ticket.received_at_ms, written)
        else:
            written(error, now_ms)

    error = node.coordinator.creatable(request.group_id)
    if error is not ErrorCode.none:
        return (yield from topics.answer(_as_answered(error, ticket.version)))
    _ask_for(node, request, ticket, added)
    if refused:
        return (yield from topics.answer(_as_answered(refused[0], ticket.version)))
    waits = True
    return None


def _ask_for(node: Node, request: TxnOffsetCommitRequest, ticket: Ticket, on_added: OnWritten) -> None:
    """Verify that the group belongs to the transaction, or add it for newer clients.

    As for Produce, the coordinator is not called if this producer epoch has an open transaction in the group's
    partition, whatever its id, or if the partition has a later epoch (`UnifiedLog.maybeStartTransactionVerification`).
    """
    error = _error_of_partition(node, request)
    if error is not None:
        on_added(error, ticket.received_at_ms)
        return
    coordinator = node.cluster.transaction_topic.coordinator_of(request.transactional_id)
    if coordinator is None:
        on_added(ErrorCode.coordinator_not_available, ticket.received_at_ms)
        return
    topic_partition = OFFSETS_TOPIC, node.coordinator.partition_of(request.group_id)
    producer = request.transactional_id, request.producer_id, request.producer_epoch
    if ticket.version >= ADDS_BY_ITSELF_SINCE:
        add_partitions(
            coordinator,
            *producer,
            frozenset({topic_partition}),
            on_added,
            ticket.received_at_ms,
            client_version=WITH_EPOCH_BUMP,
        )
    else:
        verified = verify_partitions(coordinator, *producer, frozenset({topic_partition}))
        on_added(verified[topic_partition], ticket.received_at_ms)


def _error_of_partition(node: Node, request: TxnOffsetCommitRequest) -> ErrorCode | None:
    """Return the error that the group's partition can determine itself, or None if the coordinator must verify."""
    topic = node.cluster.topics.by_name(OFFSETS_TOPIC)
    partition = None if topic is None else topic.partition(node.coordinator.partition_of(request.group_id))
    producers = None if partition is None else partition.producers
    if producers is None:
        return None
    if producers.knows_later_epoch(request.producer_id, request.producer_epoch):
        return ErrorCode.invalid_producer_epoch
    return ErrorCode.none if producers.is_in_transaction(request.producer_id, request.producer_epoch) else None


def _refused(request: TxnOffsetCommitRequest, error: ErrorCode) -> Task[TxnOffsetCommitResponse]:
    """Return the same error for all partitions as requested, duplicates included."""
    topics = []
    for topic in request.topics:
        answers = yield from one_by_one(partial(_refused_partition, error), topic.partitions)
        topics.append(TxnOffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=answers))
    return TxnOffsetCommitResponse(topics=tuple(topics))


def _refused_partition(error: ErrorCode, commit: TxnOffsetCommitRequestPartition) -> TxnOffsetCommitResponsePartition:
    return TxnOffsetCommitResponsePartition(partition_index=commit.partition_index, error_code=error)


class _RequestedTopics:
    """Content of a request: commits of existing partitions, and errors of others."""

    def __init__(self, node: Node, ticket: Ticket) -> None:
        self.existing: list[TxnOffsetCommitRequestTopic] = []  # topics that exist, without missing partitions
        self.commits: list[PendingCommit] = []
        # Ids of entries with too much metadata. Duplicates of a partition are checked separately.
        self._too_large: set[int] = set()
        self._refused: list[TxnOffsetCommitResponseTopic] = []
        self._topics = node.cluster.topics
        self._access, self._ticket = node.cluster.access, ticket
        self._by_id = ticket.version >= IDS_SINCE
        self._longest = node.coordinator.settings.offset_metadata_max_bytes

    def look(self, request: TxnOffsetCommitRequest) -> Task[None]:
        for entry in request.topics:
            yield
            topic = self._topics.by_id(entry.topic_id) if self._by_id else self._topics.by_name(entry.name)
            if topic is None and self._by_id:
                self._refuse(entry, entry.partitions, ErrorCode.unknown_topic_id)
                continue
            name = entry.name if topic is None else topic.name
            if self._access is not None and not self._access.allows(self._ticket, READ_TOPIC, name):
                self._refuse(entry, entry.partitions, ErrorCode.topic_authorization_failed)
                continue
            if topic is None:
                self._refuse(entry, entry.partitions)
                continue
            valid, missing = [], []
            for part in entry.partitions:
                if topic.partition(part.partition_index) is None:
                    missing.append(part)
                else:
                    valid.append(part)
                    self._commit(topic, part, self._longest)
                yield
            if missing:
                self._refuse(entry, tuple(missing))
            if valid:
                self.existing.append(changed(TxnOffsetCommitRequestTopic, entry, partitions=tuple(valid)))

    def _refuse(
        self,
        topic: TxnOffsetCommitRequestTopic,
        refused: tuple[TxnOffsetCommitRequestPartition, ...],
        error: ErrorCode = ErrorCode.unknown_topic_or_partition,
    ) -> None:
        self._refused.append(
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=tuple(
                    TxnOffsetCommitResponsePartition(partition_index=part.partition_index, error_code=error)
                    for part in refused
                ),
            )
        )

    def _commit(self, topic: Topic, part: TxnOffsetCommitRequestPartition, longest: int) -> None:
        index, metadata = part.partition_index, part.committed_metadata or ""
        if len(metadata.encode("utf-16-le", "surrogatepass")) > 2 * longest:
            self._too_large.add(id(part))
            return
        self.commits.append(
            PendingCommit(
                topic.name, topic.topic_id, index, part.committed_offset, part.committed_leader_epoch, metadata
            )
        )

    def answer(self, error: ErrorCode) -> Task[TxnOffsetCommitResponse]:
        """Return the response with `error` for all existing partitions.

        Errors and results are merged (`Builder.merge`).
        """
        answered = []
        for topic in self.existing:
            answers = yield from one_by_one(partial(self._answer, error), topic.partitions)
            answered.append(TxnOffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=answers))
        if not self._refused:
            return TxnOffsetCommitResponse(topics=tuple(answered))
        topics: dict[tuple[str, UUID | None], list[TxnOffsetCommitResponsePartition]] = {}
        for result in (*self._refused, *answered):
            topics.setdefault((result.name, result.topic_id), []).extend(result.partitions)
            yield
        merged = []
        for (name, topic_id), partitions in topics.items():
            merged.append(TxnOffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=tuple(partitions)))
            yield
        return TxnOffsetCommitResponse(topics=tuple(merged))

    def _answer(self, error: ErrorCode, part: TxnOffsetCommitRequestPartition) -> TxnOffsetCommitResponsePartition:
        if error is ErrorCode.none and id(part) in self._too_large:
            error = ErrorCode.offset_metadata_too_large
        return TxnOffsetCommitResponsePartition(partition_index=part.partition_index, error_code=error)


def _as_answered(error: ErrorCode, version: int) -> ErrorCode:
    """Convert an error for the client's version. Source: Kafka's `AddPartitionsToTxnManager`, `KafkaApis`."""
    if error is ErrorCode.producer_fenced:
        return ErrorCode.invalid_producer_epoch
    if error is ErrorCode.transaction_abortable and version < ABORTABLE_SINCE:
        return ErrorCode.invalid_txn_state
    if error is ErrorCode.stale_member_epoch and version < IDS_SINCE:
        return ErrorCode.illegal_generation
    if error is ErrorCode.coordinator_load_in_progress and version < 2:
        return ErrorCode.coordinator_not_available
    return error
