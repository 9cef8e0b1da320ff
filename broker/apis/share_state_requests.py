"""Shared parts of the five requests to share coordinators: a call for each partition, and a response for all.

Brokers send them to each other, hence the check of CLUSTER_ACTION. kohort's own nodes don't use them
(`share_persister.py`). Without a group, or if a topic has no partitions, the response is empty, as in Kafka.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar
from uuid import UUID

from kohort.broker.scheduling.awaited_response import AwaitedResponse
from kohort.broker.scheduling.cooperative import finished
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.state_outcome import StateOutcome, refused
from kohort.protocol.errors import ErrorCode
from kohort.security.rights import CLUSTER_ACTION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.share_state.state_outcome import OnOutcome

    # calls the coordinator for one partition; the callback gets the outcome and the time
    Ask = Callable[[SharePartitionKey, Any, OnOutcome, int], None]

PartitionT = TypeVar("PartitionT")

NO_TOPIC: Final = UUID(int=0)


class _Partition(Protocol):
    @property
    def partition(self) -> int: ...


class _Topic(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[_Partition]: ...


class _Request(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def topics(self) -> Sequence[_Topic]: ...


Requested = dict[tuple["UUID | None", int], _Partition]  # the data of each requested partition
Outcomes = dict[tuple["UUID | None", int], StateOutcome]


class ResponseMaker(NamedTuple):
    """Types from which the response of one of these APIs is built."""

    response: Callable[..., Any]
    topic: Callable[..., Any]
    partition: Callable[[int, StateOutcome], object]  # creates the result of a partition from its index

    def make(self, requested: Iterable[tuple[UUID | None, int]], outcomes: Outcomes) -> Task[Any]:
        """Build the response: partitions by topic, in the order of the request."""
        topics: dict[UUID | None, list[object]] = {}
        for topic_id, index in requested:
            topics.setdefault(topic_id, []).append(self.partition(index, outcomes[topic_id, index]))
            yield
        results = []
        for topic_id, partitions in topics.items():
            results.append(self.topic(topic_id=topic_id, partitions=tuple(partitions)))
            yield
        return self.response(results=tuple(results))

    def refuse_each(self, request: _Request, error_code: ErrorCode) -> Any:
        """Return the response with an error for every partition."""
        return finished(self._refusing(request, refused(error_code)))

    def _refusing(self, request: _Request, outcome: StateOutcome) -> Task[Any]:
        requested = yield from _requested(request)
        return (yield from self.make(requested, dict.fromkeys(requested, outcome)))


def ask_each(node: Node, request: _Request, ticket: Ticket, ask: Ask, maker: ResponseMaker) -> Task[Any]:
    """Call the coordinator for each partition. The response is sent when all outcomes are available."""
    requested = yield from _requested(request)
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, CLUSTER_ACTION):
        refusal = refused(ErrorCode.cluster_authorization_failed)
        return (yield from maker.make(requested, dict.fromkeys(requested, refusal)))
    outcomes: Outcomes = {}
    response: AwaitedResponse[Outcomes, Any] = AwaitedResponse(ticket, partial(maker.make, requested))

    def on_outcome(topic_partition: tuple[UUID | None, int], outcome: StateOutcome, now_ms: int) -> None:
        outcomes[topic_partition] = outcome
        if len(outcomes) == len(requested):
            response.set(outcomes)

    for (topic_id, index), data in requested.items():
        key = SharePartitionKey(request.group_id, topic_id or NO_TOPIC, index)
        ask(key, data, partial(on_outcome, (topic_id, index)), ticket.received_at_ms)
        yield
    if not requested:
        response.set(outcomes)
    return (yield from response.get())


def bare(kind: Callable[..., PartitionT], index: int, outcome: StateOutcome) -> PartitionT:
    """Create the result of a partition that has only an error."""
    return kind(partition=index, error_code=outcome.error_code, error_message=outcome.error_message)


def _requested(request: _Request) -> Task[Requested]:
    """Return the data of each requested partition. Of duplicates, the last counts."""
    requested: Requested = {}
    if not request.group_id or not all(topic.partitions for topic in request.topics):
        return requested
    for topic in request.topics:
        for partition in topic.partitions:
            requested[topic.topic_id, partition.partition] = partition
            yield
    return requested
