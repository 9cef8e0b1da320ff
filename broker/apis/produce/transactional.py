"""Verification that the partitions of a transactional Produce belong to its transaction (KIP-890).

Partitions in which this producer epoch already has an open transaction need none. For clients before version 12 the
transaction coordinator verifies that they have added the partition; for newer ones, which leave that to the broker, it
adds the partition.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, NamedTuple

from kohort.broker.scheduling.request_chunks import SHORT
from kohort.coordinator.at_once import at_once
from kohort.coordinator.transactions.adding import add_partitions, verify_partitions
from kohort.coordinator.transactions.transaction import WITH_EPOCH_BUMP
from kohort.protocol.batches import NO_PRODUCER, TRANSACTIONAL, BatchInfo
from kohort.protocol.errors import ErrorCode
from kohort.protocol.topic_partition import TopicPartition
from kohort.security.rights import WRITE_TOPIC
from kohort.storage.validation import Rejection, only_batch

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.protocol.messages.produce import ProduceRequest
    from kohort.storage.topic import Partition

ABORTABLE_SINCE = 11
ADDS_BY_ITSELF_SINCE = 12
TOPIC_IDS_FROM = 13

_RETRIABLE = (
    ErrorCode.network_exception,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
    ErrorCode.not_coordinator,
)  # Errors that producers would not retry here. They are replaced by NOT_ENOUGH_REPLICAS, which they retry.


class Refused(NamedTuple):
    """The error of a partition that is not part of the transaction."""

    error_code: ErrorCode
    message: str | None


Refusals = dict[TopicPartition, Refused]

SEVERAL_PRODUCERS = Refused(
    ErrorCode.invalid_producer_id_mapping, "Transactional records contained more than one producer ID"
)  # the error of all partitions if a request has transactional batches of several producers or epochs


# the error of all partitions if the producer may not use the transactional id
NOT_ALLOWED = Refused(ErrorCode.transactional_id_authorization_failed, None)


class _Batch(NamedTuple):
    """A batch for a partition that this node leads."""

    topic_partition: TopicPartition
    partition: Partition
    header: BatchInfo

    @property
    def is_transactional(self) -> bool:
        """Whether the batch is part of a transaction."""
        return self.header.producer_id > NO_PRODUCER and bool(self.header.attributes & TRANSACTIONAL)

    @property
    def is_fenced(self) -> bool:
        """Whether the partition has a later epoch of the producer."""
        producers, header = self.partition.producers, self.header
        if producers is None:
            return False
        return producers.knows_later_epoch(header.producer_id, header.producer_epoch)

    @property
    def is_in_transaction(self) -> bool:
        """Whether the producer has an open transaction in the partition."""
        producers, header = self.partition.producers, self.header
        return producers is not None and producers.is_in_transaction(header.producer_id, header.producer_epoch)

    def begin(self, node: Node, wall_ms: int, *, begins_with_0: bool) -> None:
        """Prepare the partition for the beginning of a transaction."""
        header, producers = self.header, node.cluster.topics.producers_of(self.partition)
        producers.verifying(
            header.producer_id, header.producer_epoch, header.base_sequence, wall_ms, begins_with_0=begins_with_0
        )


def ask(
    node: Node,
    request: ProduceRequest,
    ticket: Ticket,
    on_verified: Callable[[Refusals], object | None],
    refuse_all: Callable[[Refused], object],
) -> object | None:
    """Verify the partitions, and call `then` with the errors, or `refuse_all` if the whole request is rejected.

    Returns:
        The result of the call, a task for a long request, or None if the response is sent later.
    """
    steps = _ask(node, request, ticket, on_verified, refuse_all)
    return steps if sum([len(data.partition_data) for data in request.topic_data]) > SHORT else at_once(steps)


def _ask(
    node: Node,
    request: ProduceRequest,
    ticket: Ticket,
    on_verified: Callable[[Refusals], object | None],
    refuse_all: Callable[[Refused], object],
) -> Task[object | None]:
    batches = yield from _transactional_batches(node, request, ticket)
    if len({(batch.header.producer_id, batch.header.producer_epoch) for batch in batches}) > 1:
        return refuse_all(SEVERAL_PRODUCERS)
    # A partition rejects fenced epochs itself (Kafka: `UnifiedLog.maybeStartTransactionVerification`).
    fenced = Refused(ErrorCode.invalid_producer_epoch, None)
    refusals: Refusals = {}
    unverified = []
    wall_ms = ticket.received_at_ms + node.cluster.clock.epoch_ms
    for batch in batches:
        if batch.is_fenced:
            refusals[batch.topic_partition] = fenced
        elif not batch.is_in_transaction:
            batch.begin(node, wall_ms, begins_with_0=ticket.version >= ADDS_BY_ITSELF_SINCE)
            unverified.append(batch)
        yield
    if not unverified:
        return (yield from _response(on_verified(refusals)))
    producer = unverified[0].header.producer_id, unverified[0].header.producer_epoch
    topic_partitions = frozenset(batch.topic_partition for batch in unverified)
    transactional_id = request.transactional_id
    assert transactional_id is not None, "checked by the caller"
    coordinator = node.cluster.transaction_topic.coordinator_of(transactional_id)
    if coordinator is None:
        _refuse(refusals, topic_partitions, ErrorCode.coordinator_not_available, ticket.version)
        return (yield from _response(on_verified(refusals)))
    if ticket.version < ADDS_BY_ITSELF_SINCE or request.acks == 0:
        for topic_partition, error in verify_partitions(
            coordinator, transactional_id, *producer, topic_partitions
        ).items():
            _refuse(refusals, {topic_partition}, error, ticket.version)
            yield
        return (yield from _response(on_verified(refusals)))

    waits = False
    responses: list[object | None] = []

    def added(error: ErrorCode, _: int) -> None:
        _refuse(refusals, topic_partitions, error, ticket.version)
        response = on_verified(refusals)
        if not waits:
            responses.append(response)
        elif isinstance(response, Generator):
            ticket.work_on(response)
        elif response is not None:  # otherwise it is sent after the disk sync
            ticket.reply(response)

    add_partitions(
        coordinator,
        transactional_id,
        *producer,
        topic_partitions,
        added,
        ticket.received_at_ms,
        client_version=WITH_EPOCH_BUMP,
    )
    waits = True
    return (yield from _response(responses[0])) if responses else None


def _response(response: object | None) -> Task[object | None]:
    return (yield from response) if isinstance(response, Generator) else response


def _transactional_batches(node: Node, request: ProduceRequest, ticket: Ticket) -> Task[list[_Batch]]:
    """Return the transactional batches of partitions. Of duplicates, the last batch counts, transactional or not.

    Batches that are rejected later, for example as unauthorized, are left out.
    """
    topics, access, version = node.cluster.topics, node.cluster.access, ticket.version
    batches: dict[TopicPartition, _Batch] = {}
    for data in request.topic_data:
        topic = topics.by_id(data.topic_id) if version >= TOPIC_IDS_FROM else topics.by_name(data.name)
        if access is not None and topic is not None and not access.shows(ticket, WRITE_TOPIC, topic.name):
            continue
        for part in data.partition_data:
            yield
            partition = None if topic is None else topic.partition(part.index)
            if topic is None or partition is None or partition.leader != node.id:
                continue
            batch = only_batch(part.records, version)
            if isinstance(batch, Rejection):
                continue  # it is rejected later
            batches[topic.name, part.index] = _Batch((topic.name, part.index), partition, batch[1])
    return [candidate for candidate in batches.values() if candidate.is_transactional]


def _refuse(
    refusals: Refusals,
    topic_partitions: Iterable[TopicPartition],
    error: ErrorCode,
    version: int,
) -> None:
    """Add an error to `refusals`, converted for the client's version. Source: Kafka's `ReplicaManager`."""
    if error is ErrorCode.none:
        return
    message = None
    if error in _RETRIABLE or (error is ErrorCode.concurrent_transactions and version < ADDS_BY_ITSELF_SINCE):
        message = (
            f"Unable to verify the partition has been added to the transaction. Underlying error: {error.name.upper()}"
        )
        error = ErrorCode.not_enough_replicas
    elif error is ErrorCode.producer_fenced:
        error = ErrorCode.invalid_producer_epoch
    elif error is ErrorCode.transaction_abortable and version < ABORTABLE_SINCE:
        error, message = ErrorCode.invalid_txn_state, "Partition was not added to the transaction"
    refusals.update(dict.fromkeys(topic_partitions, Refused(error, message)))
