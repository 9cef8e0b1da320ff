"""TxnOffsetCommit (key 28), versions 0 to 5.

v0 (KIP-98) and v1 alike · v2 leader epochs (KIP-320) · v3 the member that commits, tagged fields (KIP-447) · v4
TRANSACTION_ABORTABLE may be answered · v5 adds the group to the transaction by itself (KIP-890).

Before v5, the group must have been added (AddOffsetsToTxn). Left out on purpose: authorization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.coordinator.committing_in_transactions import (
    Committer,
    PendingCommit,
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
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.context import OnWritten
    from kohort.storage.topics import Topic

ABORTABLE_SINCE = 4
ADDS_BY_ITSELF_SINCE = 5


def handle(node: Node, request: TxnOffsetCommitRequest, ticket: Ticket) -> TxnOffsetCommitResponse | None:
    """None: answered when the offsets are written."""
    asked = _Asked(node, request)
    if not asked.known:
        return asked.answer(ErrorCode.none)
    if not request.group_id:
        return asked.answer(ErrorCode.invalid_group_id)
    committer = Committer(
        request.producer_id,
        request.producer_epoch,
        request.group_id,
        request.generation_id,
        request.member_id,
        request.group_instance_id,
    )

    def written(error: ErrorCode, _: int) -> None:
        ticket.reply(asked.answer(_as_answered(error, ticket.version)))

    def added(error: ErrorCode, now_ms: int) -> None:
        if error is ErrorCode.none:
            txn_offset_commit(node.coordinator, committer, asked.commits, ticket.received_at_ms, written)
        else:
            written(error, now_ms)

    error = node.coordinator.creatable(request.group_id)
    if error is not ErrorCode.none:
        return asked.answer(_as_answered(error, ticket.version))
    _ask_for(node, request, ticket, added)
    return None


def _ask_for(node: Node, request: TxnOffsetCommitRequest, ticket: Ticket, on_added: OnWritten) -> None:
    """Whether the group belongs to the transaction; newer clients leave it to the broker to add it."""
    home = node.cluster.transaction_topic.coordinator_of(request.transactional_id)
    if home is None:
        on_added(ErrorCode.coordinator_not_available, ticket.received_at_ms)
        return
    topic_partition = OFFSETS_TOPIC, node.coordinator.partition_of(request.group_id)
    who = request.transactional_id, request.producer_id, request.producer_epoch
    if ticket.version >= ADDS_BY_ITSELF_SINCE:
        add_partitions(
            home.transactions,
            *who,
            frozenset({topic_partition}),
            on_added,
            ticket.received_at_ms,
            client_version=WITH_EPOCH_BUMP,
        )
    else:
        verified = verify_partitions(home.transactions, *who, frozenset({topic_partition}))
        on_added(verified[topic_partition], ticket.received_at_ms)


class _Asked:
    """What a request names: commits of partitions that exist, and what is refused by itself."""

    def __init__(self, node: Node, request: TxnOffsetCommitRequest) -> None:
        self.known: list[TxnOffsetCommitRequestTopic] = []
        """The topics that exist, without the partitions that do not."""
        self.commits: list[PendingCommit] = []
        self._too_large: set[TopicPartition] = set()
        self._refused: list[TxnOffsetCommitResponseTopic] = []
        longest = node.coordinator.settings.offset_metadata_max_bytes
        for asked in request.topics:
            topic = node.cluster.topics.by_name(asked.name)
            if topic is None:
                self._refuse(asked.name, asked.partitions)
                continue
            there = tuple(each for each in asked.partitions if topic.partition(each.partition_index) is not None)
            if len(there) < len(asked.partitions):
                missing = tuple(each for each in asked.partitions if topic.partition(each.partition_index) is None)
                self._refuse(asked.name, missing)
            if there:
                self.known.append(TxnOffsetCommitRequestTopic(name=asked.name, partitions=there))
            for each in there:
                self._commit(topic, each, longest)

    def _refuse(self, name: str, missing: tuple[TxnOffsetCommitRequestPartition, ...]) -> None:
        unknown = ErrorCode.unknown_topic_or_partition
        self._refused.append(
            TxnOffsetCommitResponseTopic(
                name=name,
                partitions=tuple(
                    TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=unknown)
                    for each in missing
                ),
            )
        )

    def _commit(self, topic: Topic, asked: TxnOffsetCommitRequestPartition, longest: int) -> None:
        index, metadata = asked.partition_index, asked.committed_metadata or ""
        if len(metadata.encode("utf-16-le", "surrogatepass")) > 2 * longest:
            self._too_large.add((topic.name, index))
            return
        self.commits.append(
            PendingCommit(
                topic.name, topic.topic_id, index, asked.committed_offset, asked.committed_leader_epoch, metadata
            )
        )

    def answer(self, error: ErrorCode) -> TxnOffsetCommitResponse:
        """`error` for everything that exists. One entry per topic, if anything was refused (`Builder.merge`)."""
        answered = [
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=tuple(
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index,
                        error_code=ErrorCode.offset_metadata_too_large
                        if error is ErrorCode.none and (topic.name, each.partition_index) in self._too_large
                        else error,
                    )
                    for each in topic.partitions
                ),
            )
            for topic in self.known
        ]
        if not self._refused:
            return TxnOffsetCommitResponse(topics=tuple(answered))
        topics: dict[str, TxnOffsetCommitResponseTopic] = {}
        for topic in (*self._refused, *answered):
            before = topics.setdefault(topic.name, topic)
            if before is not topic:
                before.partitions += topic.partitions
        return TxnOffsetCommitResponse(topics=tuple(topics.values()))


def _as_answered(error: ErrorCode, version: int) -> ErrorCode:
    """What a client of that version understands. Source: Kafka's `AddPartitionsToTxnManager`, `KafkaApis`."""
    if error is ErrorCode.producer_fenced:
        return ErrorCode.invalid_producer_epoch
    if error is ErrorCode.transaction_abortable and version < ABORTABLE_SINCE:
        return ErrorCode.invalid_txn_state
    if error is ErrorCode.coordinator_load_in_progress and version < 2:
        return ErrorCode.coordinator_not_available
    return error
