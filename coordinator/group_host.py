"""What a group of either protocol asks of its coordinator."""

from collections.abc import Callable
from typing import Protocol

from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator_settings import GroupSettings
from kohort.coordinator.effects import Effect
from kohort.protocol.batches import EncodedRecords
from kohort.purgatory import Purgatory


class GroupHost(Protocol):
    """The part that classic groups and consumer groups have in common."""

    settings: GroupSettings
    purgatory: Purgatory
    new_uuid: Callable[[], str]
    effects: list[Effect]

    def wall_ms(self, now_ms: int) -> int:
        """The wall clock at a monotonic moment."""
        ...

    def append(
        self,
        partition: int,
        records: EncodedRecords,
        now_ms: int,
        on_written: OnWritten | None = None,
        producer: tuple[int, int] | None = None,
        group_id: str | None = None,
    ) -> int:
        """Asks for records to be written. Returns the token of the `Append`.

        `group_id`: they come behind all that a consumer group of that id is still writing, and fail with it.
        """
        ...
