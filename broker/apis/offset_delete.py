"""OffsetDelete (key 47), version 0: forget what a group has committed for topics that it does not use (KIP-496).

Topics and partitions that do not exist are refused one by one, first in the answer; the group is asked all the same.
Left out on purpose: authorization.
"""

from kohort.broker.cluster.node import Node
from kohort.broker.ticket import Ticket
from kohort.coordinator.deleting import offset_delete
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def handle(node: Node, request: OffsetDeleteRequest, ticket: Ticket) -> OffsetDeleteResponse | None:
    """None: answered when the deletions are written."""
    topics = node.cluster.topics
    answers: dict[str, dict[int, ErrorCode]] = {}
    wanted: list[tuple[str, int]] = []
    for asked in request.topics:
        topic = topics.by_name(asked.name)
        count = 0 if topic is None else len(topic.partitions)
        for each in asked.partitions:
            if 0 <= each.partition_index < count:
                wanted.append((asked.name, each.partition_index))
            else:
                _note(answers, asked.name, each.partition_index, ErrorCode.unknown_topic_or_partition)

    def done(error: ErrorCode, in_use: set[str]) -> None:
        for name, partition in wanted:
            _note(answers, name, partition, ErrorCode.group_subscribed_to_topic if name in in_use else error)
        ticket.reply(_answer(answers))

    refusal = offset_delete(node.coordinator, request.group_id, wanted, ticket.received_at_ms, done)
    return None if refusal is ErrorCode.none else error_response(request, refusal)


def _note(answers: dict[str, dict[int, ErrorCode]], topic: str, partition: int, error: ErrorCode) -> None:
    answers.setdefault(topic, {})[partition] = error


def _answer(answers: dict[str, dict[int, ErrorCode]]) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(
        error_code=ErrorCode.none,
        topics=tuple(
            OffsetDeleteResponseTopic(
                name=name,
                partitions=tuple(
                    OffsetDeleteResponsePartition(partition_index=partition, error_code=error)
                    for partition, error in partitions.items()
                ),
            )
            for name, partitions in answers.items()
        ),
    )


def error_response(request: OffsetDeleteRequest, error_code: ErrorCode) -> OffsetDeleteResponse:
    """A refusal of the whole names no topics."""
    return OffsetDeleteResponse(error_code=error_code, topics=())
