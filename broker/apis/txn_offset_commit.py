"""TxnOffsetCommit (key 28), versions 0 to 5.

v0 (KIP-98) and v1 alike · v2 leader epochs (KIP-320) · v3 the member that commits, tagged fields (KIP-447) · v4
TRANSACTION_ABORTABLE may be answered · v5 adds the group to the transaction by itself (KIP-890).

Before v5, the group must have been added (AddOffsetsToTxn). Left out on purpose: authorization.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kohort.coordinator.committing_in_transactions import (
    Committer,
    PendingCommit,
    check_committer,
    txn_offset_commit,
)
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.transactions.adding import add_partitions, verify_partitions
from kohort.coordinator.transactions.transaction import WITH_EPOCH_BUMP
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

ABORTABLE_SINCE = 4
ADDS_BY_ITSELF_SINCE = 5

Refusals = dict[tuple[str, int], ErrorCode]


def handle(node: Node, request: TxnOffsetCommitRequest, ticket: Ticket) -> TxnOffsetCommitResponse | None:
    """None: answered when the offsets are written."""
    commits, refusals = _commits(node, request)
    if not commits:
        return _answer(request, refusals, ErrorCode.none)
    if not request.group_id:
        return _answer(request, refusals, ErrorCode.invalid_group_id)
    committer = Committer(
        request.producer_id,
        request.producer_epoch,
        request.group_id,
        request.generation_id,
        request.member_id,
        request.group_instance_id,
    )

    def done(error: ErrorCode) -> None:
        ticket.reply(_answer(request, refusals, _as_told(error, ticket.version)))

    def added(error: ErrorCode) -> None:
        if error is ErrorCode.none:
            accepted = [each for each in commits if (each.topic, each.partition) not in refusals]
            txn_offset_commit(node.coordinator, committer, accepted, ticket.received_at_ms, done)
        else:
            done(error)

    error = check_committer(node.coordinator, committer)
    if error is not ErrorCode.none:
        return _answer(request, refusals, _as_told(error, ticket.version))
    _ask_for(node, request, ticket, added)
    return None


def _ask_for(node: Node, request: TxnOffsetCommitRequest, ticket: Ticket, added: Callable[[ErrorCode], None]) -> None:
    """Whether the group belongs to the transaction; newer clients leave it to the broker to add it."""
    home = node.cluster.transaction_topic.coordinator_of(request.transactional_id)
    if home is None:
        added(ErrorCode.coordinator_not_available)
        return
    place = OFFSETS_TOPIC, node.coordinator.partition_of(request.group_id)
    who = request.transactional_id, request.producer_id, request.producer_epoch
    if ticket.version >= ADDS_BY_ITSELF_SINCE:
        add_partitions(
            home.transactions, *who, frozenset({place}), added, ticket.received_at_ms, client_version=WITH_EPOCH_BUMP
        )
    else:
        added(verify_partitions(home.transactions, *who, frozenset({place}))[place])


def _commits(node: Node, request: TxnOffsetCommitRequest) -> tuple[list[PendingCommit], Refusals]:
    """What names partitions that exist, and what is refused by itself."""
    commits: list[PendingCommit] = []
    refusals: Refusals = {}
    longest = node.coordinator.settings.offset_metadata_max_bytes
    for asked in request.topics:
        topic = node.cluster.topics.by_name(asked.name)
        for each in asked.partitions:
            index, metadata = each.partition_index, each.committed_metadata or ""
            if topic is None or topic.partition(index) is None:
                refusals[asked.name, index] = ErrorCode.unknown_topic_or_partition
                continue
            if len(metadata.encode("utf-16-le", "surrogatepass")) > 2 * longest:
                refusals[asked.name, index] = ErrorCode.offset_metadata_too_large
            commits.append(
                PendingCommit(
                    asked.name, topic.topic_id, index, each.committed_offset, each.committed_leader_epoch, metadata
                )
            )
    return commits, refusals


def _as_told(error: ErrorCode, version: int) -> ErrorCode:
    """What a client of that version understands. Source: Kafka's `AddPartitionsToTxnManager`, `KafkaApis`."""
    if error is ErrorCode.producer_fenced:
        return ErrorCode.invalid_producer_epoch
    if error is ErrorCode.transaction_abortable and version < ABORTABLE_SINCE:
        return ErrorCode.invalid_txn_state
    if error is ErrorCode.coordinator_load_in_progress and version < 2:
        return ErrorCode.coordinator_not_available
    return error


def _answer(request: TxnOffsetCommitRequest, refusals: Refusals, error: ErrorCode) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=tuple(
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=tuple(
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index,
                        error_code=refusals.get((topic.name, each.partition_index), error),
                    )
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )
