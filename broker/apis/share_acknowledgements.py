"""Acknowledgements in ShareFetch and ShareAcknowledge, by partition.

Source: Kafka's `KafkaApis.handleAcknowledgements`; share-groups §9.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kohort.coordinator.share_partitions.acknowledging import (
    NOTHING_TO_BEGIN_WITH,
    Acknowledgement,
    acknowledging,
    badly_formed,
)
from kohort.coordinator.share_partitions.record_states import REJECT, RENEW
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.state_outcome import MESSAGES
from kohort.protocol.errors import ErrorCode
from kohort.security.rights import READ_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.pace import Pace
    from kohort.coordinator.share_partitions.share_partition import SharePartition
    from kohort.protocol.messages.share_acknowledgements import AcknowledgementBatch

    TopicIdPartition = tuple[UUID | None, int]
    OnAcknowledged = Callable[[dict[TopicIdPartition, "Acknowledged"], int], None]

RENEWAL_FROM: Final = 2  # first version in which a lock can be renewed (KIP-1222)


class Acknowledged(NamedTuple):
    """The result of the acknowledgements of a partition."""

    error_code: ErrorCode
    message: str | None = None


FAILS_ALL: Final = Acknowledged(ErrorCode.unknown_server_error, NOTHING_TO_BEGIN_WITH)


class _Partition(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def acknowledgement_batches(self) -> Sequence[AcknowledgementBatch]: ...


class _Topic(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[_Partition]: ...


BatchesByPartition = dict["TopicIdPartition", "list[Acknowledgement]"]  # acknowledgements of records, by partition


def read_acknowledgements(topics: Sequence[_Topic], pace: Pace) -> Task[BatchesByPartition]:
    """Return the acknowledgements of a request. Of a duplicate partition, the last ones count."""
    acks: BatchesByPartition = {}
    for topic in topics:
        for part in topic.partitions:
            batches = acks[topic.topic_id, part.partition_index] = []
            for batch in part.acknowledgement_batches:
                batches.append(Acknowledgement(batch.first_offset, batch.last_offset, batch.acknowledge_types))
                if pace.add():
                    yield
            if pace.add():
                yield
    return acks


def is_refused(batches: Sequence[Acknowledgement], ticket: Ticket, pace: Pace, *, renews: bool) -> Task[bool]:
    """Return whether acknowledgements are contradictory, or not supported by the request's version."""
    highest = RENEW if ticket.version >= RENEWAL_FROM else REJECT
    return (yield from badly_formed(batches, highest, pace, renews=renews))


class Acknowledging:
    """Handles the acknowledgements of one request."""

    def __init__(
        self,
        node: Node,
        ticket: Ticket,
        group_id: str,
        member_id: str,
        *,
        renews: bool,
        on_acknowledged: OnAcknowledged,
    ) -> None:
        self._node = node
        self._ticket = ticket
        self._group_id = group_id
        self._member_id = member_id
        self._renews = renews
        self._on_acknowledged = on_acknowledged
        self._outcomes: dict[TopicIdPartition, Acknowledged] = {}
        self._pending = 0

    def run(self, acks: BatchesByPartition, pace: Pace) -> Task[bool]:
        """Start all acknowledgements, in slices. `on_acknowledged` is called with the results when all are written.

        Returns:
            False if those of a partition fail the whole request, as in Kafka, which raises. The partitions after it are
            not looked at, and `on_acknowledged` is not called.
        """
        now_ms = self._ticket.received_at_ms
        self._pending = len(acks) + 1
        for topic_partition, batches in acks.items():
            outcome = yield from self._find(topic_partition, batches, pace)
            if isinstance(outcome, Acknowledged):
                self._on_done(topic_partition, outcome.error_code, outcome.message, now_ms)
            else:
                on_done = partial(self._on_done, topic_partition)
                yield from acknowledging(outcome, self._member_id, batches, on_done, now_ms)
                if self._outcomes.get(topic_partition) == FAILS_ALL:
                    return False
            if pace.add():
                yield
        self._one_less(now_ms)
        return True

    def _find(
        self, topic_partition: TopicIdPartition, batches: Sequence[Acknowledgement], pace: Pace
    ) -> Task[SharePartition | Acknowledged]:
        """Return the share partition, or the error of its acknowledgements."""
        topic_id, index = topic_partition
        node = self._node
        topic = node.cluster.topics.by_id(topic_id)
        if topic is None or topic_id is None:
            return Acknowledged(ErrorCode.unknown_topic_id)
        if (yield from is_refused(batches, self._ticket, pace, renews=self._renews)):
            return Acknowledged(ErrorCode.invalid_request)
        access = node.cluster.access
        if access is not None and not access.allows(self._ticket, READ_TOPIC, topic.name):
            return Acknowledged(ErrorCode.topic_authorization_failed)
        if topic.partition(index) is None:
            return Acknowledged(ErrorCode.unknown_topic_or_partition)
        share_partition = node.led_share_partitions.find(SharePartitionKey(self._group_id, topic_id, index))
        if share_partition is None:
            error = ErrorCode.unknown_topic_or_partition
            return Acknowledged(error, MESSAGES[error])
        return share_partition

    def _on_done(self, topic_partition: TopicIdPartition, error: ErrorCode, message: str | None, now_ms: int) -> None:
        self._outcomes[topic_partition] = Acknowledged(error, message)
        self._one_less(now_ms)

    def _one_less(self, now_ms: int) -> None:
        self._pending -= 1
        if not self._pending:
            self._on_acknowledged(self._outcomes, now_ms)
