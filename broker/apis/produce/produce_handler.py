"""Produce (key 0), versions 3 to 13; 0 to 2 are advertised only.

v3 record batches of magic 2, transactional id (KIP-98) · v4 KAFKA_STORAGE_ERROR is possible · v5 the start of the log ·
v6 as v5 · v7 zstd (KIP-110) · v8 errors of records (KIP-467) · v9 tagged fields · v10 new leaders (KIP-951) · v11 as
v10 · v12 adds partitions to transactions (KIP-890) · v13 topics by id (KIP-516).

Not supported: `compression.type` other than `producer`: batches are stored as they were sent. acks: there is one copy,
so that 1 and -1 (all) differ only when nodes are stopped, by `min.insync.replicas`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kohort.broker.apis.leadership import NO_EPOCH, refusal_to_lead
from kohort.broker.apis.produce.batch_checking import Candidate, candidate, check_all, check_in_a_turn
from kohort.broker.apis.produce.produce_parts import chunks_of, has_transactional_records, merged, topic_response
from kohort.broker.scheduling.request_chunks import SHORT, in_chunks
from kohort.broker.ticket import NO_REPLY, CloseConnection
from kohort.protocol.batches import NO_PRODUCER, TRANSACTIONAL, BatchInfo
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.leaders import LeaderIdAndEpoch, NodeEndpoint
from kohort.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kohort.security.rights import WRITE_TOPIC, WRITE_TRANSACTIONAL_ID
from kohort.storage.producers import Remembered, last_sequence
from kohort.storage.validation import Rejection, Verdict, only_batch

if TYPE_CHECKING:
    from kohort.broker.apis.produce.transactional import Refusals, Refused
    from kohort.broker.cluster.access import Access
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.storage.topic import Partition, Topic

ADMIN_CLIENT_ID = "__admin_client"  # client id that may write to internal topics, as in Kafka

TOPIC_IDS_FROM = 13

ALL = -1  # as acks: every in-sync replica must have the record


def handle(node: Node, request: ProduceRequest, ticket: Ticket) -> ProduceResponse | Task[Any] | object | None:
    """Store the batches of each partition, after verification of the transaction, if any."""
    if request.transactional_id is not None:
        from kohort.broker.apis.produce.transactional import NOT_ALLOWED, ask

        access = node.cluster.access
        if (
            access is not None
            and has_transactional_records(request)
            and not access.allows(ticket, WRITE_TRANSACTIONAL_ID, request.transactional_id)
        ):
            return _refuse_all(request, ticket, NOT_ALLOWED)
        return ask(
            node,
            request,
            ticket,
            lambda refusals: _store_in_chunks(node, request, ticket, refusals),
            lambda refused: _refuse_all(request, ticket, refused),
        )
    if len(request.topic_data) == 1 and len(request.topic_data[0].partition_data) == 1:
        response = _store_single(node, request, request.topic_data[0], ticket)
        if response is not None:
            return response
    if sum([len(data.partition_data) or 1 for data in request.topic_data]) > SHORT:
        return in_chunks(node, ticket, chunks_of(request), handle, merged)
    return _store(node, request, ticket, {})


def _store_single(
    node: Node, request: ProduceRequest, data: TopicProduceData, ticket: Ticket
) -> ProduceResponse | None:
    """Store the only batch of a request, as most have one. Return None if `_store` must handle it.

    It does if there is an error, an access check, an expensive check or a sync.
    """
    cluster = node.cluster
    by_id = ticket.version >= TOPIC_IDS_FROM
    topic = cluster.topics.by_id(data.topic_id) if by_id else cluster.topics.by_name(data.name)
    if topic is None or cluster.access is not None or cluster.syncs is not None or request.acks == 0:
        return None
    result = _look(node, topic, data.partition_data[0], request.acks, ticket, {})
    if not isinstance(result, Candidate) or result.header.attributes & TRANSACTIONAL:
        return None
    verdicts = check_in_a_turn((result,), ticket.received_at_ms + cluster.clock.epoch_ms)
    if verdicts is None or isinstance(verdicts[0], Rejection):
        return None
    answer = _append(node, result, verdicts[0], ticket.received_at_ms)
    response = ProduceResponse(responses=(topic_response(data.topic_id if by_id else data.name, (answer,)),))
    if answer.error_code:
        _name_leaders(node, response, ticket)
    return response


def _store_in_chunks(
    node: Node, request: ProduceRequest, ticket: Ticket, refusals: Refusals
) -> ProduceResponse | Task[Any] | object | None:
    """Store a request, in chunks if it is long, after its transaction has verified all partitions."""
    if sum([len(data.partition_data) for data in request.topic_data]) <= SHORT:
        return _store(node, request, ticket, refusals)

    def store(node: Node, part: ProduceRequest, own: Ticket) -> ProduceResponse | object | None:
        return _store(node, part, own, refusals)

    return in_chunks(node, ticket, chunks_of(request), store, merged)


def _store(node: Node, request: ProduceRequest, ticket: Ticket, refusals: Refusals) -> ProduceResponse | object | None:
    """Check the batches and append them. Expensive checks run in a thread in between."""
    looked = _look_at_all(node, request, ticket, refusals)
    candidates = _candidates(looked)
    cluster = node.cluster
    wall_ms = ticket.received_at_ms + cluster.clock.epoch_ms
    verdicts = check_in_a_turn(candidates, wall_ms)
    if verdicts is not None:
        return _append_all(node, request, ticket, looked, verdicts)

    def checked(verdicts: list[Verdict]) -> ProduceResponse | object | None:
        # Meanwhile topics may have been deleted, and leaders moved: such a batch is rejected as if it arrived now.
        current, verdict = _look_at_all(node, request, ticket, refusals), iter(verdicts)
        remaining_verdicts: list[Verdict] = []
        for key, parts in looked.items():
            for index, checked_batch in parts.items():
                if not isinstance(checked_batch, Candidate):
                    current[key][index] = checked_batch
                elif isinstance(current[key][index], Candidate):
                    remaining_verdicts.append(next(verdict))
                else:
                    next(verdict)
        return _append_all(node, request, ticket, current, remaining_verdicts)

    most_bytes = cluster.settings.kohort_batch_decompressed_max_bytes
    cluster.worker.answer(ticket, partial(check_all, candidates, wall_ms, most_bytes), checked)
    return None


# the batch to append to a partition, or the response if there is an error
BatchOrError = Candidate | PartitionProduceResponse

# results of the checks before records are read, by topic name or id, and partition
Looked = dict[UUID | str | None, dict[int, BatchOrError]]


def _candidates(looked: Looked) -> list[Candidate]:
    return [result for parts in looked.values() for result in parts.values() if isinstance(result, Candidate)]


def _look_at_all(node: Node, request: ProduceRequest, ticket: Ticket, refusals: Refusals) -> Looked:
    """Check every batch without reading its records.

    If a partition is repeated, the last batch that passes is stored, and the first error, if any, is returned.

    Source: observed on Kafka 4.3.0, responses and stored records.
    """
    by_id = ticket.version >= TOPIC_IDS_FROM
    may_use_transactions = request.transactional_id is not None or not has_transactional_records(request)
    topics, access = node.cluster.topics, node.cluster.access
    looked: Looked = {}
    for data in request.topic_data:
        if not data.partition_data:
            continue  # such a topic is left out of the response
        key = data.topic_id if by_id else data.name
        topic = topics.by_id(data.topic_id) if by_id else topics.by_name(data.name)
        allowed = access is None or _may_write(access, ticket, topic, data)
        parts = looked.get(key)
        if parts is None:
            parts = looked[key] = {}
        for part in data.partition_data:
            index = part.index
            if not may_use_transactions:
                result: BatchOrError = _refused(index, ErrorCode.transactional_id_authorization_failed)
            elif topic is None and by_id:
                result = _refused(index, ErrorCode.unknown_topic_id)
            elif not allowed:
                result = _refused(index, ErrorCode.topic_authorization_failed)
            else:
                result = _look(node, topic, part, request.acks, ticket, refusals)
            parts[index] = _named_twice(parts[index], result) if index in parts else result
    return looked


def _may_write(access: Access, ticket: Ticket, topic: Topic | None, data: TopicProduceData) -> bool:
    """Return whether the client may write to a topic. Unknown ids pass; they are rejected later."""
    if ticket.version >= TOPIC_IDS_FROM:
        return topic is None or access.allows(ticket, WRITE_TOPIC, topic.name)
    return access.allows(ticket, WRITE_TOPIC, data.name)


def _named_twice(previous: BatchOrError, latest: BatchOrError) -> BatchOrError:
    if isinstance(latest, Candidate):
        return latest._replace(refusal=previous.refusal if isinstance(previous, Candidate) else previous)
    if isinstance(previous, Candidate) and previous.refusal is None:
        return previous._replace(refusal=latest)
    return previous


def _append_all(
    node: Node, request: ProduceRequest, ticket: Ticket, looked: Looked, verdicts: list[Verdict]
) -> ProduceResponse | object | None:
    """Append the batches and return the response.

    Args:
        verdicts: Verdicts of the candidates in `looked`, in order.
    """
    verdict = iter(verdicts)
    now_ms = ticket.received_at_ms
    responses = []
    all_stored = True
    for key, parts in looked.items():
        answers = []
        for result in parts.values():
            if isinstance(result, Candidate):
                answer = _append(node, result, next(verdict), now_ms)
                answer = result.refusal or answer
            else:
                answer = result
            if answer.error_code:
                all_stored = False
            answers.append(answer)
        responses.append(topic_response(key, tuple(answers)))
    response = ProduceResponse(responses=tuple(responses))
    if not all_stored:
        _name_leaders(node, response, ticket)
    if request.acks == 0:
        return _without_reply(response)
    syncs = node.cluster.syncs
    if syncs is not None and _has_stored_something(response):
        syncs.after(lambda now_ms, error: ticket.reply(_synced(response, error)))
        return None
    return response


def _refuse_all(request: ProduceRequest, ticket: Ticket, refused: Refused) -> ProduceResponse | object:
    """Return the same error for all partitions, missing ones included.

    Source: Kafka's `ProduceRequest.getErrorResponse`.
    """
    by_id = ticket.version >= TOPIC_IDS_FROM
    named: dict[UUID | str | None, dict[int, PartitionProduceResponse]] = {}
    for data in request.topic_data:
        answers = named.setdefault(data.topic_id if by_id else data.name, {})
        answers.update((part.index, _refused(part.index, *refused)) for part in data.partition_data)
    response = ProduceResponse(
        responses=tuple(topic_response(key, tuple(answers.values())) for key, answers in named.items() if answers)
    )
    return _without_reply(response) if request.acks == 0 else response


def _has_stored_something(response: ProduceResponse) -> bool:
    return any(part.error_code is ErrorCode.none for topic in response.responses for part in topic.partition_responses)


def _synced(response: ProduceResponse, error: OSError | None) -> ProduceResponse:
    """Return the response after the disk sync. If that failed, stored partitions get an error."""
    if error is not None:
        for topic in response.responses:
            for part in topic.partition_responses:
                if part.error_code is ErrorCode.none:
                    part.error_code, part.base_offset = ErrorCode.kafka_storage_error, -1
    return response


def _without_reply(response: ProduceResponse) -> object:
    """Return NO_REPLY for acks=0.

    The only way to report an error is to disconnect, which makes clients refresh metadata.
    """
    for topic in response.responses:
        for part in topic.partition_responses:
            if part.error_code != ErrorCode.none:
                raise CloseConnection(f"Produce with acks=0 failed: {part.error_code.name}")
    return NO_REPLY


def _look(
    node: Node, topic: Topic | None, part: PartitionProduceData, acks: int, ticket: Ticket, refusals: Refusals
) -> PartitionProduceResponse | Candidate:
    """Check a batch, without its records, in Kafka's order."""
    partition = None if topic is None else topic.partition(part.index)
    if topic is None or partition is None:
        return _refused(part.index, ErrorCode.unknown_topic_or_partition)
    batch = only_batch(part.records, ticket.version)
    if isinstance(batch, Rejection):
        return _rejected(part.index, batch, -1)
    if refusals and (refused := refusals.get((topic.name, part.index))) is not None:
        return _refused(part.index, *refused)
    if not -1 <= acks <= 1:
        return _refused(part.index, ErrorCode.invalid_required_acks)
    if topic.internal and ticket.client_id != ADMIN_CLIENT_ID:
        return _refused(part.index, ErrorCode.invalid_topic_exception)
    refusal = refusal_to_lead(node, partition, NO_EPOCH)
    if refusal is not None:
        return _refused(part.index, refusal)
    if acks == ALL and node.cluster.topics.lacks_copies(topic, partition):
        return _refused(part.index, ErrorCode.not_enough_replicas)
    return candidate((topic, partition, topic.log_config, *batch, None))


def _append(node: Node, candidate: Candidate, verdict: Verdict, now_ms: int) -> PartitionProduceResponse:
    cluster, partition, header = node.cluster, candidate.partition, candidate.header
    log = partition.log
    if isinstance(verdict, Rejection):
        if verdict.warning:
            cluster.warn(f"{candidate.topic.name}-{partition.index}", verdict.warning)
        return _rejected(partition.index, verdict, log.log_start_offset)
    batch, max_timestamp, append_time_ms = verdict
    try:
        if header.producer_id > NO_PRODUCER:
            answer = _out_of_sequence(node, partition, header)
            if answer is not None:
                return answer
            remember = partial(_remember, node, partition, header, max_timestamp, now_ms + cluster.clock.epoch_ms)
            base_offset = cluster.append(partition, batch, now_ms, remember)
        else:
            base_offset = cluster.append(partition, batch, now_ms)
    except OSError as error:
        cluster.storage_failed(f"{candidate.topic.name}-{partition.index}", error)
        return _refused(partition.index, ErrorCode.kafka_storage_error)
    return PartitionProduceResponse(
        index=partition.index,
        error_code=ErrorCode.none,
        base_offset=base_offset,
        log_append_time_ms=append_time_ms,
        log_start_offset=log.log_start_offset,
    )


def _remember(
    node: Node, partition: Partition, header: BatchInfo, max_timestamp: int, wall_ms: int, offset: int
) -> None:
    last = last_sequence(header.base_sequence, header.record_count)
    node.cluster.topics.producers_of(partition).appended(
        header.producer_id,
        header.producer_epoch,
        Remembered(header.base_sequence, last, offset, max_timestamp),
        wall_ms,
        transactional=bool(header.attributes & TRANSACTIONAL),
    )


def _out_of_sequence(node: Node, partition: Partition, header: BatchInfo) -> PartitionProduceResponse | None:
    """Return the response to a duplicate or out-of-order idempotent batch, or None if the batch must be stored."""
    producers = node.cluster.topics.producers_of(partition)
    duplicate = producers.find_duplicate(
        header.producer_id, header.producer_epoch, header.base_sequence, header.record_count
    )
    if duplicate is not None:
        return PartitionProduceResponse(
            index=partition.index,
            error_code=ErrorCode.none,
            base_offset=duplicate.base_offset,
            log_append_time_ms=duplicate.max_timestamp,
            log_start_offset=partition.log.log_start_offset,
        )
    error_code = producers.check(
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        transactional=bool(header.attributes & TRANSACTIONAL),
    )
    if error_code == ErrorCode.none:
        return None
    return _rejected(partition.index, Rejection(error_code, has_log_start=True), partition.log.log_start_offset)


def _refused(index: int, error_code: ErrorCode, message: str | None = None) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, error_code=error_code, base_offset=-1, error_message=message)


def _rejected(index: int, rejection: Rejection, log_start_offset: int) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=rejection.error_code,
        base_offset=-1,
        log_start_offset=log_start_offset if rejection.has_log_start else -1,
        record_errors=tuple(
            BatchIndexAndErrorMessage(batch_index=number, batch_index_error_message=message)
            for number, message in rejection.record_errors
        ),
        error_message=rejection.message,
    )


def _name_leaders(node: Node, response: ProduceResponse, ticket: Ticket) -> None:
    """Add to the response the leaders of partitions that this node does not lead (KIP-951)."""
    leaders = {}
    for data in response.responses:
        for part in data.partition_responses:
            if part.error_code == ErrorCode.not_leader_or_follower:
                topic = node.cluster.topics.find(data.name, data.topic_id)
                partition = topic.partition(part.index) if topic is not None else None
                if partition is not None:
                    part.current_leader = LeaderIdAndEpoch(
                        leader_id=partition.leader, leader_epoch=partition.leader_epoch
                    )
                    leaders[partition.leader] = node.cluster.node(partition.leader)
    if leaders:
        rack = node.cluster.settings.broker_rack or None
        response.node_endpoints = tuple(
            NodeEndpoint(node_id=leader.id, host=(at := leader.address_for(ticket))[0], port=at[1], rack=rack)
            for leader in leaders.values()
            if leader is not None
        )
