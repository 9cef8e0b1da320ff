"""Creation of events of all group types."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from kohort.coordinator.events.group_event import NO_PARTITION, GroupEvent
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client

MAX_REASON_LENGTH = 255
US_PER_MS = 1_000


def _unknown_member(group_id: str, member_id: str) -> Client:
    return NOBODY_KNOWN


class EventSink(Protocol):
    """List of effects, or another receiver of events."""

    def append(self, event: GroupEvent, /) -> object: ...


class EventHost(Protocol):
    """The part of a coordinator that events depend on. Without a coordinator, observed groups provide it."""

    @property
    def epoch_ms(self) -> int: ...  # wall clock at the zero of the monotonic clock

    @property
    def effects(self) -> EventSink: ...

    @property
    def appended_offset(self) -> int | None: ...  # offset of the last written record


@dataclass(eq=False)
class EventEmitter:
    """Creates events and adds them to the effects of their host."""

    coordinator: EventHost
    now_us: Callable[[], int]  # monotonic clock
    client_of: Callable[[object], Client]  # returns the client of a ticket
    epoch_of: Callable[[int], int]  # returns the leader epoch of a partition
    # returns the client of a member by group ID and member ID
    client_of_member: Callable[[str, str], Client] = _unknown_member
    _epochs: dict[int, int] = field(default_factory=lambda: {NO_PARTITION: NO_PARTITION}, init=False)

    def coordinator_ms(self) -> int:
        """Return the monotonic clock in whole milliseconds."""
        return self.now_us() // US_PER_MS

    def epoch(self, partition: int) -> int:
        if partition not in self._epochs:
            self._epochs[partition] = self.epoch_of(partition)
        return self._epochs[partition]

    def event(
        self, kind: str, partition: int, client: Client, now_us: int, *, reason: str = "", **values: Any
    ) -> GroupEvent:
        """Create an event of a group in a partition of `__consumer_offsets` without adding it to the effects."""
        return GroupEvent(
            ts=now_us // US_PER_MS + self.coordinator.epoch_ms,
            mono_us=now_us,
            co_partition=partition,
            co_epoch=self.epoch(partition),
            kind=kind,
            client_id=client.client_id or None,
            client_host=client.client_host or None,
            client_software=client.client_software,
            client_reason=reason[:MAX_REASON_LENGTH] or None,
            **values,
        )
