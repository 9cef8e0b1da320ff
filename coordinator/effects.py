"""Effects: what a coordinator requests from the shell, as values. The shell performs them in this order.

The function of an API returns a response, or None if a `Reply` follows later.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from kohort.protocol.batches import EncodedRecords, Marker
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.coordinator.events.group_event import GroupEvent  # loaded only if events are needed

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTION_TOPIC: Final = "__transaction_state"
SHARE_STATE_TOPIC: Final = "__share_group_state"


class Reply:
    """The response to a request that had to wait. `ticket` is the value that the shell passed with the request."""

    __slots__ = ("response", "ticket")

    def __init__(self, ticket: Any, response: Any) -> None:
        self.ticket = ticket
        self.response = response

    def __repr__(self) -> str:
        return f"Reply({self.ticket}, {self.response})"


class Replies(NamedTuple):
    """The responses to many requests that waited for the same event.

    The coordinator regards them as sent. The shell creates and sends a few at a time, and serves other clients in
    between.
    """

    answers: Iterator[tuple[Any, Any]]  # tickets and responses


class Append:
    """Records for a partition of a coordinator's topic, to be written as one batch.

    When they are written or the write has failed, the shell calls `appended` of the topic's coordinator with the token.
    """

    __slots__ = ("partition", "producer", "records", "timestamp_ms", "token", "topic")

    def __init__(
        self,
        token: int,
        partition: int,
        records: EncodedRecords,
        timestamp_ms: int,
        topic: str = OFFSETS_TOPIC,
        producer: tuple[int, int] | None = None,
    ) -> None:
        self.token = token
        self.partition = partition
        self.records = records  # Encoded keys and values. A value of None deletes the key.
        self.timestamp_ms = timestamp_ms  # wall clock, the same for all records of an operation
        self.topic = topic
        self.producer = producer  # id and epoch of the producer if they are part of a transaction

    def __repr__(self) -> str:
        return f"Append({self.token}, {self.topic}-{self.partition}, {len(self.records)} records, {self.producer})"


class WriteMarkers(NamedTuple):
    """Markers that end a transaction in each of its partitions.

    When all are written, the shell calls `TransactionCoordinator.appended` with the token.
    """

    token: int
    producer_id: int
    producer_epoch: int
    marker: Marker
    client_version: int
    partitions: tuple[TopicPartition, ...]


class Cause(NamedTuple):
    """Cause of a state transition: a name from the closed list of offsets-topic §9.3, and the client that caused it."""

    name: str
    member_id: str = ""
    client_id: str = ""
    client_host: str = ""
    # The client's reason (JoinGroup from v8, LeaveGroup from v5), or the members for which a phase waited in vain.
    reason: str = ""


class Transition(NamedTuple):
    """State transition of a group."""

    group_id: str
    partition: int
    from_state: str
    to_state: str
    generation_id: int
    members: int
    cause: Cause


class GroupWarning(NamedTuple):
    """A warning about a group for the operator, mostly that Kafka's own behaviour is about to cause damage."""

    group_id: str
    text: str


Effect: TypeAlias = "Reply | Replies | Append | WriteMarkers | Transition | GroupWarning | GroupEvent"
