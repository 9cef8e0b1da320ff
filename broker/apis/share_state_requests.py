"""What the five requests to share coordinators have in common: partitions are asked for, and answered together.

Brokers send them to one another, so that CLUSTER_ACTION is asked for. kohort's own nodes do without
(`share_persister.py`). Without a group, or where a topic lists no partition, nothing is answered, as in Kafka.
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

    Ask = Callable[[SharePartitionKey, Any, OnOutcome, int], None]
    """Asks the coordinator for one partition; gets what the request says of it, and the time."""

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


Wanted = dict[tuple["UUID | None", int], _Partition]
"""What is asked of each partition of each topic."""
Outcomes = dict[tuple["UUID | None", int], StateOutcome]


class ResponseMaker(NamedTuple):
    """Types of which the response of one of these APIs is made."""

    response: Callable[..., Any]
    topic: Callable[..., Any]
    partition: Callable[[int, StateOutcome], object]
    """Makes the result of a partition, of its index."""

    def make(self, wanted: Iterable[tuple[UUID | None, int]], outcomes: Outcomes) -> Task[Any]:
        """Make the response: partitions by their topics, in the order of the request."""
        topics: dict[UUID | None, list[object]] = {}
        for topic_id, index in wanted:
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
        wanted = yield from _wanted(request)
        return (yield from self.make(wanted, dict.fromkeys(wanted, outcome)))


def ask_each(node: Node, request: _Request, ticket: Ticket, ask: Ask, maker: ResponseMaker) -> Task[Any]:
    """Call the coordinator for each partition, and answer when all outcomes are there, perhaps later."""
    wanted = yield from _wanted(request)
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, CLUSTER_ACTION):
        refusal = refused(ErrorCode.cluster_authorization_failed)
        return (yield from maker.make(wanted, dict.fromkeys(wanted, refusal)))
    outcomes: Outcomes = {}
    response: AwaitedResponse[Outcomes, Any] = AwaitedResponse(ticket, partial(maker.make, wanted))

    def known(which: tuple[UUID | None, int], outcome: StateOutcome, now_ms: int) -> None:
        outcomes[which] = outcome
        if len(outcomes) == len(wanted):
            response.set(outcomes)

    for (topic_id, index), asked in wanted.items():
        key = SharePartitionKey(request.group_id, topic_id or NO_TOPIC, index)
        ask(key, asked, partial(known, (topic_id, index)), ticket.received_at_ms)
        yield
    if not wanted:
        response.set(outcomes)
    return (yield from response.get())


def bare(kind: Callable[..., PartitionT], index: int, outcome: StateOutcome) -> PartitionT:
    """A partition's answer that says no more than what has come of the request."""
    return kind(partition=index, error_code=outcome.error_code, error_message=outcome.error_message)


def _wanted(request: _Request) -> Task[Wanted]:
    """Find what is asked of each partition. One that is named twice is called for once, as it was named last."""
    wanted: Wanted = {}
    if not request.group_id or not all(topic.partitions for topic in request.topics):
        return wanted
    for topic in request.topics:
        for each in topic.partitions:
            wanted[topic.topic_id, each.partition] = each
            yield
    return wanted
