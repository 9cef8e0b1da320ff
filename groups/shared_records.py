"""Records of a share group (KIP-932): the progress of each partition, records in flight, and their fates."""

from __future__ import annotations

from dataclasses import dataclass

NOT_LOADED = "not loaded"  # progress of a leader that has not received a fetch since its election
LOADING = "initializing"  # progress of a leader that reads the stored state


@dataclass(frozen=True)
class InFlightRecords:
    """A range of offsets of a partition with equal state, at the moment of the call."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    # `available` (delivered before), `acquired`, `acknowledged`, `archiving` (its dead letter is being written) or
    # `archived`
    state: str
    delivery_count: int
    # Client id of the member that holds them, or its member id if several members have that client id; empty without a
    # holder.
    holder: str
    member_id: str
    ends_in_ms: int | None  # time until the lock expires, on the brokers' clock; None without a holder
    is_being_written: bool  # whether the acknowledgement of its holder is being stored

    @property
    def count(self) -> int:
        return self.last_offset - self.first_offset + 1

    def __str__(self) -> str:
        held = f" by {self.holder} for {(self.ends_in_ms or 0) / 1_000:g} s" if self.holder else ""
        text = f"{self.topic}-{self.partition} {offsets(self.first_offset, self.last_offset)}: {self.state}{held}"
        return f"{text}, {delivered(self.delivery_count)}" + (", being written" if self.is_being_written else "")


@dataclass(frozen=True, kw_only=True)
class SharePartitionState:
    """The state of a share partition at the moment of the call."""

    topic: str
    partition: int
    leader: int | None  # id of the leader, or None
    is_ready: bool  # Whether its state has been initialized, which is required before it is assigned to members.
    # `active`; `initializing`: the leader reads the stored state; or `not loaded`: the leader has received no fetch
    progress: str
    # Share-partition start offset; None: not decided yet (`share.auto.offset.reset`), or not known.
    start_offset: int | None
    next_offset: int | None  # first offset that was never delivered, or None if it is not known
    log_end_offset: int
    lag: int | None  # Unfinished records, as Kafka's tools count them; None while the start offset is not known.
    acquired: int  # records that members hold
    available: int  # records that were delivered and are available again
    # Accepted or archived records after the start offset, which cannot move past unfinished records before them.
    done: int
    fetched_by: tuple[str, ...]  # ids of the members that have the partition in their share sessions

    # Facts that only explanations use

    log_start_offset: int
    readable_end: int  # offset after the last record that the group may acquire
    is_initializing: bool  # whether a call to the share coordinator for its initialization waits
    next_fetch_offset: int | None  # offset that is acquired next; None unless the state is loaded
    in_flight_count: int  # offsets from the start to the last delivered one
    has_room: bool  # whether records can be acquired within the limit of locks

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    def __str__(self) -> str:
        start = "a start to be decided" if self.start_offset is None else f"start {self.start_offset}"
        lag = "unknown" if self.lag is None else self.lag
        return f"{self.name}: {self.progress}, {start}, {self.acquired} held, lag {lag}"


@dataclass(frozen=True)
class Fate:
    """An event about a range of offsets."""

    kind: str  # as in the event log: `records_accepted`
    cause: str
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    delivery_count: int
    member_id: str
    dead_letter_topic: str = ""
    dead_letter_partition: int = -1  # -1: it was not written
    reason: str = ""  # why a dead letter was not written

    def includes(self, topic: str, partition: int, offset: int) -> bool:
        return (self.topic, self.partition) == (topic, partition) and self.first_offset <= offset <= self.last_offset

    def is_about(self, topic: str | None, partition: int | None) -> bool:
        """Return whether the event is about a partition; None matches any topic or partition."""
        return topic in (None, self.topic) and partition in (None, self.partition)

    @property
    def what(self) -> str:
        return self.kind.removeprefix("records_")

    @property
    def count(self) -> int:
        return self.last_offset - self.first_offset + 1


def offsets(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def delivered(count: int) -> str:
    return "never delivered" if not count else f"delivered {'once' if count == 1 else f'{count} times'}"
