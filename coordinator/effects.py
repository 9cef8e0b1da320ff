"""What the coordinator wants done, as values. The shell does it, in this order, and nothing else.

An API's function answers at once (it returns its response) or later (it returns None, and a `Reply` follows).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from kohort.protocol.batches import EncodedRecords, Marker
from kohort.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kohort.coordinator.events.group_event import GroupEvent  # not loaded before somebody listens

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTION_TOPIC: Final = "__transaction_state"
SHARE_STATE_TOPIC: Final = "__share_group_state"


class Reply:
    """The answer to a request that had to wait. `ticket` is what the shell handed in with the request."""

    __slots__ = ("response", "ticket")

    def __init__(self, ticket: Any, response: Any) -> None:
        self.ticket = ticket
        self.response = response

    def __repr__(self) -> str:
        return f"Reply({self.ticket}, {self.response})"


class Replies(NamedTuple):
    """The answers to many requests that waited for one thing.

    For the coordinator they are given. The shell makes and sends a few at a time, so that others are served in between.
    """

    answers: Iterator[tuple[Any, Any]]
    """Tickets and responses."""


class Append:
    """Records for a partition of a coordinator's topic, to be written as one batch.

    When they are written, or cannot be, the shell calls `appended` of the topic's coordinator with the token.
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
        self.records = records
        """Keys and values, ready to be put into a batch; a value of None deletes the key."""
        self.timestamp_ms = timestamp_ms
        """Wall clock; all records of one operation carry the same."""
        self.topic = topic
        self.producer = producer
        """Id and epoch of the producer in whose transaction they are written."""

    def __repr__(self) -> str:
        return f"Append({self.token}, {self.topic}-{self.partition}, {len(self.records)} records, {self.producer})"


class WriteMarkers(NamedTuple):
    """The end of a transaction, to be written to every partition that it touched.

    When all are written, the shell calls `TransactionCoordinator.appended` with the token.
    """

    token: int
    producer_id: int
    producer_epoch: int
    marker: Marker
    client_version: int
    partitions: tuple[TopicPartition, ...]


class Cause(NamedTuple):
    """Why a group changes its state: a name of the closed list of offsets-topic §9.3, and who brought it about."""

    name: str
    member_id: str = ""
    client_id: str = ""
    client_host: str = ""
    reason: str = ""
    """What the client said (JoinGroup from v8, LeaveGroup from v5), or which members a phase waited for in vain."""


class Transition(NamedTuple):
    """A group has changed its state."""

    group_id: str
    partition: int
    from_state: str
    to_state: str
    generation_id: int
    members: int
    cause: Cause


class GroupWarning(NamedTuple):
    """Something a person should know about a group: mostly that Kafka's own behaviour is about to hurt somebody."""

    group_id: str
    text: str


Effect: TypeAlias = "Reply | Replies | Append | WriteMarkers | Transition | GroupWarning | GroupEvent"
