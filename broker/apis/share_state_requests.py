"""What the five requests to share coordinators have in common: partitions are asked for, and answered together.

Brokers send them to one another, so that CLUSTER_ACTION is asked for. kohort's own nodes do without
(`share_persister.py`). Without a group, or where a topic lists no partition, nothing is answered, as in Kafka.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from uuid import UUID

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

TopicT = TypeVar("TopicT")
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


Outcomes = dict["UUID | None", dict[int, StateOutcome]]
"""By topic and partition, each once, in the request's order."""


def ask_each(
    node: Node, request: _Request, ticket: Ticket, ask: Ask, respond: Callable[[Outcomes], object]
) -> Task[Any]:
    """Asks for each partition, and makes a response of what has come of all of them. None: it follows."""
    wanted = _wanted(request)
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, CLUSTER_ACTION):
        return respond(_all(wanted, refused(ErrorCode.cluster_authorization_failed)))
    outcomes: dict[tuple[UUID | None, int], StateOutcome] = {}
    waits = False

    def known(which: tuple[UUID | None, int], outcome: StateOutcome, now_ms: int) -> None:
        outcomes[which] = outcome
        if waits and len(outcomes) == len(wanted):
            ticket.reply(respond(_by_topic(wanted, outcomes)))

    for (topic_id, index), asked in wanted.items():
        key = SharePartitionKey(request.group_id, topic_id or NO_TOPIC, index)
        ask(key, asked, partial(known, (topic_id, index)), ticket.received_at_ms)
        yield
    if len(outcomes) == len(wanted):
        return respond(_by_topic(wanted, outcomes))
    waits = True
    return None


def refuse_each(request: _Request, error_code: ErrorCode) -> Outcomes:
    """The error for every partition."""
    return _all(_wanted(request), refused(error_code))


def results(
    outcomes: Outcomes, of_topic: Callable[..., TopicT], of_partition: Callable[[int, StateOutcome], object]
) -> tuple[TopicT, ...]:
    """The answer's elements. `of_topic`: their type, which has an id and partitions."""
    return tuple(
        of_topic(topic_id=topic_id, partitions=tuple(of_partition(index, each) for index, each in partitions.items()))
        for topic_id, partitions in outcomes.items()
    )


def bare(kind: Callable[..., PartitionT], index: int, outcome: StateOutcome) -> PartitionT:
    """A partition's answer that says no more than what has come of the request."""
    return kind(partition=index, error_code=outcome.error_code, error_message=outcome.error_message)


def _wanted(request: _Request) -> dict[tuple[UUID | None, int], _Partition]:
    """What is asked of each partition; one that is named twice is asked about once, as it was named last."""
    if not request.group_id or not all(topic.partitions for topic in request.topics):
        return {}
    return {(topic.topic_id, each.partition): each for topic in request.topics for each in topic.partitions}


def _all(wanted: Iterable[tuple[UUID | None, int]], outcome: StateOutcome) -> Outcomes:
    return _by_topic(wanted, dict.fromkeys(wanted, outcome))


def _by_topic(
    wanted: Iterable[tuple[UUID | None, int]], outcomes: dict[tuple[UUID | None, int], StateOutcome]
) -> Outcomes:
    found: Outcomes = {}
    for topic_id, index in wanted:
        found.setdefault(topic_id, {})[index] = outcomes[topic_id, index]
    return found
