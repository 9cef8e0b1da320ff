"""The interface that groups of every type need from their coordinator."""

from collections.abc import Callable
from typing import Protocol

from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator_settings import GroupSettings
from kohort.coordinator.effects import Effect
from kohort.coordinator.groups.group import Group
from kohort.protocol.batches import EncodedRecords
from kohort.purgatory import Purgatory


class GroupHost(Protocol):
    """The part that classic groups and consumer groups have in common."""

    settings: GroupSettings
    groups: dict[str, Group]  # of all types, by id
    purgatory: Purgatory
    new_uuid: Callable[[], str]
    effects: list[Effect]

    def wall_ms(self, now_ms: int) -> int: ...

    def remove(self, group: Group) -> None: ...

    def append(
        self,
        partition: int,
        records: EncodedRecords,
        now_ms: int,
        on_written: OnWritten | None = None,
        producer: tuple[int, int] | None = None,
        group_id: str | None = None,
    ) -> int:
        """Request a write of records. Return the token of the `Append`.

        Args:
            group_id: The records are written after the unfinished writes of this consumer group, and fail with them.
        """
        ...
