"""TxnOffsetCommit (key 28), versions 0 to 5.

v0 (KIP-98) and v1 alike · v2 leader epochs (KIP-320) · v3 the member that commits, tagged fields (KIP-447) · v4
TRANSACTION_ABORTABLE may be answered · v5 adds the group to the transaction by itself (KIP-890).

Before v5, the group must have been added (AddOffsetsToTxn).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.broker.scheduling.request_chunks import SHORT
from kohort.coordinator.at_once import at_once
from kohort.coordinator.committing_in_transactions import (
    Committer,
    PendingCommit,
    records_of,
    txn_offset_commit,
)
from kohort.coordinator.effects import OFFSETS_TOPIC
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
from kohort.security.rights import READ_GROUP, READ_TOPIC, WRITE_TRANSACTIONAL_ID

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.context import OnWritten
    from kohort.storage.topic import Topic

ABORTABLE_SINCE = 4
ADDS_BY_ITSELF_SINCE = 5


def handle(
    node: Node, request: TxnOffsetCommitRequest, ticket: Ticket
) -> TxnOffsetCommitResponse | Task[TxnOffsetCommitResponse | None] | None:
    """None: answered when the offsets are written. A long request is a task, and is written at once."""
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
    asked = _Asked(node, ticket)
    yield from asked.look(request)
    if not asked.known:
        return (yield from asked.answer(ErrorCode.none))
    if not request.group_id:
        return (yield from asked.answer(ErrorCode.invalid_group_id))
    committer = Committer(
        request.producer_id,
        request.producer_epoch,
        request.group_id,
        request.generation_id,
        request.member_id,
        request.group_instance_id,
    )

    pending = yield from records_of(node.coordinator, request.group_id, asked.commits, ticket.received_at_ms)
    waits = False
    refused: list[ErrorCode] = []

    def written(error: ErrorCode, _: int) -> None:
        if not waits:
            refused.append(error)
            return
        answer = asked.answer(_as_answered(error, ticket.version))
        if len(asked.commits) > SHORT:
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
        return (yield from asked.answer(_as_answered(error, ticket.version)))
    _ask_for(node, request, ticket, added)
    if refused:
        return (yield from asked.answer(_as_answered(refused[0], ticket.version)))
    waits = True
    return None


def _ask_for(node: Node, request: TxnOffsetCommitRequest, ticket: Ticket, on_added: OnWritten) -> None:
    """Whether the group belongs to the transaction; newer clients leave it to the broker to add it.

    As for a Produce nobody is asked where this epoch of the producer has a transaction open in the partition of the
    group, whatever its id, or where the partition knows a later epoch (`UnifiedLog.maybeStartTransactionVerification`).
    """
    known = _known_already(node, request)
    if known is not None:
        on_added(known, ticket.received_at_ms)
        return
    coordinator = node.cluster.transaction_topic.coordinator_of(request.transactional_id)
    if coordinator is None:
        on_added(ErrorCode.coordinator_not_available, ticket.received_at_ms)
        return
    topic_partition = OFFSETS_TOPIC, node.coordinator.partition_of(request.group_id)
    who = request.transactional_id, request.producer_id, request.producer_epoch
    if ticket.version >= ADDS_BY_ITSELF_SINCE:
        add_partitions(
            coordinator,
            *who,
            frozenset({topic_partition}),
            on_added,
            ticket.received_at_ms,
            client_version=WITH_EPOCH_BUMP,
        )
    else:
        verified = verify_partitions(coordinator, *who, frozenset({topic_partition}))
        on_added(verified[topic_partition], ticket.received_at_ms)


def _known_already(node: Node, request: TxnOffsetCommitRequest) -> ErrorCode | None:
    """What the partition of the group says by itself; None: the transaction coordinator is to be asked."""
    topic = node.cluster.topics.by_name(OFFSETS_TOPIC)
    partition = None if topic is None else topic.partition(node.coordinator.partition_of(request.group_id))
    producers = None if partition is None else partition.producers
    if producers is None:
        return None
    if producers.knows_later_epoch(request.producer_id, request.producer_epoch):
        return ErrorCode.invalid_producer_epoch
    return ErrorCode.none if producers.is_in_transaction(request.producer_id, request.producer_epoch) else None


def _refused(request: TxnOffsetCommitRequest, error: ErrorCode) -> Task[TxnOffsetCommitResponse]:
    """Everything as it was named."""
    topics = []
    for topic in request.topics:
        answers = yield from one_by_one(partial(_refused_partition, error), topic.partitions)
        topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=answers))
    return TxnOffsetCommitResponse(topics=tuple(topics))


def _refused_partition(error: ErrorCode, asked: TxnOffsetCommitRequestPartition) -> TxnOffsetCommitResponsePartition:
    return TxnOffsetCommitResponsePartition(partition_index=asked.partition_index, error_code=error)


class _Asked:
    """What a request names: commits of partitions that exist, and what is refused by itself."""

    def __init__(self, node: Node, ticket: Ticket) -> None:
        self.known: list[TxnOffsetCommitRequestTopic] = []
        """The topics that exist, without the partitions that do not."""
        self.commits: list[PendingCommit] = []
        self._too_large: set[int] = set()
        """Which entries have too much metadata, by identity: of a partition that is named twice each is judged."""
        self._refused: list[TxnOffsetCommitResponseTopic] = []
        self._topics = node.cluster.topics
        self._access, self._ticket = node.cluster.access, ticket
        self._longest = node.coordinator.settings.offset_metadata_max_bytes

    def look(self, request: TxnOffsetCommitRequest) -> Task[None]:
        """Sorts out what the request names."""
        for asked in request.topics:
            yield
            if self._access is not None and not self._access.allows(self._ticket, READ_TOPIC, asked.name):
                self._refuse(asked.name, asked.partitions, ErrorCode.topic_authorization_failed)
                continue
            topic = self._topics.by_name(asked.name)
            if topic is None:
                self._refuse(asked.name, asked.partitions)
                continue
            there, missing = [], []
            for each in asked.partitions:
                if topic.partition(each.partition_index) is None:
                    missing.append(each)
                else:
                    there.append(each)
                    self._commit(topic, each, self._longest)
                yield
            if missing:
                self._refuse(asked.name, tuple(missing))
            if there:
                self.known.append(TxnOffsetCommitRequestTopic(name=asked.name, partitions=tuple(there)))

    def _refuse(
        self,
        name: str,
        refused: tuple[TxnOffsetCommitRequestPartition, ...],
        error: ErrorCode = ErrorCode.unknown_topic_or_partition,
    ) -> None:
        self._refused.append(
            TxnOffsetCommitResponseTopic(
                name=name,
                partitions=tuple(
                    TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
                    for each in refused
                ),
            )
        )

    def _commit(self, topic: Topic, asked: TxnOffsetCommitRequestPartition, longest: int) -> None:
        index, metadata = asked.partition_index, asked.committed_metadata or ""
        if len(metadata.encode("utf-16-le", "surrogatepass")) > 2 * longest:
            self._too_large.add(id(asked))
            return
        self.commits.append(
            PendingCommit(
                topic.name, topic.topic_id, index, asked.committed_offset, asked.committed_leader_epoch, metadata
            )
        )

    def answer(self, error: ErrorCode) -> Task[TxnOffsetCommitResponse]:
        """`error` for everything that exists. One entry per topic, if anything was refused (`Builder.merge`)."""
        answered = []
        for topic in self.known:
            answers = yield from one_by_one(partial(self._answer, error), topic.partitions)
            answered.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=answers))
        if not self._refused:
            return TxnOffsetCommitResponse(topics=tuple(answered))
        topics: dict[str, list[TxnOffsetCommitResponsePartition]] = {}
        for each in (*self._refused, *answered):
            topics.setdefault(each.name, []).extend(each.partitions)
            yield
        merged = []
        for name, partitions in topics.items():
            merged.append(TxnOffsetCommitResponseTopic(name=name, partitions=tuple(partitions)))
            yield
        return TxnOffsetCommitResponse(topics=tuple(merged))

    def _answer(self, error: ErrorCode, asked: TxnOffsetCommitRequestPartition) -> TxnOffsetCommitResponsePartition:
        if error is ErrorCode.none and id(asked) in self._too_large:
            error = ErrorCode.offset_metadata_too_large
        return TxnOffsetCommitResponsePartition(partition_index=asked.partition_index, error_code=error)


def _as_answered(error: ErrorCode, version: int) -> ErrorCode:
    """What a client of that version understands. Source: Kafka's `AddPartitionsToTxnManager`, `KafkaApis`."""
    if error is ErrorCode.producer_fenced:
        return ErrorCode.invalid_producer_epoch
    if error is ErrorCode.transaction_abortable and version < ABORTABLE_SINCE:
        return ErrorCode.invalid_txn_state
    if error is ErrorCode.coordinator_load_in_progress and version < 2:
        return ErrorCode.coordinator_not_available
    return error
