"""TxnOffsetCommit (key 28), versions 0 to 5.

v0 (KIP-98) and v1 alike · v2 leader epochs (KIP-320) · v3 the member that commits, tagged fields (KIP-447) · v4
TRANSACTION_ABORTABLE may be answered · v5 adds the group to the transaction by itself (KIP-890).

Before v5, the group must have been added (AddOffsetsToTxn). Left out on purpose: authorization.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.apis.parts import SHORT
from kohort.broker.slices import Slices, at_once, one_by_one
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
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.context import OnWritten
    from kohort.storage.topics import Topic

ABORTABLE_SINCE = 4
ADDS_BY_ITSELF_SINCE = 5


def handle(
    node: Node, request: TxnOffsetCommitRequest, ticket: Ticket
) -> TxnOffsetCommitResponse | Slices[TxnOffsetCommitResponse | None] | None:
    """None: answered when the offsets are written. A long request is looked at in slices, and written at once."""
    steps = _handle(node, request, ticket)
    is_short = sum([len(topic.partitions) for topic in request.topics]) <= SHORT
    return at_once(steps) if is_short else steps


def _handle(node: Node, request: TxnOffsetCommitRequest, ticket: Ticket) -> Slices[TxnOffsetCommitResponse | None]:
    asked = _Asked(node)
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

    def __init__(self, node: Node) -> None:
        self.known: list[TxnOffsetCommitRequestTopic] = []
        """The topics that exist, without the partitions that do not."""
        self.commits: list[PendingCommit] = []
        self._too_large: set[TopicPartition] = set()
        self._refused: list[TxnOffsetCommitResponseTopic] = []
        self._topics = node.cluster.topics
        self._longest = node.coordinator.settings.offset_metadata_max_bytes

    def look(self, request: TxnOffsetCommitRequest) -> Slices[None]:
        """Sorts out what the request names."""
        for asked in request.topics:
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

    def answer(self, error: ErrorCode) -> Slices[TxnOffsetCommitResponse]:
        """`error` for everything that exists. One entry per topic, if anything was refused (`Builder.merge`)."""
        answered = []
        for topic in self.known:
            answers = yield from one_by_one(partial(self._answer, topic.name, error), topic.partitions)
            answered.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=answers))
        if not self._refused:
            return TxnOffsetCommitResponse(topics=tuple(answered))
        topics: dict[str, TxnOffsetCommitResponseTopic] = {}
        for each in (*self._refused, *answered):
            before = topics.setdefault(each.name, each)
            if before is not each:
                before.partitions += each.partitions
        return TxnOffsetCommitResponse(topics=tuple(topics.values()))

    def _answer(
        self, topic: str, error: ErrorCode, asked: TxnOffsetCommitRequestPartition
    ) -> TxnOffsetCommitResponsePartition:
        index = asked.partition_index
        if error is ErrorCode.none and (topic, index) in self._too_large:
            error = ErrorCode.offset_metadata_too_large
        return TxnOffsetCommitResponsePartition(partition_index=index, error_code=error)


def _as_answered(error: ErrorCode, version: int) -> ErrorCode:
    """What a client of that version understands. Source: Kafka's `AddPartitionsToTxnManager`, `KafkaApis`."""
    if error is ErrorCode.producer_fenced:
        return ErrorCode.invalid_producer_epoch
    if error is ErrorCode.transaction_abortable and version < ABORTABLE_SINCE:
        return ErrorCode.invalid_txn_state
    if error is ErrorCode.coordinator_load_in_progress and version < 2:
        return ErrorCode.coordinator_not_available
    return error
