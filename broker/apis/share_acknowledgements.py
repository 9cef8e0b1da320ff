"""What a member of a share group says of records, in a ShareFetch or a ShareAcknowledge: partition by partition.

Source: Kafka's `KafkaApis.handleAcknowledgements`; share-groups §9.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

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
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.pace import Pace
    from kohort.coordinator.share_partitions.share_partition import SharePartition
    from kohort.protocol.messages.share_acknowledgements import AcknowledgementBatch

    Which = tuple[UUID | None, int]
    OnAcknowledged = Callable[[dict[Which, "Acknowledged"], int], None]

RENEWAL_FROM: Final = 2
"""The version from which a record may be held for longer (KIP-1222)."""


class Acknowledged(NamedTuple):
    """What a partition's client hears."""

    error_code: ErrorCode
    message: str | None = None


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


Said = dict["Which", "list[Acknowledgement]"]
"""By partition what is said of its records."""


def said_in(topics: Sequence[_Topic], pace: Pace) -> Task[Said]:
    """Return what a request says; one that names a partition twice means what it says last."""
    said: Said = {}
    for topic in topics:
        for part in topic.partitions:
            batches = said[topic.topic_id, part.partition_index] = []
            for each in part.acknowledgement_batches:
                batches.append(Acknowledgement(each.first_offset, each.last_offset, each.acknowledge_types))
                if pace.add():
                    yield
            if pace.add():
                yield
    return said


def is_refused(batches: Sequence[Acknowledgement], ticket: Ticket, pace: Pace, *, renews: bool) -> Task[bool]:
    """Return whether what is said contradicts itself, or is more than the request's version has."""
    highest = RENEW if ticket.version >= RENEWAL_FROM else REJECT
    return (yield from badly_formed(batches, highest, pace, renews=renews))


def fail(outcomes: Mapping[Which, Acknowledged]) -> bool:
    """Whether what came of partitions makes the whole request fail."""
    return any(outcome.message is NOTHING_TO_BEGIN_WITH for outcome in outcomes.values())


class Acknowledging:
    """All that one request says, on behalf of one member. `then` gets what came of each partition."""

    def __init__(
        self, node: Node, ticket: Ticket, group_id: str, member_id: str, *, renews: bool, then: OnAcknowledged
    ) -> None:
        self._node = node
        self._ticket = ticket
        self._group_id = group_id
        self._member_id = member_id
        self._renews = renews
        self._then = then
        self._outcomes: dict[Which, Acknowledged] = {}
        self._left = 0

    def run(self, said: Said, pace: Pace) -> Task[Any]:
        """Begin all of it; others may be served in between. `then` is called when all is written."""
        now_ms = self._ticket.received_at_ms
        self._left = len(said) + 1
        for which, batches in said.items():
            found = yield from self._find(which, batches, pace)
            if isinstance(found, Acknowledged):
                self._done(which, found.error_code, found.message, now_ms)
            else:
                then = partial(self._done, which)
                yield from acknowledging(found, self._member_id, batches, then, now_ms)
            if pace.add():
                yield
        self._one_less(now_ms)

    def _find(
        self, which: Which, batches: Sequence[Acknowledgement], pace: Pace
    ) -> Task[SharePartition | Acknowledged]:
        """The share partition, or why nothing can be said of it."""
        topic_id, index = which
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
        found = node.led_share_partitions.known(SharePartitionKey(self._group_id, topic_id, index))
        if found is None:
            error = ErrorCode.unknown_topic_or_partition
            return Acknowledged(error, MESSAGES[error])
        return found

    def _done(self, which: Which, error: ErrorCode, message: str | None, now_ms: int) -> None:
        self._outcomes[which] = Acknowledged(error, message)
        self._one_less(now_ms)

    def _one_less(self, now_ms: int) -> None:
        self._left -= 1
        if not self._left:
            self._then(self._outcomes, now_ms)
